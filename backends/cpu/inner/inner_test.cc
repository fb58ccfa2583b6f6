// Sums along the lanes against the bounds of conformance/bounds.h, and where
// they are a candidate and chosen.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

struct Product {
  int64_t m, k, n;
  // The second factor is [n, k], or [k, n] and packed where it is a parameter.
  bool turned = false;
  const char* dtype = "f32";
  // Follows the product: "  %y = …", of %p.
  std::string epilogue = "  %y = neg(%p)\n";
};

std::string Text(const Product& product) {
  const auto& [m, k, n, turned, dtype, epilogue] = product;
  const auto dims = [](int64_t a, int64_t b) {
    return StrCat("[", a, ",", b, "]");
  };
  return StrCat("graph g(%x: ", dtype, dims(m, k), ", %w: param ", dtype,
                turned ? dims(n, k) : dims(k, n), ", %r: ", dtype, dims(m, n),
                ", %b: ", dtype, "[", n, "]) -> ", dtype, dims(m, n),
                " {\n  %p = dot_general(%x, %w) {contract = [1]x[",
                turned ? 1 : 0, "]}\n", epilogue, "  return %y\n}");
}

std::vector<Candidate> CandidatesFor(const std::string& text) {
  const Graph graph = ParsedGraph(text);
  const BuiltRegion built = BuildWhole(graph);
  std::vector<bool> weights;
  for (const ValueId input : built.inputs) {
    weights.push_back(graph.op(graph.producer(input)) == Op::kParameter);
  }
  CompileOptions options = GeneratedOnly();
  options.machine = "zen5-avx512";
  options.threads = 1;
  return CpuBackend()->Candidates({&built.region, weights, {}}, options);
}

bool IsCandidate(const std::string& text) {
  return std::ranges::any_of(
      CandidatesFor(text),
      [](const Candidate& candidate) { return candidate.kernel == kInner; });
}

// Every candidate within the bounds, this one among them.
void Check(const Product& product) {
  const std::string text = Text(product);
  EXPECT_TRUE(IsCandidate(text)) << text;
  CheckKernels(text);
}

TEST(InnerTest, IsWithinBounds) {
  for (const bool turned : {false, true}) {
    for (const int64_t n : {2, 3, 4, 5, 7, 8, 11, 33}) {
      for (const int64_t k : {1 + n, int64_t{16}, int64_t{37}, int64_t{128}}) {
        Check({.m = 13, .k = k, .n = n, .turned = turned});
      }
    }
    Check({.m = 2, .k = 200, .n = 40, .turned = turned});
  }
}

TEST(InnerTest, DTypesAreWithinBounds) {
  for (const char* dtype : {"f64", "f16", "bf16"}) {
    for (const bool turned : {false, true}) {
      Check({.m = 9, .k = 61, .n = 5, .turned = turned, .dtype = dtype});
    }
  }
}

TEST(InnerTest, EpiloguesAreWithinBounds) {
  const std::string bias =
      "  %c = broadcast(%b) {shape = [21,6], axes = [1]}\n"
      "  %a = add(%p, %c)\n";
  for (const bool turned : {false, true}) {
    Product product{.m = 21, .k = 50, .n = 6, .turned = turned};
    for (const std::string& epilogue : {StrCat(bias, "  %y = logistic(%a)\n"),
                                        StrCat(bias, "  %y = add(%a, %r)\n")}) {
      product.epilogue = epilogue;
      Check(product);
    }
  }
  // Results that are neighbours along the rows.
  CheckKernels(
      "graph g(%x: f32[40,70], %w: param f32[70,6]) -> f32[6,40] {\n  %p = "
      "dot_general(%x, %w) {contract = [1]x[0]}\n  %y = transpose(%p) "
      "{permutation = [1,0]}\n  return %y\n}");
}

TEST(InnerTest, BatchesAndPrologues) {
  const std::string batches =
      "graph g(%x: f32[3,2,9,40], %z: f32[3,2,5,40]) -> f32[3,2,9,5] {\n  %a = "
      "exp(%x)\n  %y = dot_general(%a, %z) {contract = [3]x[3], batch = "
      "[0,1]x[0,1]}\n  return %y\n}";
  EXPECT_TRUE(IsCandidate(batches));
  CheckKernels(batches);
  // Two dims are summed over, of which one factor has the other order.
  CheckKernels(
      "graph g(%x: f32[9,6,40], %w: param f32[40,5,6]) -> f32[9,5] {\n  %y = "
      "dot_general(%x, %w) {contract = [1,2]x[2,0]}\n  return %y\n}");
}

// Lanes behind the end of a sum are no terms, whatever they would be.
TEST(InnerTest, InfinitiesStayWhereTheyAre) {
  const char* const text =
      "graph g(%x: f32[9,21], %z: f32[5]) -> f32[9,5] {\n  %b = broadcast(%z) "
      "{shape = [5,21], axes = [0]}\n  %y = dot_general(%x, %b) {contract = "
      "[1]x[1]}\n  return %y\n}";
  Literal x(DType::kF32, {9, 21}), z(DType::kF32, {5});
  for (int64_t i = 0; i < 9 * 21; ++i) x.SetDouble(i, 1.0 + i % 7);
  for (int64_t i = 0; i < 5; ++i) z.SetDouble(i, i == 2 ? INFINITY : i);
  EXPECT_TRUE(IsCandidate(text));
  CheckKernels(text, {x, z});
}

// What lies along no sum and is no weight is for other kernels.
TEST(InnerTest, FactorsLieAlongTheSum) {
  EXPECT_FALSE(
      IsCandidate("graph g(%x: f32[40,9], %z: f32[40,5]) -> f32[9,5] {\n  %y = "
                  "dot_general(%x, %z) {contract = [0]x[0]}\n  return %y\n}"));
}

// Few columns of a long sum fill no vector otherwise.
TEST(InnerTest, IsChosenForFewColumns) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{23808, 512, 4},
                                {2067, 128, 2},
                                {2048, 1024, 3},
                                {51200, 88, 8}}) {
    const Product product{.m = m, .k = k, .n = n};
    EXPECT_EQ(CandidatesFor(Text(product))[0].kernel, kInner) << n;
  }
  EXPECT_NE(CandidatesFor(Text({.m = 512, .k = 64, .n = 512}))[0].kernel,
            kInner);
}

// Slices and reshapes by turns leave an address that is no sum of steps.
TEST(Inner, IsNotOfWhatLiesNowhereInALine) {
  const std::string text =
      "graph g(%x: f32[96,20,16], %w: f32[4,4,64]) -> f32[96,4] {\n"
      "  %a = slice(%x) {starts = [0,0,0], limits = [96,18,15], "
      "strides = [1,1,1]}\n"
      "  %b = reshape(%a) {shape = [96,270]}\n"
      "  %c = slice(%b) {starts = [0,0], limits = [96,256], "
      "strides = [1,1]}\n"
      "  %d = reshape(%c) {shape = [96,4,64]}\n"
      "  %y = dot_general(%d, %w) {contract = [1,2]x[1,2]}\n"
      "  return %y\n}";
  EXPECT_FALSE(IsCandidate(text));
  CheckKernels(text);
}

}  // namespace
}  // namespace encore::backends::cpu
