// Writes the seeds of the fuzz target for recipes: those of products of each
// kind.
//
//   bazel run //backends/cuda/library:make_seeds -- ROOT
//
// ROOT is the repository; what is in it is replaced, inputs that once found
// something (found-*) stay.
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include "encore/backends/cuda/library/match.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/options.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/seeds.h"
#include "encore/ir/testing/parsed_graph.h"

namespace encore::backends::cuda {
namespace {

struct Seed {
  const char* name;
  const char* text;
};

constexpr Seed kSeeds[] = {{"plain", R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"},
                           {"wide", R"(
graph g(%x: f64[6,20], %w: f64[20,9]) -> f64[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"},
                           {"batches", R"(
graph g(%x: f16[3,20,6], %w: f16[3,9,20]) -> f16[3,6,9] {
  %p = dot_general(%x, %w) {batch = [0]x[0], contract = [1]x[2]}
  return %p
})"},
                           {"beside", R"(
graph g(%x: bf16[3,6,20], %w: bf16[3,20,9]) -> bf16[6,3,9] {
  %p = dot_general(%x, %w) {batch = [0]x[0], contract = [2]x[1]}
  %t = transpose(%p) {permutation = [1,0,2]}
  return %t
})"},
                           {"behind", R"(
graph g(%x: f32[6,20], %w: f32[20,12], %b: f32[8], %c: f32[6,8]) -> f32[6,8] {
  %s = slice(%w) {starts = [0,4], limits = [20,12], strides = [1,1]}
  %p = dot_general(%x, %s) {contract = [1]x[0]}
  %q = add(%p, %c)
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %r = add(%q, %d)
  %z = constant() {value = f32[] 0}
  %e = broadcast(%z) {shape = [6,8], axes = []}
  %y = max(%r, %e)
  return %y
})"}};

std::string BytesOf(const Seed& seed) {
  CompileOptions options;
  options.rewrites = Rewrites::kFast;
  const Graph graph = ParsedGraph(seed.text);
  const BuiltRegion built = BuildWhole(graph);
  const auto flat = Flatten(built.region);
  ENCORE_CHECK(flat.has_value()) << seed.name;
  const auto recipe = MatchLibrary(*flat, options);
  ENCORE_CHECK(recipe.has_value()) << seed.name;
  const auto bytes = Encode({.recipe = *recipe,
                             .generated = "tiles",
                             .generated_writes = 1,
                             .params = {std::byte{1}, std::byte{2}}});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int Main(const std::filesystem::path& root) {
  const Seeds seeds(root / "backends/cuda/library/testdata/recipe_fuzz");
  for (const Seed& seed : kSeeds) seeds.Add(seed.name, BytesOf(seed));
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace encore::backends::cuda

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds ROOT\n";
    return EXIT_FAILURE;
  }
  return encore::backends::cuda::Main(argv[1]);
}
