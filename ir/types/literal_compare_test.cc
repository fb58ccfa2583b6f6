#include "encore/ir/types/literal_compare.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace encore {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Literal Floats(std::vector<float> values) {
  return Literal::Vector<float>(values);
}

std::string Text(const Literal& actual, const Literal& expected,
                 const Tolerance& tolerance = {}) {
  return CompareLiterals(actual, expected, tolerance).text;
}

TEST(LiteralCompare, TypesAreComparedFirst) {
  EXPECT_EQ(Text(Literal::Scalar<float>(1), Literal::Scalar<double>(1)),
            "is f32[], expected f64[]");
  EXPECT_EQ(Text(Floats({1}), Floats({1, 2})), "is f32[1], expected f32[2]");
  EXPECT_EQ(Text(Literal::Sequence(DType::kF32, {}),
                 Literal::Absent(DType::kF32, ValueKind::kOptional)),
            "is sequence<f32>, expected optional<f32>");
}

TEST(LiteralCompare, FloatsAgreeWithinTheTolerance) {
  const Literal expected = Floats({100, -100, 0});
  const Literal actual = Floats({101, -101, 0.25f});
  EXPECT_TRUE(
      CompareLiterals(actual, expected, {.relative = 0.01, .absolute = 0.25})
          .ok);
  EXPECT_EQ(Text(actual, expected, {.relative = 0.009, .absolute = 0}),
            "element 0 is 101, expected 100");
  EXPECT_EQ(Text(actual, expected, {.relative = 0.01, .absolute = 0.2}),
            "element 2 is 0.25, expected 0");
}

TEST(LiteralCompare, WorstErrorsAreReported) {
  const LiteralDifference difference = CompareLiterals(
      Floats({12, 1.5f, 7}), Floats({10, 1, 0}), {.relative = 1e9});
  EXPECT_EQ(difference.max_absolute, 7);
  EXPECT_EQ(difference.max_relative, 0.5);
}

TEST(LiteralCompare, NansAndZerosAgreeWhateverTheirBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(CompareLiterals(Floats({nan, -0.0f}), Floats({-nan, 0}), {}).ok);
  EXPECT_FALSE(Floats({-0.0f}) == Floats({0}));
  EXPECT_FALSE(CompareLiterals(Floats({nan}), Floats({1}), {kInf, kInf}).ok);
  EXPECT_FALSE(CompareLiterals(Floats({1}), Floats({nan}), {kInf, kInf}).ok);
}

TEST(LiteralCompare, AnInfinityAgreesWithItselfOnly) {
  const auto inf = static_cast<float>(kInf);
  EXPECT_TRUE(CompareLiterals(Floats({inf, -inf}), Floats({inf, -inf}), {}).ok);
  for (const float other : {1.0f, -inf}) {
    EXPECT_FALSE(CompareLiterals(Floats({other}), Floats({inf}), {1, 1}).ok);
    EXPECT_FALSE(CompareLiterals(Floats({inf}), Floats({other}), {1, 1}).ok);
  }
}

TEST(LiteralCompare, EverythingElseIsExact) {
  const auto integers = [](std::vector<uint64_t> values) {
    return Literal::Vector<uint64_t>(values);
  };
  EXPECT_EQ(Text(integers({1, UINT64_MAX}), integers({1, 2}), {kInf, kInf}),
            "element 1 is 18446744073709551615, expected 2");
  const Literal a = Literal::Strings({2}, {"x", "a\nb"});
  EXPECT_TRUE(CompareLiterals(a, a, {}).ok);
  EXPECT_EQ(Text(a, Literal::Strings({2}, {"x", "ab"})),
            "element 1 is \"a\\nb\", expected \"ab\"");
}

// The unused half of the last byte of packed elements means nothing.
TEST(LiteralCompare, StrayBitsAreNoElements) {
  const std::byte clean[] = {std::byte{0x21}, std::byte{0x03}};
  const std::byte stray[] = {std::byte{0x21}, std::byte{0xf3}};
  EXPECT_TRUE(CompareLiterals(*Literal::Copy(DType::kI4, {3}, clean),
                              *Literal::Copy(DType::kI4, {3}, stray), {})
                  .ok);
}

TEST(LiteralCompare, SequencesAndOptionalsElementByElement) {
  const auto sequence = [](std::vector<Literal> elements) {
    return Literal::Sequence(DType::kF32, std::move(elements));
  };
  const Literal two = sequence({Floats({1}), Floats({2, 3})});
  EXPECT_TRUE(CompareLiterals(two, two, {}).ok);
  EXPECT_EQ(Text(two, sequence({Floats({1})})), "has 2 elements, expected 1");
  EXPECT_EQ(Text(two, sequence({Floats({1}), Floats({2, 4})})),
            "tensor 1: element 1 is 3, expected 4");
  EXPECT_EQ(Text(Literal::Optional(two),
                 Literal::Absent(DType::kF32, ValueKind::kOptionalSequence)),
            "has 1 elements, expected 0");
}

TEST(LiteralCompare, MergeKeepsTheFirstTextAndTheWorstErrors) {
  LiteralDifference sum;
  sum.Merge({.max_absolute = 1, .max_relative = 3});
  EXPECT_TRUE(sum.ok);
  sum.Merge({.max_absolute = 2, .max_relative = 2, .ok = false, .text = "a"});
  sum.Merge({.ok = false, .text = "b"});
  EXPECT_EQ(sum.max_absolute, 2);
  EXPECT_EQ(sum.max_relative, 3);
  EXPECT_FALSE(sum.ok);
  EXPECT_EQ(sum.text, "a");
}

}  // namespace
}  // namespace encore
