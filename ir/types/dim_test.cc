#include "encore/ir/types/dim.h"

#include <random>
#include <utility>

#include "encore/ir/types/shape.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

const Dim n = Dim::OfSymbol(0), m = Dim::OfSymbol(1);
const std::vector<Symbol> kSymbols = {{"N", 1, 64}, {"M", 2, 8}};

TEST(Dim, EqualPolynomialsAreEqual) {
  EXPECT_EQ((n + 1) * 2, n * 2 + 2);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_NE(n, m);
  EXPECT_EQ(FloorDiv(n * 4 + 2, 2), n * 2 + 1);
  EXPECT_EQ(Max(n, m), Max(m, n));
  EXPECT_EQ(((n + 1) * 2).Fingerprint(), (n * 2 + 2).Fingerprint());
}

TEST(Dim, Prints) {
  EXPECT_EQ((n * 2 - m + 1).ToString(kSymbols), "2*N - M + 1");
  EXPECT_EQ(FloorDiv(n + 1, 2).ToString(kSymbols), "floor_div(N + 1, 2)");
  EXPECT_EQ((n * m).ToString(), "s0*s1");
}

TEST(Dim, OverflowIsInvalidAndStaysSo) {
  const Dim big = INT64_MAX;
  EXPECT_FALSE((big + 1).valid());
  EXPECT_FALSE(((big + 1) * 0).valid());
  EXPECT_FALSE(FloorDiv(n, 0).Evaluate(std::vector<int64_t>{1}).has_value());
  EXPECT_FALSE(n.Evaluate({}).has_value());
  EXPECT_EQ(Mod(Dim(INT64_MIN + 1), Dim(INT64_MAX - 1)), Dim(INT64_MAX - 2));
}

// Random expressions, evaluated beside an independent evaluation on integers,
// bounds and substitution included.
TEST(Dim, RandomExpressionsAgreeWithIntegers) {
  std::mt19937 random(1);
  const auto pick = [&](int limit) {
    return static_cast<int>(random() % limit);
  };
  for (int round = 0; round < 2000; ++round) {
    const std::vector<int64_t> values = {1 + pick(64), 2 + pick(7)};
    std::vector<std::pair<Dim, int64_t>> pool = {
        {n, values[0]}, {m, values[1]}, {Dim(pick(9) - 4), 0}};
    pool[2].second = pool[2].first.constant();
    for (int step = 0; step < 6; ++step) {
      const auto [a, x] = pool[pick(pool.size())];
      const auto [b, y] = pool[pick(pool.size())];
      const int64_t divisor = 1 + pick(5);
      const int64_t floored = x / divisor - (x % divisor < 0);
      switch (pick(7)) {
        case 0:
          pool.emplace_back(a + b, x + y);
          break;
        case 1:
          pool.emplace_back(a - b, x - y);
          break;
        case 2:
          pool.emplace_back(a * b, x * y);
          break;
        case 3:
          pool.emplace_back(FloorDiv(a, divisor), floored);
          break;
        case 4:
          pool.emplace_back(Mod(a, divisor), x - floored * divisor);
          break;
        case 5:
          pool.emplace_back(Max(a, b), std::max(x, y));
          break;
        case 6:
          pool.emplace_back(Min(a, b), std::min(x, y));
          break;
      }
      const auto& [dim, expected] = pool.back();
      ASSERT_TRUE(dim.valid());
      EXPECT_EQ(dim.Evaluate(values), expected) << dim;
      EXPECT_LE(dim.LowerBound(kSymbols), expected) << dim;
      EXPECT_GE(dim.UpperBound(kSymbols), expected) << dim;
      const std::vector<Dim> constants = {values[0], values[1]};
      EXPECT_EQ(dim.Substitute(constants), Dim(expected)) << dim;
    }
  }
}

TEST(Shape, CountsElementsWithoutOverflow) {
  EXPECT_EQ(ElementCount(std::vector<int64_t>{2, 3}), 6);
  EXPECT_EQ(ElementCount(std::vector<int64_t>{INT64_MAX, 3}), std::nullopt);
  EXPECT_EQ(ElementCount(std::vector<int64_t>{INT64_MAX, 3, 0}), 0);
  EXPECT_EQ(ElementCount(std::vector<int64_t>{-1}), std::nullopt);
  EXPECT_EQ((Shape{n, 784}).ToString(kSymbols), "[N,784]");
  EXPECT_EQ((Shape{n, 784}).ElementCount(), n * 784);
}

}  // namespace
}  // namespace encore
