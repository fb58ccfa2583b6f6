// The instructions that are executed (opcodes.def), found by their words.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPCODES_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPCODES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/types.h"

namespace encore::ptx {

enum class Op : uint8_t {
#define PTX_OP(Enumerator, name, class_, types, operands, modifiers) \
  k##Enumerator,
#define PTX_GROUP(name, modifiers)
#include "encore/backends/cuda/emulator/opcodes.def"
#undef PTX_OP
#undef PTX_GROUP
};

// What the counters of a launch tell apart.
enum class InstructionClass : uint8_t {
  kInteger,  // arithmetic, of floats too where the name is the same
  kFloat,
  kSpecial,
  kLogic,
  kCompare,
  kConvert,
  kMove,
  kMemory,
  kAtomic,
  kAsync,
  kBarrier,
  kShuffle,
  kMatrix,
  kControl,
  kCount,
};

std::string_view Name(InstructionClass instruction_class);

struct OpRow {
  Op op;
  std::string_view name;
  InstructionClass instruction_class;
  int types;
  std::vector<std::string_view> operands;  // letters of opcodes.def
  ModifierSet allowed;
  int words;  // in `name`
};

// The row with the longest name that `words` begin with; null where there is
// none.
const OpRow* FindOp(std::span<const std::string_view> words);

const OpRow& RowOf(Op op);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPCODES_H_
