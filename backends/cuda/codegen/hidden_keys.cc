#include "encore/backends/cuda/codegen/hidden_keys.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cuda {
namespace {

// A test of more conditions and -infinities is not worth what it takes. What
// is too much must not depend on names: whether there is a test is asked before
// there are any.
constexpr size_t kMostTerms = 64;

// Code and how many conditions and -infinities are in it.
struct Test {
  std::string code;
  size_t terms = 0;
};

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

bool HasInfinities(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF32 || dtype == DType::kF64;
}

// Of a sum of what both operands hold.
Test Either(const Test& a, const Test& b) {
  if (a.code.empty()) return b;
  if (b.code.empty()) return a;
  return {StrCat("(", a.code, " || ", b.code, ")"), a.terms + b.terms};
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
  std::vector<Test> tests(attention.score().value() + 1);
  for (uint32_t i = 0; i < tests.size(); ++i) {
    const Expr& expr = region.expr(ExprId(i));
    if (!needed[i]) continue;
    if (IsMinusInfinity(expr)) {
      tests[i] = {"true", 1};
      continue;
    }
    if (expr.kind != Expr::Kind::kOp || !HasInfinities(expr.dtype)) continue;
    const auto test = [&](int operand) -> const Test& {
      return tests[expr.operands[operand].value()];
    };
    if (expr.op == Op::kCast) {
      tests[i] = test(0);
    } else if (expr.op == Op::kAdd) {
      tests[i] = Either(test(0), test(1));
    } else if (expr.op == Op::kSelect &&
               (!test(1).code.empty() || !test(2).code.empty()) &&
               !NeedsProduct(region, expr.operands[0])) {
      const auto code = [&](int operand) {
        const std::string_view known = test(operand).code;
        return known.empty() ? "false" : known;
      };
      tests[i] = {StrCat("(", name_of(expr.operands[0]), " ? ", code(1), " : ",
                         code(2), ")"),
                  1 + test(1).terms + test(2).terms};
    }
    if (tests[i].terms > kMostTerms) tests[i] = {};
  }
  return tests.back().code == "true" ? "" : tests.back().code;
}

}  // namespace encore::backends::cuda
