// Bounds against what kernels do: sums in f32 in several orders, with and
// without fused operations, and what they must not do.
#include "encore/backends/conformance/bounds.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/types/float_formats.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Literal Of(DType dtype, std::vector<int64_t> dims,
           const std::vector<double>& values) {
  Literal literal(dtype, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    literal.SetDouble(static_cast<int64_t>(i), values[i]);
  }
  return literal;
}

Literal Vector(DType dtype, const std::vector<double>& values) {
  return Of(dtype, {static_cast<int64_t>(values.size())}, values);
}

// The bounds of the only output of a graph in text.
Bounds BoundsOf(const std::string& text,
                const std::vector<Literal>& arguments) {
  const StatusOr<Graph> graph = ParseGraph(text);
  ENCORE_CHECK_OK(graph.status());
  auto bounds = EvaluateBounds(*graph, arguments);
  ENCORE_CHECK_OK(bounds.status());
  return (*bounds)[0];
}

bool Accepts(const Bounds& bounds, double value) {
  return !Difference(Of(bounds.expected.dtype(), {}, {value}), bounds);
}

Bounds SumOf(DType dtype, const std::vector<double>& terms) {
  const size_t n = terms.size();
  return BoundsOf(StrCat("graph g(%x: ", dtype, "[", n, "]) -> ", dtype,
                         "[] {\n  %y = reduce(%x) {combiner = sum, axes = "
                         "[0]}\n  return %y\n}"),
                  {Vector(dtype, terms)});
}

// What cancels: pairs of opposite numbers that differ in their last bits.
std::vector<double> Terms(DType dtype, int count) {
  std::vector<double> terms;
  uint32_t seed = 5;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    const double unit = (seed >> 8) * 0x1p-24 + 1;
    terms.push_back(RoundToDType(dtype, i % 2 == 0 ? unit : -unit));
  }
  return terms;
}

TEST(BoundsOfSums, HoldEveryOrderInF32) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::vector<double> terms = Terms(dtype, 301);
    const Bounds bounds = SumOf(dtype, terms);
    float forward = 0, backward = 0, lanes[8] = {};
    double magnitude = 0;
    for (size_t i = 0; i < terms.size(); ++i) {
      forward += static_cast<float>(terms[i]);
      backward += static_cast<float>(terms[terms.size() - 1 - i]);
      lanes[i % 8] += static_cast<float>(terms[i]);
      magnitude += std::abs(terms[i]);
    }
    float striped = 0;
    for (const float lane : lanes) striped += lane;
    for (const float sum : {forward, backward, striped}) {
      EXPECT_TRUE(Accepts(bounds, sum)) << dtype << ": " << sum;
    }
    // The header's bound, and the roundings at either end.
    const double low = bounds.low.AsDouble(0), high = bounds.high.AsDouble(0);
    const double unit =
        Epsilon(dtype) * std::max(std::abs(low), std::abs(high));
    EXPECT_LE(high - low, 2 * (301 * 0x1p-24 * magnitude + unit)) << dtype;
    EXPECT_FALSE(Accepts(bounds, 0)) << dtype;
  }
}

TEST(BoundsOfSums, RefuseSumsInLessThanF32) {
  for (const DType dtype :
       {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E4M3FNUZ}) {
    const std::vector<double> terms(100, RoundToDType(dtype, 0.3));
    const Bounds bounds = SumOf(dtype, terms);
    double sum = 0;
    for (const double term : terms) sum = RoundToDType(dtype, sum + term);
    EXPECT_FALSE(Accepts(bounds, sum)) << dtype << ": " << sum;
  }
}

TEST(BoundsOfSums, OfOneTermOrTwoAreCorrectlyRounded) {
  for (const double x : {1.0, 0.1f * 1.0}) {
    const Bounds one = SumOf(DType::kF32, {x});
    EXPECT_EQ(one.low, one.high);
    const Bounds two = SumOf(DType::kF32, {x, 0.3f});
    EXPECT_EQ(two.low, two.high);
    EXPECT_TRUE(Accepts(two, static_cast<float>(x) + 0.3f));
  }
}

TEST(BoundsOfSums, AreUnknownWhereAPartialSumMayOverflow) {
  const double most = std::numeric_limits<float>::max();
  EXPECT_TRUE(Accepts(SumOf(DType::kF32, {most, most, -most}), kInfinity));
  // An infinite term is no overflow.
  const Bounds infinite = SumOf(DType::kF32, {kInfinity, 1, 2});
  EXPECT_TRUE(Accepts(infinite, kInfinity));
  EXPECT_FALSE(Accepts(infinite, 3));
  EXPECT_FALSE(Accepts(infinite, NAN));
}

TEST(BoundsOfElements, AreTheCorrectlyRoundedResult) {
  for (const DType dtype : AllDTypes()) {
    const bool has_arithmetic = IsFloat(dtype) && FormatOf(dtype).has_zero();
    if (!has_arithmetic || dtype == DType::kF64) continue;
    for (const char* op : {"add", "sub", "mul", "div"}) {
      const Bounds bounds = BoundsOf(
          StrCat("graph g(%x: ", dtype, "[3], %z: ", dtype, "[3]) -> ", dtype,
                 "[3] {\n  %y = ", op, "(%x, %z)\n  return %y\n}"),
          {Vector(dtype, {1.5, -0.4375, 3}), Vector(dtype, {3, 0.75, 7})});
      EXPECT_EQ(bounds.low, bounds.high) << op << " " << dtype;
    }
  }
}

TEST(BoundsOfElements, HoldFusedMultiplyAdd) {
  const float x = 1 + 0x1p-12f, z = x;
  const Bounds bounds = BoundsOf(
      "graph g(%x: f32[], %z: f32[], %b: f32[]) -> f32[] {\n  %p = mul(%x, "
      "%z)\n  %y = add(%p, %b)\n  return %y\n}",
      {Of(DType::kF32, {}, {x}), Of(DType::kF32, {}, {z}),
       Of(DType::kF32, {}, {-1})});
  const float fused = std::fma(x, z, -1.0f), twice = x * z - 1.0f;
  EXPECT_NE(fused, twice);
  EXPECT_TRUE(Accepts(bounds, fused));
  EXPECT_TRUE(Accepts(bounds, twice));
  EXPECT_FALSE(Accepts(bounds, 2 * fused));
}

TEST(BoundsOfElements, OfFunctionsAreAFewUnitsOfF32) {
  const Bounds wide =
      BoundsOf("graph g(%x: f32[]) -> f32[] {\n  %y = exp(%x)\n  return %y\n}",
               {Of(DType::kF32, {}, {1.25})});
  const float e = std::exp(1.25f);
  EXPECT_TRUE(Accepts(wide, std::nextafter(e, 9.0f)));
  EXPECT_FALSE(Accepts(wide, e * (1 + 16 * 0x1p-23f)));
  const Bounds narrow = BoundsOf(
      "graph g(%x: bf16[]) -> bf16[] {\n  %y = exp(%x)\n  return %y\n}",
      {Of(DType::kBF16, {}, {1.25})});
  EXPECT_EQ(narrow.low, narrow.high);
}

TEST(BoundsOfElements, AreNaNWhereTheResultIs) {
  const Bounds bounds =
      BoundsOf("graph g(%x: f32[]) -> f32[] {\n  %y = log(%x)\n  return %y\n}",
               {Of(DType::kF32, {}, {-1})});
  EXPECT_TRUE(Accepts(bounds, NAN));
  EXPECT_FALSE(Accepts(bounds, 0));
  EXPECT_FALSE(Accepts(bounds, -kInfinity));
}

// linear rounds its product and its sum; softmax is computed in f32 and rounded
// once.
TEST(BoundsOfComposites, RoundWhereTheDecompositionDoes) {
  const double product = 1.5 * (1 + 0x1p-7), bias = -1.5;
  const Bounds linear = BoundsOf(
      "graph g(%x: bf16[1,1], %w: bf16[1,1], %b: bf16[1]) -> bf16[1,1] {\n  "
      "%y = linear(%x, %w, %b)\n  return %y\n}",
      {Of(DType::kBF16, {1, 1}, {1.5}), Of(DType::kBF16, {1, 1}, {1 + 0x1p-7}),
       Of(DType::kBF16, {1}, {bias})});
  EXPECT_EQ(linear.low.AsDouble(0), product + bias);
  EXPECT_EQ(linear.high.AsDouble(0),
            RoundToDType(DType::kBF16, product) + bias);
  const Bounds softmax = BoundsOf(
      "graph g(%x: bf16[4]) -> bf16[4] {\n  %y = softmax(%x) {axis = 0}\n  "
      "return %y\n}",
      {Vector(DType::kBF16, {0.5, 1.25, -2, 3})});
  EXPECT_EQ(softmax.low, softmax.high);
}

// Three steps of c = tanh(c + row), each row's c stacked.
StatusOr<Graph> Steps(Op op) {
  using Values = std::vector<Value>;
  GraphBuilder g("steps");
  const Value x = g.Input("x", {DType::kF32, {3, 2}});
  const Value start = g.Input("start", {DType::kF32, {2}});
  const auto step = [](GraphBuilder& b, Value c, Value row) {
    return b.Unary(Op::kTanh, b.Add(c, row));
  };
  if (op == Op::kScan) {
    const Value operands[] = {start, x};
    const Values results =
        g.Scan(operands,
               [&step](GraphBuilder& body, std::span<const Value> in) {
                 const Value next = step(body, in[0], in[1]);
                 return Values{next, next};
               },
               {.carried = 1, .scan_axes = {0, 0}, .directions = {1, 1}});
    return g.Build({{"last", results[0]}, {"all", results[1]}});
  }
  Value c = start;
  Values all;
  for (const int64_t at : {2, 1, 0}) {
    c = step(g, c, g.Reshape(g.SliceAxis(x, 0, at, at + 1), {2}));
    all.insert(all.begin(), g.Reshape(c, {1, 2}));
  }
  return g.Build({{"last", c}, {"all", g.Concat(all, 0)}});
}

TEST(BoundsOfGraphs, OfALoopAreThoseOfItsSteps) {
  const std::vector<Literal> arguments = {
      Of(DType::kF32, {3, 2}, {0.1, 0.2, -0.7, 1, 2, 0.3}),
      Vector(DType::kF32, {0.9, -1})};
  const auto scanned = EvaluateBounds(*Steps(Op::kScan), arguments);
  const auto unrolled = EvaluateBounds(*Steps(Op::kAdd), arguments);
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  ASSERT_TRUE(unrolled.ok()) << unrolled.status();
  for (const int i : {0, 1}) {
    EXPECT_EQ((*scanned)[i].low, (*unrolled)[i].low) << i;
    EXPECT_EQ((*scanned)[i].high, (*unrolled)[i].high) << i;
    EXPECT_NE((*scanned)[i].low, (*scanned)[i].high) << i;
  }
}

TEST(BoundsOfGraphs, FailWhereACaseDependsOnRounding) {
  const StatusOr<Graph> graph = ParseGraph(
      "graph g(%x: f32[2], %z: f32[2]) -> bool[2] {\n  %e = exp(%x)\n  %y = "
      "compare(%e, %z) {direction = lt}\n  return %y\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal x = Vector(DType::kF32, {0, 1});
  EXPECT_TRUE(
      EvaluateBounds(*graph, std::vector{x, Vector(DType::kF32, {3, 2})}).ok());
  EXPECT_FALSE(
      EvaluateBounds(*graph, std::vector{x, Vector(DType::kF32, {1, 2})}).ok());
}

}  // namespace
}  // namespace encore::backends
