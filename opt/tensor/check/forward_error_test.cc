// Bounds hold: the same graph in f64, which is closer to real arithmetic than
// any narrower float, differs by no more. And they are no larger than they need
// be.
#include "encore/opt/tensor/check/forward_error.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// Bodies of graphs over %x: T[3,4], %y: T[3,4], %w: T[4,2].
constexpr std::string_view kBodies[] = {
    "%r = add(%x, %y)",
    "%a = mul(%x, %y)\n%b = sub(%a, %x)\n%r = mul(%b, %b)",
    "%a = add(%x, %y)\n%b = mul(%a, %a)\n%r = div(%x, %b)",
    "%a = mul(%x, %y)\n%b = abs(%a)\n%r = sqrt(%b)",
    "%a = mul(%x, %y)\n%b = abs(%a)\n%r = rsqrt(%b)",
    "%a = mul(%x, %y)\n%b = exp(%a)\n%c = add(%b, %b)\n%r = log(%c)",
    "%a = mul(%x, %y)\n%b = tanh(%a)\n%c = logistic(%b)\n%d = erf(%c)\n"
    "%e = sin(%d)\n%r = cbrt(%e)",
    "%a = mul(%x, %y)\n%r = reciprocal(%a)",
    "%a = mul(%x, %y)\n%r = dot_general(%a, %w) {contract = [1]x[0]}",
    "%a = mul(%x, %y)\n%b = reduce(%a) {axes = [1]}\n%r = mul(%b, %b)",
    "%a = mul(%x, %y)\n%b = reduce(%a) {combiner = product, axes = [0]}\n"
    "%r = neg(%b)",
    "%a = mul(%x, %y)\n%b = reduce(%a) {combiner = max, axes = [0]}\n"
    "%r = add(%b, %b)",
    "%a = mul(%x, %y)\n%b = transpose(%a) {permutation = [1, 0]}\n"
    "%c = slice(%b) {starts = [1, 0], limits = [3, 3], strides = [1, 1]}\n"
    "%r = exp(%c)",
    "%a = mul(%x, %y)\n%c = compare(%a, %x) {direction = lt}\n"
    "%r = select(%c, %a, %y)",
    "%a = mul(%x, %y)\n%b = cumulative(%a) {axis = 1}\n%r = mul(%b, %x)",
    "%a = mul(%x, %y)\n%b = softmax(%a) {axis = 1}\n%r = add(%b, %x)",
    "%a = add(%x, %y)\n%b = gelu(%a)\n%r = mean(%b) {axes = [1]}",
};

std::string TextOf(std::string_view body, std::string_view dtype,
                   std::string_view result) {
  return StrCat("graph g(%x: ", dtype, "[3,4], %y: ", dtype,
                "[3,4], %w: ", dtype, "[4,2]) -> ", result, " {\n", body,
                "\nreturn %r\n}");
}

// The type of the result, in that dtype: the parser wants it.
std::string TypeOf(std::string_view body, std::string_view dtype) {
  const auto has = [&](std::string_view text) {
    return body.find(text) != std::string_view::npos;
  };
  std::string_view dims = "[3,4]";
  if (has("dot_general")) dims = "[3,2]";
  if (has("axes = [1]}")) dims = "[3]";
  if (has("axes = [0]}")) dims = "[4]";
  if (has("slice")) dims = "[2,3]";
  return StrCat(dtype, dims);
}

class ForwardErrorTest : public testing::TestWithParam<std::string_view> {};

TEST_P(ForwardErrorTest, BoundsHoldAndAreNotIdle) {
  const std::string_view body = GetParam();
  const Graph wide = ParsedGraph(TextOf(body, "f64", TypeOf(body, "f64")));
  for (const std::string_view name : {"f32", "f16", "bf16"}) {
    const DType dtype = *ParseDType(name);
    const Graph narrow = ParsedGraph(TextOf(body, name, TypeOf(body, name)));
    double largest = 0;  // share of a bound that was needed
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      std::mt19937_64 random(seed);
      std::vector<Literal> narrow_arguments, wide_arguments;
      for (const auto& argument : narrow.arguments()) {
        Literal x(dtype, *narrow.shape(argument.value).Evaluate({}));
        Literal y(DType::kF64, x.dims());
        for (int64_t i = 0; i < x.element_count(); ++i) {
          x.SetDouble(i, static_cast<double>(random() >> 11) * 0x1p-51 - 2);
          y.SetDouble(i, x.AsDouble(i));
        }
        narrow_arguments.push_back(x);
        wide_arguments.push_back(y);
      }
      const auto got = EvaluateWithBounds(narrow, narrow_arguments);
      const auto true_values = EvaluateWithBounds(wide, wide_arguments);
      ASSERT_TRUE(got.ok() && true_values.ok()) << got.status();
      const BoundedValue& a = got->front();
      const BoundedValue& b = true_values->front();
      for (int64_t i = 0; i < a.value.element_count(); ++i) {
        const double bound = a.error[i] + b.error[i];
        if (std::isinf(bound)) continue;
        const double off = std::abs(a.value.AsDouble(i) - b.value.AsDouble(i));
        ASSERT_LE(off, bound) << name << " seed " << seed << " element " << i;
        largest = std::max(largest, off / bound);
      }
    }
    EXPECT_GT(largest, 0.05) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Bodies, ForwardErrorTest, testing::ValuesIn(kBodies));

TEST(ForwardErrorTest, WhatIsNoNumberHasNoBound) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[3], %y: f32[3]) -> f32[3] {\n%r = mul(%x, %y)\n"
      "return %r\n}");
  const float infinity = std::numeric_limits<float>::infinity();
  const auto got = EvaluateWithBounds(
      graph, std::vector<Literal>{
                 Literal::FromValues<float>({3}, {infinity, 3e38f, 2}),
                 Literal::FromValues<float>({3}, {1, 10, 3})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(std::isinf(got->front().error[0]));
  EXPECT_TRUE(std::isinf(got->front().error[1]));
  EXPECT_GT(got->front().error[2], 0);
  EXPECT_LT(got->front().error[2], 1e-6);
}

TEST(ForwardErrorTest, IntegersAreExact) {
  const Graph graph = ParsedGraph(
      "graph g(%x: i32[2,2], %y: i32[2,2]) -> i32[2] {\n"
      "%a = dot_general(%x, %y) {contract = [1]x[0]}\n"
      "%b = mul(%a, %x)\n%r = reduce(%b) {axes = [0]}\nreturn %r\n}");
  const Literal x = Literal::FromValues<int32_t>({2, 2}, {INT32_MIN, 7, -1, 3});
  const auto got = EvaluateWithBounds(graph, std::vector<Literal>{x, x});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->front().error, std::vector<double>(2, 0));
}

TEST(ForwardErrorTest, AChoiceWithinTheBoundHasNone) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[2], %y: f32[2]) -> f32[2] {\n%a = mul(%x, %y)\n"
      "%c = compare(%a, %x) {direction = lt}\n%r = select(%c, %x, %y)\n"
      "return %r\n}");
  const auto got = EvaluateWithBounds(
      graph, std::vector<Literal>{Literal::FromValues<float>({2}, {3.3f, 3.3f}),
                                  Literal::FromValues<float>({2}, {1, 2})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(std::isinf(got->front().error[0]));
  EXPECT_EQ(got->front().error[1], 0);
}

}  // namespace
}  // namespace encore::opt
