#include "encore/ir/ops/functions.h"

#include <array>
#include <cmath>

namespace encore {
namespace {

constexpr FunctionInfo kFunctions[] = {
#define ENCORE_FUNCTION1(Kind, function, number, code) \
  {Op::k##Kind,                                        \
   #function,                                          \
   number,                                             \
   FunctionCode::code,                                 \
   [](double x) { return std::function(x); },          \
   nullptr},
#define ENCORE_FUNCTION2(Kind, function, number, code) \
  {Op::k##Kind, #function,                             \
   number,      FunctionCode::code,                    \
   nullptr,     [](double x, double y) { return std::function(x, y); }},
#include "encore/ir/ops/functions.def"
#undef ENCORE_FUNCTION1
#undef ENCORE_FUNCTION2
};

constexpr size_t kOpCount = 0
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  +1
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
    ;

// By operator.
constexpr auto kTable = [] {
  std::array<const FunctionInfo*, kOpCount> table = {};
  for (const FunctionInfo& info : kFunctions) {
    table[static_cast<size_t>(info.op)] = &info;
  }
  return table;
}();

}  // namespace

std::span<const FunctionInfo> Functions() { return kFunctions; }

const FunctionInfo* FindFunction(Op op) {
  return kTable[static_cast<size_t>(op)];
}

}  // namespace encore
