#include <cmath>
#include <string>
#include <vector>

#include "encore/backends/region/build.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/interpreter.h"
#include "encore/backends/region/text.h"
#include "encore/backends/region/verify.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// Output 0 for f32 inputs in the order of the signature.
std::vector<float> Compute(const std::string& text,
                           const std::vector<std::vector<float>>& inputs,
                           int64_t size) {
  StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const BuiltRegion built = BuildWhole(*graph);
  EXPECT_TRUE(VerifyRegion(built.region).ok())
      << VerifyRegion(built.region) << ToText(built.region);
  const std::vector<std::byte> bytes = EncodeRegion(built.region);
  StatusOr<Region> decoded = DecodeRegion(bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  if (!decoded.ok()) return {};
  EXPECT_EQ(EncodeRegion(*decoded), bytes);
  std::vector<Buffer> in;
  for (const ValueId value : built.inputs) {
    for (size_t i = 0; i < graph->arguments().size(); ++i) {
      if (graph->arguments()[i].value != value) continue;
      in.push_back({const_cast<float*>(inputs[i].data()),
                    static_cast<int64_t>(inputs[i].size() * sizeof(float))});
    }
  }
  std::vector<float> out(size);
  const Buffer buffer = {out.data(),
                         static_cast<int64_t>(size * sizeof(float))};
  const Status status = Interpret(*decoded, {}, in, {&buffer, 1});
  EXPECT_TRUE(status.ok()) << status << ToText(built.region);
  return out;
}

TEST(RegionTest, SoftmaxIsOneRegionPerRow) {
  const std::string text = R"(
graph softmax(%x: f32[2,3]) -> f32[2,3] {
  %m = reduce(%x) {combiner = max, axes = [1]}
  %mb = broadcast(%m) {shape = [2,3], axes = [0]}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {combiner = sum, axes = [1]}
  %sb = broadcast(%s) {shape = [2,3], axes = [0]}
  %y = div(%e, %sb)
  return %y
})";
  const std::vector<float> y = Compute(text, {{0, 1, 2, 5, 5, 5}}, 6);
  const double sum = 1 + std::exp(1) + std::exp(2);
  EXPECT_NEAR(y[0], 1 / sum, 1e-6);
  EXPECT_NEAR(y[2], std::exp(2) / sum, 1e-6);
  EXPECT_NEAR(y[4], 1.0 / 3, 1e-6);
  StatusOr<Graph> graph = ParseGraph(text);
  const Region region = BuildWhole(*graph).region;
  EXPECT_EQ(region.outer, 1u);
  EXPECT_EQ(region.extents.size(), 2u);
}

TEST(RegionTest, DotWithBiasKeepsItsStructure) {
  const std::string text = R"(
graph dot(%x: f32[2,3], %w: f32[3,2], %b: f32[2]) -> f32[2,2] {
  %d = dot_general(%x, %w) {contract = [1]x[0]}
  %bb = broadcast(%b) {shape = [2,2], axes = [1]}
  %y = add(%d, %bb)
  return %y
})";
  EXPECT_EQ(
      Compute(text, {{1, 2, 3, 4, 5, 6}, {1, 0, 0, 1, 1, 1}, {10, 20}}, 4),
      (std::vector<float>{14, 25, 20, 31}));
  StatusOr<Graph> graph = ParseGraph(text);
  const Region region = BuildWhole(*graph).region;
  ASSERT_TRUE(region.contraction.has_value());
  EXPECT_EQ(region.contraction->m, (std::vector<uint32_t>{0}));
  EXPECT_EQ(region.contraction->n, (std::vector<uint32_t>{1}));
  EXPECT_EQ(region.contraction->k, (std::vector<uint32_t>{2}));
}

// Rows of scores and weights are kept for each row of the result. Keys, columns
// and what is summed are equally many, and still not taken for one another.
TEST(RegionTest, ContractionsThatReadOneAnotherShareTheirRows) {
  const std::string text = R"(
graph attention(%q: f32[3,2], %k: f32[2,2], %v: f32[2,2]) -> f32[3,2] {
  %s = dot_general(%q, %k) {contract = [1]x[1]}
  %m = reduce(%s) {axes = [1], combiner = max}
  %mb = broadcast(%m) {shape = [3,2], axes = [0]}
  %d = sub(%s, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [1]}
  %lb = broadcast(%l) {shape = [3,2], axes = [0]}
  %p = div(%e, %lb)
  %y = dot_general(%p, %v) {contract = [1]x[0]}
  return %y
})";
  const std::vector<float> y =
      Compute(text, {{0, 0, 1, 0, 2, 3}, {1, 2, 3, 4}, {10, 20, 30, 50}}, 6);
  const auto mean = [](double difference, double a, double b) {
    const double weight = 1 / (1 + std::exp(difference));  // of the first key
    return weight * a + (1 - weight) * b;
  };
  const double differences[] = {0, 2, 10};  // of the scores of both keys
  for (int row = 0; row < 3; ++row) {
    EXPECT_NEAR(y[2 * row], mean(differences[row], 10, 30), 1e-4);
    EXPECT_NEAR(y[2 * row + 1], mean(differences[row], 20, 50), 1e-4);
  }
  StatusOr<Graph> graph = ParseGraph(text);
  const Region region = BuildWhole(*graph).region;
  EXPECT_EQ(region.outer, 1u);
  EXPECT_EQ(region.extents.size(), 4u);
  ASSERT_EQ(region.stages.size(), 6u);
  EXPECT_EQ(region.stages[0].loops, region.stages[1].reduced);
  EXPECT_EQ(region.stages[3].loops, region.stages[4].reduced);
  EXPECT_EQ(region.stages[4].loops, region.stages[5].loops);
}

TEST(RegionTest, SmallPowersAreProducts) {
  const auto text = [](std::string_view dtype, int exponent) {
    return StrCat("graph g(%x: ", dtype, "[4]) -> ", dtype,
                  "[4] {\n  %c = ", "constant() {value = ", dtype, "[] ",
                  exponent, "}\n",
                  "  %e = broadcast(%c) {shape = [4], axes = []}\n",
                  "  %y = pow(%x, %e)\n  return %y\n}");
  };
  EXPECT_EQ(Compute(text("f32", 2), {{-2, 0, 3, 0.5}}, 4),
            (std::vector<float>{4, 0, 9, 0.25}));
  EXPECT_EQ(Compute(text("f32", 3), {{-2, 0, 3, 0.5}}, 4),
            (std::vector<float>{-8, 0, 27, 0.125}));
  const auto has_pow = [&](std::string_view dtype, int exponent) {
    const StatusOr<Graph> graph = ParseGraph(text(dtype, exponent));
    EXPECT_TRUE(graph.ok()) << graph.status();
    return ToText(BuildWhole(*graph).region).find("pow") != std::string::npos;
  };
  EXPECT_FALSE(has_pow("f32", 3));
  EXPECT_FALSE(has_pow("i32", 3));
  EXPECT_FALSE(has_pow("f16", 2));
  EXPECT_TRUE(has_pow("f16", 3)) << "a second rounding would show";
  EXPECT_TRUE(has_pow("f32", 4));
}

TEST(RegionTest, ConvolutionPadsWithZeros) {
  const std::string text = R"(
graph conv(%x: f32[1,1,3], %w: f32[1,1,3]) -> f32[1,1,3] {
  %y = convolution(%x, %w) {strides = [1], padding_low = [1], padding_high = [1], lhs_dilation = [1], rhs_dilation = [1]}
  return %y
})";
  EXPECT_EQ(Compute(text, {{1, 2, 3}, {1, 10, 100}}, 3),
            (std::vector<float>{210, 321, 32}));
}

TEST(RegionTest, PadOfAComputedValue) {
  const std::string text = R"(
graph pad(%x: f32[3], %p: f32[]) -> f32[6] {
  %n = neg(%x)
  %y = pad(%n, %p) {low = [2], high = [-1], interior = [1]}
  return %y
})";
  EXPECT_EQ(Compute(text, {{1, 2, 3}, {7}}, 6),
            (std::vector<float>{7, 7, -1, 7, -2, 7}));
}

TEST(RegionTest, ReductionThroughAReshapeSplitsItsVariable) {
  const std::string text = R"(
graph groups(%x: f32[1,4,2]) -> f32[1,4,2] {
  %g = reshape(%x) {shape = [1,2,4]}
  %s = reduce(%g) {combiner = sum, axes = [2]}
  %b = broadcast(%s) {shape = [1,2,4], axes = [0,1]}
  %d = sub(%g, %b)
  %y = reshape(%d) {shape = [1,4,2]}
  return %y
})";
  EXPECT_EQ(Compute(text, {{1, 2, 3, 4, 5, 6, 7, 8}}, 8),
            (std::vector<float>{-9, -8, -7, -6, -21, -20, -19, -18}));
}

TEST(RegionTest, ConcatOfComputedValues) {
  const std::string text = R"(
graph cat(%x: f32[2,1], %y: f32[2,2]) -> f32[2,3] {
  %n = neg(%x)
  %c = concat(%n, %y) {axis = 1}
  return %c
})";
  EXPECT_EQ(Compute(text, {{1, 2}, {3, 4, 5, 6}}, 6),
            (std::vector<float>{-1, 3, 4, -2, 5, 6}));
}

TEST(RegionTest, DecodingRejectsEveryTruncationAndSurvivesFlips) {
  StatusOr<Graph> graph = ParseGraph(R"(
graph f(%x: f32[4]) -> f32[] {
  %y = reduce(%x) {combiner = sum, axes = [0]}
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<std::byte> bytes = EncodeRegion(BuildWhole(*graph).region);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRegion(std::span(bytes).first(size)).ok());
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::byte> flipped = bytes;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    (void)DecodeRegion(flipped);
  }
}

}  // namespace
}  // namespace encore::backends
