// Tiles whose results lie along their rows: where they are the schedule, and
// their results, against the bounds of conformance/bounds.h.
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

constexpr std::string_view kAdd = "  %y = add(%e, %r)\n";
constexpr std::string_view kLong =
    "  %f = logistic(%e)\n  %g = mul(%e, %f)\n  %y = add(%g, %r)\n";

// A convolution with windows of 1 of square maps, with a bias, and `epilogue`,
// of %e and %r into %y.
std::string Pointwise(int64_t channels, int64_t results, int64_t size,
                      std::string_view epilogue, std::string_view dtype = "f32",
                      int64_t images = 2) {
  const std::string dims =
      StrCat("[", images, ",", results, ",", size, ",", size, "]");
  return StrCat(
      "graph g(%x: ", dtype, "[", images, ",", channels, ",", size, ",", size,
      "], %w: param ", dtype, "[", results, ",", channels, ",1,1], %b: param ",
      dtype, "[", results, "], %r: ", dtype, dims, ") -> ", dtype, dims,
      " {\n  %c = convolution(%x, %w) {strides = [1,1], padding_low = [0,0], "
      "padding_high = [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1], "
      "feature_groups = 1}\n  %d = broadcast(%b) {shape = ",
      dims, ", axes = [1]}\n  %e = add(%c, %d)\n", epilogue, "  return %y\n}");
}

struct Scheduled {
  bool turns = false;  // results are transposed
  int64_t points = 0;  // of the variable along the rows
};

Scheduled Schedule(const std::string& text, Isa isa) {
  const BuiltRegion built = BuildWhole(ParsedGraph(text));
  const auto flat = Flatten(built.region);
  std::vector<bool> weights;
  for (const Operand& input : built.region.inputs) {
    weights.push_back(input.dims.back() == Dim(1));
  }
  const auto schedule = MakeTileSchedule(*flat, weights, isa);
  if (!schedule.has_value() || schedule->staging.has_value()) return {};
  return {
      TurnsResults(*flat, schedule->vector_variable, schedule->row_variable),
      flat->extents[schedule->row_variable]};
}

// Points that fill vectors badly lie along the rows, others along the lanes.
TEST(TurnedTiles, AreChosen) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    EXPECT_TRUE(Schedule(Pointwise(320, 1280, 7, kAdd), isa).turns);
    EXPECT_FALSE(Schedule(Pointwise(64, 64, 32, kAdd), isa).turns);
  }
  EXPECT_TRUE(Schedule(Pointwise(384, 96, 14, kAdd), Isa::kAvx512).turns);
}

// Rows of one image share lines; the same point of several images does not,
// though as many sums are made of it.
TEST(TurnedTiles, HaveRowsOfOneImage) {
  for (const auto& [channels, results, size] :
       {std::tuple(1024, 256, 14), {2048, 512, 7}, {256, 1024, 14}}) {
    for (const int64_t images : {1, 2, 8, 16}) {
      const Scheduled scheduled =
          Schedule(Pointwise(channels, results, size, kAdd, "f32", images),
                   Isa::kAvx512);
      EXPECT_TRUE(scheduled.turns);
      EXPECT_EQ(scheduled.points, size * size) << images << " images";
    }
  }
}

TEST(TurnedTiles, AreWithinBounds) {
  // The last vector of channels and the last rows are parts.
  for (const std::string_view epilogue : {kAdd, kLong}) {
    CheckKernels(Pointwise(200, 72, 7, epilogue));
    CheckKernels(Pointwise(190, 101, 9, epilogue));
  }
  CheckKernels(Pointwise(160, 96, 14, kAdd));
  CheckKernels(Pointwise(200, 41, 5, kAdd, "f64"));
  CheckKernels(Pointwise(200, 41, 7, kLong, "f16"));
  // Of a product whose result lies along the first operand's rows.
  CheckKernels(
      "graph g(%w: param f32[70,96], %x: f32[96,45]) -> f32[70,45] {\n"
      "  %y = dot_general(%w, %x) {contract = [1]x[0]}\n  return %y\n}");
}

}  // namespace
}  // namespace encore::backends::cpu
