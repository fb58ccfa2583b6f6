#include "encore/ir/support/integers.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Integers, CeilDivIsTheLeastIntegerNotBelowTheQuotient) {
  for (int64_t a = -40; a <= 40; ++a) {
    for (int64_t b = 1; b <= 9; ++b) {
      const int64_t quotient = CeilDiv(a, b);
      EXPECT_GE(quotient * b, a) << a << " / " << b;
      EXPECT_LT((quotient - 1) * b, a) << a << " / " << b;
    }
  }
}

TEST(Integers, CeilDivDoesNotOverflow) {
  static_assert(CeilDiv(INT64_MAX, 2) == (INT64_MAX - 1) / 2 + 1);
  static_assert(CeilDiv(INT64_MAX, INT64_MAX) == 1);
  static_assert(CeilDiv(INT64_MIN, int64_t{1}) == INT64_MIN);
  static_assert(CeilDiv(UINT64_MAX, uint64_t{2}) == uint64_t{1} << 63);
}

TEST(Integers, ResultHasTheWiderType) {
  static_assert(std::is_same_v<decltype(CeilDiv(1, int64_t{1})), int64_t>);
  static_assert(std::is_same_v<decltype(RoundUp(int64_t{1}, 64)), int64_t>);
}

TEST(Integers, RoundUpIsTheLeastMultiple) {
  for (int64_t a = -40; a <= 40; ++a) {
    for (int64_t b = 1; b <= 9; ++b) {
      const int64_t multiple = RoundUp(a, b);
      EXPECT_EQ(multiple % b, 0);
      EXPECT_GE(multiple, a);
      EXPECT_LT(multiple - b, a);
    }
  }
  static_assert(RoundUp(INT64_MAX - 63, 64) == INT64_MAX - 63);
  static_assert(RoundUp(uint64_t{65}, uint64_t{64}) == 128);
}

TEST(Integers, SaturatingAdd) {
  static_assert(SaturatingAdd(2, 3) == 5);
  static_assert(SaturatingAdd(INT64_MAX, 1) == INT64_MAX);
  static_assert(SaturatingAdd(-1, INT64_MIN) == INT64_MIN);
  static_assert(SaturatingAdd(INT64_MIN, INT64_MAX) == -1);
}

// Against the same arithmetic in 128 bits, at both ends and around 0.
TEST(Integers, CheckedArithmeticSaysWhatLeavesInt64) {
  std::vector<int64_t> values;
  for (const int64_t middle :
       {INT64_MIN + 2, INT64_MIN / 2, int64_t{0}, int64_t{1} << 32,
        INT64_MAX / 2, INT64_MAX - 2}) {
    for (int64_t i = -2; i <= 2; ++i) values.push_back(middle + i);
  }
  const auto narrow = [](__int128 value) -> std::optional<int64_t> {
    if (value < INT64_MIN || value > INT64_MAX) return std::nullopt;
    return static_cast<int64_t>(value);
  };
  for (const int64_t a : values) {
    for (const int64_t b : values) {
      EXPECT_EQ(CheckedAdd(a, b), narrow(__int128{a} + b)) << a << " + " << b;
      EXPECT_EQ(CheckedSub(a, b), narrow(__int128{a} - b)) << a << " - " << b;
      EXPECT_EQ(CheckedMul(a, b), narrow(__int128{a} * b)) << a << " * " << b;
    }
  }
  static_assert(CheckedAdd(INT64_MAX, 0) == INT64_MAX);
}

}  // namespace
}  // namespace encore
