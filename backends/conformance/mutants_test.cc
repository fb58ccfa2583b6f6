// The suite's own test: every op has cases in every dtype of its row, and each
// mutant of the right results fails in one of them.
#include "encore/backends/conformance/mutants.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "encore/backends/conformance/cases.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/float_formats.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

class MutantTest : public testing::TestWithParam<OpInfo> {};

TEST_P(MutantTest, FailsInEveryDType) {
  for (const DType dtype : GetParam().dtypes) {
    if (!NeedsCases(GetParam().op, dtype)) continue;
    const auto found =
        CasesOf(GetParam().op, dtype, [](DType) { return true; });
    ASSERT_TRUE(found.ok()) << dtype << ": " << found.status();
    EXPECT_GE(found->cases.size(), kCasesPerOp) << dtype << " lacks cases";
    std::vector<Mutant> survivors = found->mutants;
    for (const Case& c : found->cases) {
      EXPECT_EQ(Difference(Expected(c.bounds), c.bounds), std::nullopt);
      RemoveFailing(c, Expected(c.bounds), &survivors);
    }
    for (const Mutant mutant : survivors) {
      ADD_FAILURE() << "a kernel that " << Name(mutant) << " passes in "
                    << dtype;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, MutantTest,
                         testing::ValuesIn(AllOps().begin(), AllOps().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(Cases, ADTypeThatNoGraphHasLacksThem) {
  const auto found =
      CasesOf(Op::kAdd, DType::kF32, [](DType) { return false; });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->cases.empty());
  EXPECT_EQ(found->mutants.size(), std::size(kMutants));
}

TEST(Cases, OnlyOfIsInfWithoutInfinitiesMayAKernelGiveZero) {
  for (const OpInfo& info : AllOps()) {
    if (!info.has(kElementwise)) continue;
    for (const DType dtype : info.dtypes) {
      if (BitWidth(dtype) > 8) continue;
      const auto found = CasesOf(info.op, dtype, [](DType) { return false; });
      ASSERT_TRUE(found.ok()) << found.status();
      const bool never =
          (info.op == Op::kIsInf && !FormatOf(dtype).has_infinity()) ||
          (info.op == Op::kIsNan && !FormatOf(dtype).has_nan());
      EXPECT_EQ(found->mutants.size(), std::size(kMutants) - never)
          << info.mnemonic << " " << dtype;
    }
  }
}

Literal Of(DType dtype, std::vector<double> values) {
  Literal literal(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    literal.SetDouble(static_cast<int64_t>(i), values[i]);
  }
  return literal;
}

TEST(Mutants, OfFloatsAreTheFirstElementsOnePercentAway) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto off = [](DType dtype, std::vector<double> values) {
    return Mutate(Mutant::kOnePercent, Of(dtype, std::move(values)));
  };
  EXPECT_EQ(off(DType::kF64, {1, -200}), Of(DType::kF64, {1.01, -202}));
  // A unit of bf16 is 2^-7 from 1 on: one is below 1 %, two are above.
  EXPECT_EQ(off(DType::kBF16, {1, -1.9921875, 0, -kInfinity}),
            Of(DType::kBF16, {1.015625, -2.015625, 0, -kInfinity}));
  // A unit of f8 is more than 1 %.
  EXPECT_EQ(off(DType::kF8E4M3, {1, -15}), Of(DType::kF8E4M3, {1.125, -16}));
  EXPECT_EQ(off(DType::kF8E5M2, {-1, 0x1p-16}),
            Of(DType::kF8E5M2, {-1.25, 0x1p-15}));
}

TEST(Mutants, OfOtherElementsAreOff) {
  const auto off = [](const Literal& literal) {
    return Mutate(Mutant::kOnePercent, literal);
  };
  EXPECT_EQ(off(Of(DType::kI32, {0, -1, 5, 1000, -1000})),
            Of(DType::kI32, {1, 0, 6, 1010, -990}));
  EXPECT_EQ(off(Of(DType::kI8, {127})), Of(DType::kI8, {-128}));
  EXPECT_EQ(off(Of(DType::kBool, {0, 1})), Of(DType::kBool, {1, 0}));
  EXPECT_EQ(off(Literal::Strings({1}, {"a"})), Literal::Strings({1}, {"a?"}));
  EXPECT_EQ(Mutate(Mutant::kZero, Literal::Strings({1}, {"a"})),
            Literal::Strings({1}, {""}));
  EXPECT_EQ(Mutate(Mutant::kZero, Of(DType::kF16, {3})), Of(DType::kF16, {0}));
}

TEST(Mutants, OfHostObjectsAreThoseOfTheirTensors) {
  const Literal one = Of(DType::kI32, {7}), zero = Of(DType::kI32, {0});
  EXPECT_EQ(Mutate(Mutant::kZero, Literal::Sequence(DType::kI32, {one, one})),
            Literal::Sequence(DType::kI32, {zero, zero}));
  EXPECT_EQ(Mutate(Mutant::kZero, Literal::Optional(one)),
            Literal::Optional(zero));
}

}  // namespace
}  // namespace encore::backends
