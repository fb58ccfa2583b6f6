// Tiles that read windows where they lie: where they are the schedule, which of
// them are inside, beside a walk over all windows, and their results, against
// the bounds of conformance/bounds.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cpu/codegen/plane_schedule.h"
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

// A depthwise convolution; pairs are of lines and of columns.
struct Windows {
  int64_t channels;
  int64_t size[2], window[2];
  int64_t strides[2] = {1, 1};
  int64_t low[2] = {0, 0}, high[2] = {0, 0};  // padding
  int64_t dilation = 1;
  std::string dtype = "f32";
  std::string epilogue = "  %y = add(%c, %r)\n";  // of %c and %r into %y

  int64_t Result(int d) const {
    const int64_t reach = (window[d] - 1) * dilation + 1;
    return (size[d] + low[d] + high[d] - reach) / strides[d] + 1;
  }
  std::string ToText() const {
    const std::string result =
        StrCat(dtype, "[2,", channels, ",", Result(0), ",", Result(1), "]");
    return StrCat("graph g(%x: ", dtype, "[2,", channels, ",", size[0], ",",
                  size[1], "], %w: param ", dtype, "[", channels, ",1,",
                  window[0], ",", window[1], "], %r: ", result, ") -> ", result,
                  " {\n  %c = convolution(%x, %w) {strides = [", strides[0],
                  ",", strides[1], "], padding_low = [", low[0], ",", low[1],
                  "], padding_high = [", high[0], ",", high[1],
                  "], lhs_dilation = [1,1], rhs_dilation = [", dilation, ",",
                  dilation, "], feature_groups = ", channels, "}\n", epilogue,
                  "  return %y\n}");
  }
};

void PrintTo(const Windows& windows, std::ostream* out) {
  *out << windows.ToText();
}

// A square map with windows of `window` in its middle.
Windows Same(int64_t channels, int64_t size, int64_t window, int64_t stride) {
  const int64_t pad = window / 2;
  return {channels,         {size, size}, {window, window},
          {stride, stride}, {pad, pad},   {pad, pad}};
}

std::vector<Windows> Cases() {
  std::vector<Windows> cases = {
      Same(3, 112, 3, 1),
      Same(5, 56, 5, 1),
      Same(40, 7, 3, 1),
      Same(4, 29, 7, 1),
      Same(5, 60, 3, 2),
      Same(5, 33, 5, 3),
      // Padding on one side, and more than a window reaches.
      {4, {30, 61}, {3, 3}, {1, 1}, {0, 0}, {2, 1}},
      {4, {9, 20}, {3, 2}, {1, 1}, {5, 7}, {4, 6}},
      // Strides of one dim, dilation, one line.
      {4, {31, 100}, {5, 4}, {1, 3}, {2, 1}, {2, 1}},
      {4, {40, 70}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 2},
      {16, {1, 150}, {1, 9}, {1, 1}, {0, 4}, {0, 4}}};
  for (const char* dtype : {"f64", "f16"}) {
    cases.push_back(Same(3, 21, 3, 1));
    cases.back().dtype = dtype;
  }
  cases.push_back(Same(7, 14, 5, 1));
  cases.back().epilogue =
      "  %d = logistic(%c)\n  %e = mul(%c, %d)\n  %y = add(%e, %r)\n";
  return cases;
}

// Whether windows at each value of the variable read out of range, by a walk
// through all of them.
std::vector<bool> Leaves(const FlatRegion& flat, uint32_t variable) {
  std::vector<bool> leaves(flat.extents[variable]);
  const auto look = [&](const DynamicIndex& dynamic) {
    const int64_t step = dynamic.index.Coefficient(variable);
    if (step == 0) return;
    std::vector<int64_t> taps = {dynamic.index.offset};
    for (const auto& [other, coefficient] : dynamic.index.terms) {
      if (other == variable) continue;
      std::vector<int64_t> more;
      for (const int64_t tap : taps) {
        for (int64_t i = 0; i < flat.extents[other]; ++i) {
          more.push_back(tap + int64_t{coefficient} * i);
        }
      }
      taps = more;
    }
    for (size_t i = 0; i < leaves.size(); ++i) {
      for (const int64_t tap : taps) {
        const int64_t at = static_cast<int64_t>(i) * step + tap;
        if (at < 0 || at >= int64_t{dynamic.extent}) leaves[i] = true;
      }
    }
  };
  for (const FlatAccess& load : flat.loads) {
    for (const DynamicIndex& dynamic : load.dynamic) look(dynamic);
  }
  return leaves;
}

class WindowTiles : public testing::TestWithParam<Windows> {};

TEST_P(WindowTiles, AreWithinBounds) { CheckKernels(GetParam().ToText()); }

// A tile is inside where no window of it leaves, and it has all its values.
TEST_P(WindowTiles, InsideAreThoseThatNoWindowLeaves) {
  const BuiltRegion built = BuildWhole(ParsedGraph(GetParam().ToText()));
  const auto flat = Flatten(built.region);
  ASSERT_TRUE(flat.has_value());
  for (const uint32_t variable : flat->outer) {
    const int64_t extent = flat->extents[variable];
    const std::vector<bool> leaves = Leaves(*flat, variable);
    const auto inside = [&](int64_t first, int64_t size) {
      if (first + size > extent) return false;
      const auto begin = leaves.begin() + first;
      return std::find(begin, begin + size, true) == begin + size;
    };
    for (const int64_t size : {1, 3, 8, 16, 32}) {
      for (const bool anywhere : {false, true}) {
        const TilesInside tiles =
            FindTilesInside(*flat, variable, size, anywhere);
        EXPECT_EQ(tiles.extent, extent);
        EXPECT_EQ((tiles.end - tiles.begin) % size, 0);
        if (!anywhere) EXPECT_EQ(tiles.begin % size, 0);
        // No tile more, and each is.
        const int64_t step = anywhere ? 1 : size;
        for (int64_t first = 0; first < tiles.begin; first += step) {
          EXPECT_FALSE(inside(first, size)) << first;
        }
        for (int64_t first = tiles.begin; first < tiles.end; first += size) {
          EXPECT_TRUE(inside(first, size)) << first;
        }
        if (tiles.begin == tiles.end) {
          for (int64_t first = 0; first < extent; first += step) {
            EXPECT_FALSE(inside(first, size)) << first;
          }
        } else {
          EXPECT_FALSE(inside(tiles.end, size));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WindowTiles, testing::ValuesIn(Cases()));

// A sum of one product has no loop.
TEST(WindowTilesOfOnePoint, AreWithinBounds) {
  CheckKernels(
      "graph g(%x: f32[2,8,8,7], %w: param f32[8,1,1,1]) -> f32[2,8,4,7] {\n"
      "  %y = convolution(%x, %w) {strides = [2,1], padding_low = [0,0], "
      "padding_high = [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1], "
      "feature_groups = 8}\n  return %y\n}");
}

// The windows of mobile networks need no copies, those of many taps do.
TEST(WindowSchedules, AreChosen) {
  const auto in_place = [](const Windows& windows) {
    const BuiltRegion built = BuildWhole(ParsedGraph(windows.ToText()));
    const auto flat = Flatten(built.region);
    const auto schedule = MakeTileSchedule(
        *flat, std::vector<bool>(built.region.inputs.size()), Isa::kAvx512);
    return schedule.has_value() && schedule->in_place;
  };
  for (const int64_t size : {7, 14, 28, 56, 112}) {
    EXPECT_TRUE(in_place(Same(96, size, 3, 1))) << size;
  }
  EXPECT_FALSE(in_place(Same(96, 56, 13, 1)));
}

// The product of two sums over windows of size x size, an odd number.
std::optional<TileSchedule> TwoSums(int64_t size, Isa isa) {
  const std::string both = StrCat("[0,0,", size / 2, ",", size / 2, "]");
  std::string text =
      "graph g(%x: f32[4,32,224,224], %z: f32[4,32,224,224]) -> "
      "f32[4,32,224,224] {\n";
  for (const std::string_view of : {"x", "z"}) {
    StrAppend(&text, "  %s", of, " = reduce_window(%", of,
              ") {combiner = sum, window = [1,1,", size, ",", size,
              "], strides = [1,1,1,1], padding_low = ", both,
              ", padding_high = ", both, ", dilations = [1,1,1,1]}\n");
  }
  const BuiltRegion built =
      BuildWhole(ParsedGraph(text + "  %y = mul(%sx, %sz)\n  return %y\n}"));
  return MakeTileSchedule(*Flatten(built.region), {false, false}, isa);
}

// What neighbouring windows share is saved once for each sum.
TEST(WindowSchedules, TwoSumsAreWorthSeveralThreads) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const auto schedule = TwoSums(3, isa);
    ASSERT_TRUE(schedule.has_value());
    EXPECT_GT(schedule->cycles, 0);
    EXPECT_GT(schedule->partitions, 16);
  }
}

// Their points together are no int64.
TEST(WindowSchedules, HugeWindowsAreNotUnrolled) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const auto schedule = TwoSums(100001, isa);
    EXPECT_FALSE(schedule.has_value() && schedule->in_place);
  }
}

}  // namespace
}  // namespace encore::backends::cpu
