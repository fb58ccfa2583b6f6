// A PTX module in decoded form: what the parser gives and what is executed.
//
// Nothing here is text but names for messages. A function's registers, the
// values that its instructions name directly and its special registers are
// numbered slots; an instruction names its operands by slot. A slot holds 64
// bits a lane: the register's bits, zeros above them. Functions are linked into
// a program per kernel (program.h).
//
// Immutable after parsing; may be shared between threads.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_MODULE_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_MODULE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "encore/backends/cuda/emulator/opcodes.h"
#include "encore/backends/cuda/emulator/types.h"

namespace encore::ptx {

class Warp;
struct Instruction;

// Executes one instruction for the lanes of `mask`.
using Handler = void (*)(Warp& warp, const Instruction& instruction,
                         uint32_t mask);

// An absent operand.
inline constexpr uint32_t kNoSlot = 0xffffffffu;
// Slots from here on are constants, the same for every thread.
inline constexpr uint32_t kConstantSlot = 0x80000000u;

struct Instruction {
  Handler handler = nullptr;
  Op op = Op::kExit;
  InstructionClass instruction_class = InstructionClass::kControl;
  Type type = Type::kB32;         // the first type word
  Type source_type = Type::kB32;  // the last
  Type second_type = Type::kB32;  // of mma: the third, of the second matrix
  Space space = Space::kGeneric;
  Space source_space = Space::kGeneric;  // of cp.async: the second address
  uint8_t vector = 1;                    // elements of a load or store
  uint8_t register_bytes = 0;  // of the registers that a load or cvt writes
  bool guard_negated = false;
  bool predicate_negated = false;  // of the operand P
  uint16_t operand_count = 0;
  uint32_t guard = kNoSlot;
  uint32_t first_operand = 0;  // in Function::operands
  uint32_t line = 0;           // in the module's text, from 1
  // bra: the instruction; brx: the table; call: the function, after linking its
  // first instruction.
  uint32_t target = 0;
  std::array<int64_t, 2> offset = {};  // of the addresses, in bytes
  ModifierSet modifiers;

  bool Has(Modifier modifier) const {
    return modifiers[static_cast<size_t>(modifier)];
  }
};

enum class SpecialRegister : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kWarpSize,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kSmid,
  kNsmid,
  kGridid,
  kDynamicSmemSize,
  kTotalSmemSize,
  kClusterCtaRank,
  kClusterNctaRank,
  // Counts of the steps taken so far.
  kClock,
  kClock64,
  kGlobaltimer,
};

// A number that is known before the launch: `addend`, plus the address of a
// variable where `variable` names one.
struct Constant {
  enum class Base : uint8_t {
    kNone,
    kModule,  // Module::variables
    kFrame,   // the function's own memory of the thread
  };
  Base base = Base::kNone;
  bool generic = false;  // as a generic address
  uint32_t variable = 0;
  uint64_t addend = 0;
};

// A variable outside the registers: of the module (global, const, shared), or
// of a function (shared, local, param).
struct Variable {
  // A pointer in the initial value: the address of a variable + what is there.
  struct Pointer {
    uint64_t offset = 0;
    uint32_t variable = 0;
    bool generic = false;
  };

  std::string name;
  Space space = Space::kGlobal;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  bool external = false;         // dynamic shared memory
  std::vector<std::byte> value;  // empty, or as many as `bytes`
  std::vector<Pointer> pointers;
  uint32_t line = 0;
};

// A parameter of a kernel, of a function, or what a function gives back.
struct Parameter {
  std::string name;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  // From the begin of the kernel's parameters, or of the function's frame.
  uint64_t offset = 0;
};

// The bytes of parameters that a call hands over.
struct CallSite {
  // Of the caller's frame.
  struct Part {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  std::string callee;
  uint32_t line = 0;
  std::vector<Part> arguments;
  std::vector<Part> results;
};

struct SpecialSlot {
  uint32_t slot = 0;
  SpecialRegister special = SpecialRegister::kTidX;
};

struct Function {
  std::string name;
  bool is_kernel = false;
  bool defined = false;
  uint32_t line = 0;
  std::vector<Parameter> parameters;
  std::vector<Parameter> results;
  uint64_t parameter_bytes = 0;  // of a kernel
  // Bytes of the frame: local variables; of a function, parameters and results
  // too.
  uint64_t frame_bytes = 0;
  uint64_t frame_alignment = 1;
  uint32_t slots = 0;
  std::vector<Constant> constants;
  std::vector<SpecialSlot> specials;
  std::vector<Instruction> code;
  std::vector<uint32_t> operands;
  std::vector<std::vector<uint32_t>> branch_tables;
  std::vector<CallSite> calls;
  // Launch bounds; 0 where none are said.
  std::array<uint32_t, 3> required_threads = {};
  uint32_t most_threads = 0;
};

struct Module {
  int version = 0;  // 90 for 9.0
  std::string target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_MODULE_H_
