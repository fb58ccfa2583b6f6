#include "encore/backends/cuda/codegen/size_code.h"

#include <cstdint>

#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

std::string Number(int64_t value) {
  if (value == INT64_MIN) return "(-0x7fffffffffffffffll - 1)";
  const bool wide = value > INT32_MAX || value < -INT32_MAX;
  return StrCat(value < 0 ? "(" : "", value, wide ? "ll" : "",
                value < 0 ? ")" : "");
}

std::string FactorCode(const Dim::Factor& factor) {
  const char* function = nullptr;
  switch (factor.op) {
    case Dim::Op::kSymbol:
      return StrCat("a", factor.symbol);
    case Dim::Op::kFloorDiv:
      function = "FloorDiv(";
      break;
    case Dim::Op::kMod:
      function = "Mod(";
      break;
    case Dim::Op::kMax:
      function = "Max(";
      break;
    case Dim::Op::kMin:
      function = "Min(";
      break;
  }
  // Nested at most kMaxDimDepth deep.
  return StrCat(function, DimCode(*factor.a), ", ", DimCode(*factor.b), ")");
}

}  // namespace

std::string DimCode(const Dim& dim) {
  if (dim.is_constant()) return Number(dim.constant());
  std::string code = "(";
  for (const Dim::Term& term : dim.terms()) {
    if (code.size() > 1) code += " + ";
    StrAppend(&code, "(i64)", Number(term.coefficient));
    for (const Dim::Factor& factor : term.factors) {
      StrAppend(&code, " * ", FactorCode(factor));
    }
  }
  if (dim.constant_term() != 0) {
    StrAppend(&code, " + ", Number(dim.constant_term()));
  }
  return code + ")";
}

}  // namespace encore::backends::cuda
