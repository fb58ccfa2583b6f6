// The names of a function while it is parsed: registers, variables, labels,
// which belong to the braces they are declared in.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_SCOPE_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_SCOPE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// What the module declares, by name.
struct ModuleNames {
  std::unordered_map<std::string, uint32_t> variables;
  std::unordered_map<std::string, uint32_t> functions;
};

// What a name stands for.
struct Symbol {
  enum class Kind : uint8_t {
    kRegister,
    kModuleVariable,
    kFrameVariable,  // local variables; parameters of functions and calls
    kKernelParameter,
  };
  Kind kind = Kind::kRegister;
  Type type = Type::kB32;  // of a register
  uint32_t index = 0;      // slot, or number of the variable
  uint64_t offset = 0;     // in the frame or the parameters
  uint64_t bytes = 0;      // of a variable of the frame
};

class FunctionScope {
 public:
  FunctionScope(const Module& module, const ModuleNames& names,
                Function* function);

  // Braces. Pop settles branches to labels that were declared in them, and
  // leaves others to the braces around; the last Pop gives an error for a label
  // that is nowhere (as the pair of its line and name).
  void Push();
  std::optional<std::pair<uint32_t, std::string>> Pop();
  size_t depth() const { return levels_.size(); }

  // False where the name is taken in these braces.
  bool Declare(std::string name, const Symbol& symbol);
  bool DeclareRegister(std::string name, Type type);
  // prefix<count>: prefix0 to prefix(count - 1).
  bool DeclareRegisters(std::string prefix, uint64_t count, Type type);
  bool DefineLabel(std::string_view name);
  // `name:` before .branchtargets; the table's number for brx.idx.
  uint32_t TableNumber(std::string_view name);
  void AddTableEntry(uint32_t table, std::string_view label, uint32_t line);
  // The instruction that comes next branches there.
  void BranchTo(std::string_view label, uint32_t line);

  std::optional<Symbol> Find(std::string_view name);
  const Variable& variable(uint32_t index) const {
    return module_.variables[index];
  }
  std::optional<uint32_t> FindFunction(std::string_view name) const;
  const Function& FunctionAt(uint32_t index) const {
    return module_.functions[index];
  }
  Function& function() { return function_; }

  uint32_t ConstantSlot(const Constant& constant);
  uint32_t ConstantSlot(uint64_t value) {
    Constant constant;
    constant.addend = value;
    return ConstantSlot(constant);
  }
  uint32_t SpecialSlotOf(SpecialRegister special);
  // Where results go that nobody reads.
  uint32_t ScratchSlot();
  // Room in the frame; its offset.
  uint64_t AddToFrame(uint64_t bytes, uint64_t alignment);

 private:
  struct Range {
    uint64_t count = 0;
    Type type = Type::kB32;
  };
  struct Reference {
    std::string label;
    uint32_t line = 0;
    bool in_table = false;
    uint32_t index = 0;  // instruction, or table
    uint32_t entry = 0;
  };
  struct Level {
    std::unordered_map<std::string, Symbol> names;
    std::unordered_map<std::string, Range> ranges;
    std::unordered_map<std::string, uint32_t> labels;
    std::vector<Reference> references;
  };

  void Settle(const Reference& reference, uint32_t target);

  const Module& module_;
  const ModuleNames& names_;
  Function& function_;
  std::vector<Level> levels_;
  std::unordered_map<uint64_t, uint32_t> constant_slots_;
  std::unordered_map<std::string, uint32_t> tables_;
  std::map<SpecialRegister, uint32_t> special_slots_;
  std::optional<uint32_t> scratch_;
};

// %tid.x and others; nothing where it is none.
std::optional<SpecialRegister> FindSpecialRegister(std::string_view name);
// Whether it changes while a thread runs.
bool IsClock(SpecialRegister special);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_SCOPE_H_
