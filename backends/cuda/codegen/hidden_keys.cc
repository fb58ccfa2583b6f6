#include "encore/backends/cuda/codegen/hidden_keys.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cuda {
namespace {

// A longer test is not worth what it takes.
constexpr size_t kMostCode = 1000;

bool IsMinusInfinity(const Expr& expr) {
  if (expr.kind != Expr::Kind::kConstant) return false;
  switch (expr.dtype) {
    case DType::kF16:
      return expr.bits == 0xfc00;
    case DType::kBF16:
      return expr.bits == 0xff80;
    case DType::kF32:
      return expr.bits == 0xff800000;
    default:
      return false;
  }
}

bool NeedsProduct(const Region& region, ExprId id) {
  const std::vector<bool> needed = Reachable(region, {id});
  for (uint32_t i = 0; i < needed.size(); ++i) {
    const Expr& expr = region.expr(ExprId(i));
    if (needed[i] && expr.kind == Expr::Kind::kLoad &&
        region.accesses[expr.number].source == Access::Source::kStage) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string HiddenKeysCode(const AttentionRegion& attention,
                           const std::function<std::string(ExprId)>& name_of) {
  const Region& region = attention.region();
  const std::vector<bool> needed = Reachable(region, {attention.score()});
  // By expression, those that it is made of before it.
  std::vector<std::string> codes(attention.score().value() + 1);
  for (uint32_t i = 0; i < codes.size(); ++i) {
    const Expr& expr = region.expr(ExprId(i));
    if (!needed[i]) continue;
    if (IsMinusInfinity(expr)) {
      codes[i] = "true";
      continue;
    }
    if (expr.kind != Expr::Kind::kOp) continue;
    const auto code = [&](int operand) -> const std::string& {
      return codes[expr.operands[operand].value()];
    };
    if (expr.op == Op::kCast && IsFloat(expr.dtype)) {
      codes[i] = code(0);
    } else if (expr.op == Op::kAdd && IsFloat(expr.dtype)) {
      codes[i] = code(0).empty()   ? code(1)
                 : code(1).empty() ? code(0)
                                   : StrCat("(", code(0), " || ", code(1), ")");
    } else if (expr.op == Op::kSelect && IsFloat(expr.dtype) &&
               (!code(1).empty() || !code(2).empty()) &&
               !NeedsProduct(region, expr.operands[0])) {
      codes[i] = StrCat("(", name_of(expr.operands[0]), " ? ",
                        code(1).empty() ? "false" : code(1), " : ",
                        code(2).empty() ? "false" : code(2), ")");
    }
    if (codes[i].size() > kMostCode) codes[i].clear();
  }
  return codes.back() == "true" ? "" : codes.back();
}

}  // namespace encore::backends::cuda
