// Integers fold as far as dims and bounds allow, and graphs compute the rest.
#include "encore/ir/import/onnx/shapes/index_expr.h"

#include <functional>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

int64_t FloorQuotient(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// What a graph gives for two integers that only the run knows.
int64_t Computed(int64_t a, int64_t b,
                 const std::function<IndexExpr(IndexExpr, IndexExpr)>& write) {
  GraphBuilder g;
  const IndexExpr x(g, g.Input("a", {DType::kI64, Shape{}}));
  const IndexExpr y(g, g.Input("b", {DType::kI64, Shape{}}));
  const IndexExpr result = write(x, y.Within(1, INT64_MAX));
  const auto graph = g.Build({{"y", result.ToValue(g)}});
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto results =
      Evaluate(*graph, {{Literal::Scalar(a), Literal::Scalar(b)}});
  EXPECT_TRUE(results.ok()) << results.status();
  return (*results)[0].AsInt(0);
}

TEST(IndexExpr, ConstantsAndDataAgree) {
  for (const int64_t a : {-7, -6, -1, 0, 1, 5, 6}) {
    for (const int64_t b : {1, 2, 3}) {
      const auto quotient = [](const IndexExpr& x, const IndexExpr& y) {
        return FloorDiv(x, y);
      };
      const auto rest = [](const IndexExpr& x, const IndexExpr& y) {
        return Mod(x, y);
      };
      EXPECT_EQ(quotient(a, b).constant(), FloorQuotient(a, b));
      EXPECT_EQ(Computed(a, b, quotient), FloorQuotient(a, b)) << a << " " << b;
      EXPECT_EQ(rest(a, b).constant(), a - FloorQuotient(a, b) * b);
      EXPECT_EQ(Computed(a, b, rest), a - FloorQuotient(a, b) * b)
          << a << " " << b;
    }
  }
  EXPECT_EQ(Computed(INT64_MAX, 2, CeilDiv), INT64_MAX / 2 + 1);
  EXPECT_EQ(CeilDiv(7, 2).constant(), 4);
}

TEST(IndexExpr, DimsStayDims) {
  GraphBuilder g;
  const Dim n = g.Symbol("N", 1, 64);
  const IndexExpr x(g, n);
  EXPECT_EQ(((x + 1) * 2 - x).dim(), n + 2);
  EXPECT_TRUE((x >= 1).IsTrue());
  EXPECT_TRUE((x > 64).IsFalse());
  EXPECT_FALSE((x == 2).known());
  EXPECT_EQ(Min(x, 64).dim(), n);
  EXPECT_EQ(Select(x < 1, 0, x).dim(), n);
  EXPECT_EQ(IndexExpr(g, DimValue(g, n)).dim(), n);
}

TEST(IndexExpr, BoundsOfData) {
  GraphBuilder g;
  const IndexExpr x =
      IndexExpr(g, g.Input("x", {DType::kI64, Shape{}})).Within(0, 10);
  EXPECT_TRUE((x + 5 <= 15).IsTrue());
  EXPECT_TRUE((x - 11 < 0).IsTrue());
  EXPECT_TRUE((x == x).IsTrue());
  EXPECT_FALSE((x < 10).known());
  EXPECT_EQ((x * -2).LowerBound(), -20);
  EXPECT_EQ(FloorDiv(x, 3).UpperBound(), 3);
  // A sum that may wrap can be anything.
  EXPECT_EQ((x + INT64_MAX).LowerBound(), INT64_MIN);
}

}  // namespace
}  // namespace encore::onnx
