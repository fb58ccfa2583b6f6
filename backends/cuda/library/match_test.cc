#include "encore/backends/cuda/library/match.h"

#include <optional>
#include <string>
#include <utility>

#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/options.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/dtype.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

std::optional<LibraryRecipe> Match(const std::string& text,
                                   const CompileOptions& options = {}) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto primitives = DecomposeAll(*graph);
  EXPECT_TRUE(primitives.ok()) << primitives.status();
  const BuiltRegion built = BuildWhole(*primitives);
  const auto flat = Flatten(built.region);
  EXPECT_TRUE(flat.has_value());
  return MatchLibrary(*flat, options);
}

using Matrix = LibraryRecipe::Matrix;

// Row-major [6,20] [20,9], which the library is told as the transposes.
TEST(MatchLibrary, AProductIsThatOfTheTransposes) {
  const auto recipe = Match(R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})");
  ASSERT_TRUE(recipe.has_value());
  EXPECT_EQ(recipe->library, "cublaslt");
  EXPECT_EQ(recipe->rows, 9);
  EXPECT_EQ(recipe->columns, 6);
  EXPECT_EQ(recipe->depth, 20);
  EXPECT_EQ(recipe->batch, 1);
  EXPECT_EQ(recipe->a, (Matrix{DType::kF32, 1, 0, 9, 0, false}));
  EXPECT_EQ(recipe->b, (Matrix{DType::kF32, 0, 0, 20, 0, false}));
  EXPECT_EQ(recipe->d, (Matrix{DType::kF32, 0, 0, 9, 0, false}));
  EXPECT_EQ(recipe->compute, LibraryRecipe::Compute::kF32);
  EXPECT_EQ(recipe->alignment, 16);
  EXPECT_EQ(recipe->workspace_bytes, 32 * 4 * 6 * 9);
}

TEST(MatchLibrary, FactorsMayBeTransposedAndOfBatches) {
  const auto recipe = Match(R"(
graph g(%x: f16[3,20,6], %w: f16[3,9,20]) -> f16[3,6,9] {
  %p = dot_general(%x, %w) {batch = [0]x[0], contract = [1]x[2]}
  return %p
})");
  ASSERT_TRUE(recipe.has_value());
  EXPECT_EQ(recipe->batch, 3);
  EXPECT_EQ(recipe->a, (Matrix{DType::kF16, 1, 0, 20, 180, true}));
  EXPECT_EQ(recipe->b, (Matrix{DType::kF16, 0, 0, 6, 120, true}));
  EXPECT_EQ(recipe->d, (Matrix{DType::kF16, 0, 0, 9, 54, false}));
}

constexpr char kEpilogue[] = R"(
graph g(%x: f32[6,20], %w: f32[20,8], %b: f32[8], %c: f32[6,8]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %q = add(%p, %d)
  %s = add(%c, %q)
  %y = relu(%s)
  return %y
})";

TEST(MatchLibrary, WhatIsBehindTheSum) {
  CompileOptions options;
  // What becomes of a NaN in the library's relu is not said.
  EXPECT_EQ(Match(kEpilogue, options), std::nullopt);
  options.rewrites = Rewrites::kFast;
  const auto recipe = Match(kEpilogue, options);
  ASSERT_TRUE(recipe.has_value());
  EXPECT_TRUE(recipe->relu);
  ASSERT_TRUE(recipe->bias.has_value());
  // Inputs are numbered in the order in which the region came to them.
  EXPECT_EQ(recipe->bias->buffer, 3u);
  ASSERT_TRUE(recipe->c.has_value());
  EXPECT_EQ(*recipe->c, (Matrix{DType::kF32, 0, 0, 8, 0, false}));
}

// The library adds the bias last: before the tensor it is another order, which
// only rewrites that reassociate make of it.
TEST(MatchLibrary, OrderOfWhatIsAdded) {
  const auto text = [](const char* first, const char* second) {
    return StrCat(R"(
graph g(%x: f32[6,20], %w: f32[20,8], %b: f32[8], %c: f32[6,8]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %q = add(%p, )",
                  first, ")\n  %y = add(%q, ", second, ")\n  return %y\n}");
  };
  for (const Rewrites rewrites :
       {Rewrites::kNone, Rewrites::kExact, Rewrites::kReassociate}) {
    CompileOptions options;
    options.rewrites = rewrites;
    const auto bias_last = Match(text("%c", "%d"), options);
    ASSERT_TRUE(bias_last.has_value());
    EXPECT_TRUE(bias_last->bias && bias_last->c);
    const auto bias_first = Match(text("%d", "%c"), options);
    EXPECT_EQ(bias_first.has_value(), rewrites == Rewrites::kReassociate);
    if (bias_first) EXPECT_TRUE(bias_first->bias && bias_first->c);
  }
}

// Roundings that the library does not have, or not there.
constexpr const char* kRoundings[] = {
    // A factor.
    R"(
graph g(%x: f32[6,20], %w: f32[20,8]) -> f32[6,8] {
  %h = cast(%x) {dtype = f16}
  %f = cast(%h) {dtype = f32}
  %p = dot_general(%f, %w) {contract = [1]x[0]}
  return %p
})",
    // Both, to a dtype of as many bits.
    R"(
graph g(%x: f16[6,20], %w: f16[20,8]) -> bf16[6,8] {
  %xb = cast(%x) {dtype = bf16}
  %wb = cast(%w) {dtype = bf16}
  %p = dot_general(%xb, %wb) {contract = [1]x[0]}
  return %p
})",
    // The sum, before a wider result.
    R"(
graph g(%x: f32[6,20], %w: f32[20,8]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %h = cast(%p) {dtype = bf16}
  %y = cast(%h) {dtype = f32}
  return %y
})",
    R"(
graph g(%x: f16[6,20], %w: f16[20,8], %b: f32[8]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %f = cast(%p) {dtype = f32}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %y = add(%f, %d)
  return %y
})",
    // The sum, before what is added.
    R"(
graph g(%x: f16[6,20], %w: f16[20,8], %b: f16[8]) -> f16[6,8] {
  %xf = cast(%x) {dtype = f32}
  %wf = cast(%w) {dtype = f32}
  %p = dot_general(%xf, %wf) {contract = [1]x[0]}
  %h = cast(%p) {dtype = f16}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %y = add(%h, %d)
  return %y
})",
    // What is added.
    R"(
graph g(%x: f32[6,20], %w: f32[20,8], %b: f32[8]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %h = cast(%b) {dtype = f16}
  %f = cast(%h) {dtype = f32}
  %d = broadcast(%f) {shape = [6,8], axes = [1]}
  %y = add(%p, %d)
  return %y
})",
    // The result, beyond its dtype.
    R"(
graph g(%x: f16[6,20], %w: f16[20,8]) -> f16[6,8] {
  %xf = cast(%x) {dtype = f32}
  %wf = cast(%w) {dtype = f32}
  %p = dot_general(%xf, %wf) {contract = [1]x[0]}
  %b = cast(%p) {dtype = bf16}
  %y = cast(%b) {dtype = f16}
  return %y
})"};

// Only what the library does too is looked through: factors and terms of halves
// in f32, and the result rounded at the end.
TEST(MatchLibrary, RoundingsAreKept) {
  const auto once = Match(R"(
graph g(%x: f16[6,20], %w: f16[20,8], %b: f16[8]) -> f16[6,8] {
  %xf = cast(%x) {dtype = f32}
  %wf = cast(%w) {dtype = f32}
  %bf = cast(%b) {dtype = f32}
  %p = dot_general(%xf, %wf) {contract = [1]x[0]}
  %d = broadcast(%bf) {shape = [6,8], axes = [1]}
  %q = add(%p, %d)
  %y = cast(%q) {dtype = f16}
  return %y
})");
  ASSERT_TRUE(once.has_value());
  EXPECT_EQ(once->a.dtype, DType::kF16);
  EXPECT_EQ(once->d.dtype, DType::kF16);
  EXPECT_TRUE(once->bias.has_value());
  for (const char* const text : kRoundings) {
    EXPECT_EQ(Match(text), std::nullopt) << text;
  }
}

// Beyond what the library counts in there is no recipe; the workspace of what
// is large is the most.
TEST(MatchLibrary, LargeSizes) {
  const auto product = [](const char* m, const char* k, const char* n) {
    return Match(StrCat("graph g(%x: f16[", m, ",", k, "], %w: f16[", k, ",", n,
                        "]) -> f16[", m, ",", n,
                        "] {\n  %p = dot_general(%x, %w) {contract = "
                        "[1]x[0]}\n  return %p\n}"));
  };
  constexpr char kMost[] = "2147483647", kMore[] = "2147483648";
  for (const auto& recipe :
       {product(kMost, "2", "3"), product("2", kMost, "3"),
        product("2", "3", kMost), product(kMost, "2", "1073741824")}) {
    ASSERT_TRUE(recipe.has_value());
    EXPECT_EQ(recipe->workspace_bytes,
              recipe->rows * recipe->columns == 6 ? 4 * 32 * 6 : 32 << 20);
  }
  EXPECT_EQ(product(kMore, "2", "3"), std::nullopt);
  EXPECT_EQ(product("2", kMore, "3"), std::nullopt);
  EXPECT_EQ(product("2", "3", kMore), std::nullopt);
  const auto batches = [](const char* batch) {
    return Match(StrCat("graph g(%x: f16[", batch, ",2,3], %w: f16[", batch,
                        ",3,4]) -> f16[", batch,
                        ",2,4] {\n  %p = dot_general(%x, %w) {batch = "
                        "[0]x[0], contract = [2]x[1]}\n  return %p\n}"));
  };
  ASSERT_TRUE(batches(kMost).has_value());
  EXPECT_EQ(batches(kMost)->batch, 2147483647);
  EXPECT_EQ(batches(kMore), std::nullopt);
}

// Of a slice: where it begins says how it is aligned.
TEST(MatchLibrary, SlicesAreOffsetsAndPitches) {
  const auto recipe = Match(R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,6] {
  %s = slice(%w) {starts = [0,2], limits = [20,8], strides = [1,1]}
  %p = dot_general(%x, %s) {contract = [1]x[0]}
  return %p
})");
  ASSERT_TRUE(recipe.has_value());
  EXPECT_EQ(recipe->a, (Matrix{DType::kF32, 1, 2, 9, 0, false}));
  EXPECT_EQ(recipe->alignment, 8);
}

TEST(MatchLibrary, PrecisionIsWhatFactorsMayBeRoundedTo) {
  constexpr char kText[] = R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})";
  using Compute = LibraryRecipe::Compute;
  const std::pair<Precision, Compute> kPairs[] = {
      {Precision::kTF32, Compute::kTF32},
      {Precision::kBF16, Compute::kBF16},
      {Precision::kF16, Compute::kF16}};
  for (const auto& [precision, compute] : kPairs) {
    CompileOptions options;
    options.precision = precision;
    EXPECT_EQ(Match(kText, options)->compute, compute);
  }
}

TEST(MatchLibrary, WhatIsNoneOfTheLibrary) {
  // A factor that is computed, another epilogue, a convolution, integers, a
  // vector.
  for (const char* const text : {
           R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,9] {
  %e = exp(%x)
  %p = dot_general(%e, %w) {contract = [1]x[0]}
  return %p
})",
           R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %y = tanh(%p)
  return %y
})",
           R"(
graph g(%x: f32[1,2,6,6], %w: f32[4,2,3,3]) -> f32[1,4,4,4] {
  %c = convolution(%x, %w) {strides = [1,1], padding_low = [0,0],
    padding_high = [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  return %c
})",
           R"(
graph g(%x: i32[6,20], %w: i32[20,9]) -> i32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})",
           R"(
graph g(%x: f32[6,20], %w: f32[20]) -> f32[6] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"}) {
    EXPECT_EQ(Match(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace encore::backends::cuda
