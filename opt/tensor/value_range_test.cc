// Ranges against all that the reference evaluator gives of all elements.
#include "encore/opt/tensor/value_range.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// All pairs of an element of x and one of y, as two operands.
std::vector<Literal> AllPairs(const ValueRange& x, const ValueRange& y) {
  const int64_t rows = x.upper - x.lower + 1, columns = y.upper - y.lower + 1;
  std::vector<Literal> operands;
  for (int i = 0; i < 2; ++i)
    operands.emplace_back(DType::kI8, std::vector{rows, columns});
  for (int64_t i = 0; i < rows * columns; ++i) {
    operands[0].SetInt(i, x.lower + i / columns);
    operands[1].SetInt(i, y.lower + i % columns);
  }
  return operands;
}

ValueRange Hull(const Literal& literal) {
  ValueRange hull = {literal.AsInt(0), literal.AsInt(0)};
  for (int64_t i = 1; i < literal.element_count(); ++i) {
    hull.lower = std::min(hull.lower, literal.AsInt(i));
    hull.upper = std::max(hull.upper, literal.AsInt(i));
  }
  return hull;
}

ValueRange DrawnRange(std::mt19937& random) {
  const auto draw = [&] {
    const int64_t most = random() % 3 == 0 ? 128 : 9;
    return static_cast<int64_t>(random() % (2 * most)) - most;
  };
  const int64_t a = draw(), b = random() % 3 == 0 ? a : draw();
  return {std::min(a, b), std::max(a, b)};
}

// Holds what is computed; and no more, but where that is between: wrapped
// values, and a booleans' 0 and 1.
void Check(Op op, const Attributes& attributes, std::mt19937& random) {
  const bool one = Info(op).signature().operands.size() == 1;
  const ValueRange x = DrawnRange(random), y = DrawnRange(random);
  std::vector<Literal> operands = AllPairs(x, y);
  if (one) operands.pop_back();
  const auto results = EvaluateNode(op, attributes, operands);
  ASSERT_TRUE(results.ok()) << op << ": " << results.status();
  const TensorType type = operands[0].type();
  const std::vector<const TensorType*> types(operands.size(), &type);
  std::vector<std::optional<ValueRange>> ranges = {x};
  if (!one) ranges.emplace_back(y);
  const auto range =
      RangeOf(op, attributes, ranges, types, (*results)[0].type(), {});
  ASSERT_TRUE(range.has_value()) << op;
  const ValueRange hull = Hull((*results)[0]);
  const auto all = RangeOf((*results)[0].dtype());
  if (*range == *all) {
    EXPECT_GE(hull.lower, range->lower) << op;
    EXPECT_LE(hull.upper, range->upper) << op;
  } else {
    EXPECT_EQ(*range, hull) << op << " of " << x.lower << " to " << x.upper
                            << ", " << y.lower << " to " << y.upper;
  }
}

TEST(ValueRangeTest, IsWhatOperatorsGive) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin,
                        Op::kNeg, Op::kAbs, Op::kSign, Op::kRem, Op::kPow}) {
      Check(op, {}, random);
    }
    for (int c = 0; c < 6; ++c) {
      Check(Op::kCompare, CompareAttrs{.direction = static_cast<Comparison>(c)},
            random);
    }
    for (const DType dtype :
         {DType::kBool, DType::kU8, DType::kI16, DType::kI64}) {
      Check(Op::kCast, CastAttrs{.dtype = dtype}, random);
    }
    if (HasFailure()) return;
  }
}

TEST(ValueRangeTest, OfDtypes) {
  EXPECT_EQ(RangeOf(DType::kI8), (ValueRange{-128, 127}));
  EXPECT_EQ(RangeOf(DType::kU16), (ValueRange{0, 65535}));
  EXPECT_EQ(RangeOf(DType::kI64), (ValueRange{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(RangeOf(DType::kU64), std::nullopt);
  EXPECT_EQ(RangeOf(DType::kF32), std::nullopt);
}

// Of an extent that may be anything to its symbol's bound.
TEST(ValueRangeTest, OfIndicesAlongSymbols) {
  const std::vector<Symbol> symbols = {{.name = "N", .lower = 0, .upper = 40}};
  const Dim n = Dim::OfSymbol(0);
  const TensorType type{DType::kI64, Shape({n + Dim(2)})};
  EXPECT_EQ(RangeOf(Op::kIota, IotaAttrs{.shape = {n + Dim(2)}}, {}, {}, type,
                    symbols),
            (ValueRange{0, 41}));
  const std::vector<std::optional<ValueRange>> range = {ValueRange{-3, 8}};
  const TensorType vector{DType::kI64, Shape({n})};
  const TensorType scalar{DType::kI64, {}};
  const std::vector<const TensorType*> operands = {&vector};
  // Without elements the largest is the least number there is.
  EXPECT_EQ(
      RangeOf(Op::kReduce, ReduceAttrs{.combiner = Combiner::kMax, .axes = {0}},
              range, operands, scalar, symbols),
      RangeOf(DType::kI64));
}

}  // namespace
}  // namespace encore::opt
