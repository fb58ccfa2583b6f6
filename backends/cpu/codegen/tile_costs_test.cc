// What tiles are estimated to take where memory, not arithmetic, decides: each
// kernel was measured to take two to five times as long as another one.
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

std::optional<TileSchedule> TilesFor(const std::string& text) {
  const BuiltRegion built = BuildWhole(ParsedGraph(text));
  return MakeTileSchedule(*Flatten(built.region),
                          std::vector<bool>(built.region.inputs.size()),
                          Isa::kAvx512);
}

// A factor whose points of the sum are 2 KiB apart, of 64 MiB: two lines of
// each page show no prefetcher where to go on.
TEST(TileCosts, LinesHalfAPageApartAreNotReadInPlaceFromMemory) {
  const auto tiles = TilesFor(
      "graph g(%x: f32[16,2048,512], %z: f32[2048,64]) -> f32[16,512,64] {\n  "
      "%y = dot_general(%x, %z) {contract = [1]x[0]}\n  return %y\n}");
  ASSERT_TRUE(tiles.has_value());
  EXPECT_TRUE(tiles->staging.has_value());
}

// Sums of 8 terms, whose results are 16 MiB: blocks of columns would go through
// rows that are each on a page of its own.
TEST(TileCosts, ShortSumsOfLongRowsAreNotComputedInBlocksOfColumns) {
  const auto tiles = TilesFor(
      "graph g(%x: f32[2,8,1952], %z: f32[2,1024,8], %r: f32[2,1952,1024]) -> "
      "f32[2,1952,1024] {\n  %p = dot_general(%x, %z) {contract = [1]x[2], "
      "batch = [0]x[0]}\n  %y = add(%p, %r)\n  return %y\n}");
  ASSERT_TRUE(tiles.has_value());
  EXPECT_FALSE(tiles->staging.has_value());
}

// Windows of which each lane would be gathered by itself.
TEST(TileCosts, PoolingOfShortRowsIsForLoops) {
  const BuiltRegion built = BuildWhole(ParsedGraph(
      "graph g(%x: f32[4,256,128,11]) -> f32[4,256,43,4] {\n  %y = "
      "reduce_window(%x) {combiner = sum, window = [1,1,2,2], strides = "
      "[1,1,3,3], padding_low = [0,0,0,0], padding_high = [0,0,0,0], dilations "
      "= [1,1,1,1]}\n  return %y\n}"));
  CompileOptions options = GeneratedOnly();
  options.machine = "zen5-avx512";
  options.threads = 1;
  const auto candidates =
      CpuBackend()->Candidates({&built.region, {false}, {}}, options);
  EXPECT_EQ(candidates[0].kernel, kLoops);
}

}  // namespace
}  // namespace encore::backends::cpu
