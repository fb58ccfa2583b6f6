// What rules make of weights is rounded once.
#include "encore/opt/tensor/wide_weights.h"

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal.h"
#include "encore/opt/tensor/improve.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

constexpr int kRows = 512, kSize = 16, kInner = 64;

std::string Improved(const Graph& graph,
                     RewriteLevel level = RewriteLevel::kReassociate) {
  ImproveOptions options;
  options.level = level;
  const auto improved = Improve(graph, options);
  EXPECT_TRUE(improved.ok()) << improved.status();
  EXPECT_TRUE(improved.ok() && improved->has_value()) << "nothing improved";
  return improved.ok() && improved->has_value() ? Print(**improved) : "";
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

struct Matrix {
  int rows, columns;
  std::vector<float> values;
};

Matrix RandomMatrix(int rows, int columns, std::mt19937* random) {
  Matrix matrix{rows, columns, {}};
  for (int i = 0; i < rows * columns; ++i) {
    matrix.values.push_back(static_cast<float>((*random)()) / 4294967296.0F -
                            0.5F);
  }
  return matrix;
}

Literal LiteralOf(const Matrix& matrix) {
  return Literal::FromValues<float>({matrix.rows, matrix.columns},
                                    std::span(matrix.values));
}

std::vector<double> Product(const std::vector<double>& a, const Matrix& b) {
  const size_t rows = a.size() / b.rows;
  std::vector<double> product(rows * b.columns);
  for (size_t i = 0; i < rows; ++i) {
    for (int k = 0; k < b.rows; ++k) {
      for (int j = 0; j < b.columns; ++j) {
        product[i * b.columns + j] +=
            a[i * b.rows + k] * b.values[k * b.columns + j];
      }
    }
  }
  return product;
}

std::vector<float> Rounded(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// An identity as input shows the one weight that is left.
TEST(WideWeightsTest, ProductsOfWeightsAreRoundedOnce) {
  const Graph graph = ParsedGraph(R"(
graph g(%x: f32[512,16], %a: param f32[16,64], %b: param f32[64,64], %c: param f32[64,16]) -> f32[512,16] {
  %0 = dot_general(%x, %a) {contract = [1]x[0]}
  %1 = dot_general(%0, %b) {contract = [1]x[0]}
  %y = dot_general(%1, %c) {contract = [1]x[0]}
  return %y
}
)");
  const Graph improved = ParsedGraph(Improved(graph));
  std::mt19937 random(7);
  const Matrix a = RandomMatrix(kSize, kInner, &random);
  const Matrix b = RandomMatrix(kInner, kInner, &random);
  const Matrix c = RandomMatrix(kInner, kSize, &random);
  Matrix x{kRows, kSize, std::vector<float>(kRows * kSize)};
  for (int i = 0; i < kSize; ++i) x.values[i * kSize + i] = 1;
  const std::vector<Literal> arguments = {LiteralOf(x), LiteralOf(a),
                                          LiteralOf(b), LiteralOf(c)};
  const auto results = Evaluate(improved, arguments);
  ASSERT_TRUE(results.ok()) << results.status();

  const std::vector<double> ab = Product({a.values.begin(), a.values.end()}, b);
  const std::vector<float> once = Rounded(Product(ab, c));
  const std::vector<float> narrow = Rounded(ab);
  const std::vector<float> twice =
      Rounded(Product({narrow.begin(), narrow.end()}, c));
  EXPECT_NE(once, twice);
  const auto got = (*results)[0].values<float>();
  EXPECT_TRUE(std::ranges::equal(once, got.first(once.size())));
}

constexpr char kScaled[] = R"(
graph g(%x: f32[512,64], %w: param f32[64,64], %s: param f32[64]) -> f32[512,64] {
  %0 = dot_general(%x, %w) {contract = [1]x[0]}
  %1 = broadcast(%s) {shape = [512, 64], axes = [1]}
  %y = mul(%0, %1)
  return %y
}
)";

// The product of two floats of 24 bits has 48, which f64 holds: to round it is
// what the multiplication in f32 does.
TEST(WideWeightsTest, WhatRoundsCorrectlyStaysNarrow) {
  const std::string text = Improved(ParsedGraph(kScaled));
  EXPECT_EQ(Count(text, "mul("), 1) << text;
  EXPECT_EQ(Count(text, "f64"), 0) << text;
}

// The graph's own arithmetic is what its author wrote.
TEST(WideWeightsTest, TheGraphsOwnArithmeticKeepsItsDtype) {
  const std::string text = Improved(ParsedGraph(R"(
graph g(%x: f32[8,8], %v: param f32[8,8], %w: param f32[8,8]) -> (f32[8,8], f32[8,8]) {
  %0 = transpose(%x) {permutation = [1,0]}
  %1 = tanh(%0)
  %2 = transpose(%1) {permutation = [1,0]}
  %3 = dot_general(%v, %w) {contract = [1]x[0]}
  return %2, %3
}
)"));
  EXPECT_EQ(Count(text, "f64"), 0) << text;
}

}  // namespace
}  // namespace encore::opt
