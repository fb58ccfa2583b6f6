// Windows of three in some dims of an image, whatever else it has: where they
// are candidates, bounds, and errors beside exact sums.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/testing/convolution_kernels.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// A convolution of 32 channels of an image of three dims: %x, or %i of it where
// `before` makes that. `behind` makes %y of the result, %c, and of %b, one for
// each of 24 channels.
std::string InThreeDims(std::string_view x, std::string_view window,
                        std::string_view attributes,
                        std::string_view before = "",
                        std::string_view behind = "") {
  return StrCat("graph g(%x: f32[", x, "], %w: param f32[24,32,", window,
                "], %b: param f32[24]) {\n", before, "  %c = convolution(",
                before.empty() ? "%x" : "%i", ", %w) {", attributes,
                ", lhs_dilation = [1,1,1], rhs_dilation = [1,1,1], "
                "feature_groups = 1}\n",
                behind, "  return ", behind.empty() ? "%c" : "%y", "\n}");
}

// Dims without a window are batches, wherever they stand and lie.
TEST(WinogradDims, DimsWithoutWindowsAreBatches) {
  const std::string same =
      "strides = [1,1,1], padding_low = [0,1,1], padding_high = [0,1,1]";
  const std::string narrow =
      "strides = [1,1,1], padding_low = [0,0,0], padding_high = [0,0,0]";
  uint64_t seed = 0;
  for (const std::string& text : {
           InThreeDims("2,32,5,20,24", "1,3,3", same, "",
                       "  %d = broadcast(%b) {shape = [2,24,5,20,24], "
                       "axes = [1]}\n  %y = add(%c, %d)\n"),
           InThreeDims("1,32,3,20,20", "1,3,3", narrow, "",
                       "  %y = reshape(%c) {shape = [23328]}\n"),
           InThreeDims("3,32,7,13,21", "1,3,3",
                       "strides = [2,1,1], padding_low = [0,1,2], "
                       "padding_high = [0,0,1]"),
           InThreeDims("2,32,9,10,17", "3,1,3",
                       "strides = [1,3,1], padding_low = [1,0,1], "
                       "padding_high = [1,0,1]"),
           InThreeDims("4,2,32,11,19", "1,3,3", narrow,
                       "  %i = transpose(%x) {permutation = [1,2,0,3,4]}\n"),
           InThreeDims("2,36,6,30,24", "1,3,3", narrow,
                       "  %i = slice(%x) {starts = [0,2,1,3,0], "
                       "limits = [2,34,5,23,24], strides = [1,1,1,1,1]}\n"),
       }) {
    EXPECT_EQ(WinogradCandidates(text, Rewrites::kReassociate), 2) << text;
    ExpectWithinBounds(text, ++seed);
  }
  // Windows in three dims, none where columns are neighbors, and padding where
  // there is no window.
  for (const std::string& text : {
           InThreeDims("1,32,8,20,24", "3,3,3", narrow),
           InThreeDims("1,32,8,20,24", "3,3,1", narrow),
           InThreeDims("1,32,8,20,24", "1,1,1", narrow),
           InThreeDims("1,32,8,20,24", "1,3,3",
                       "strides = [1,1,1], padding_low = [1,1,1], "
                       "padding_high = [0,1,1]"),
       }) {
    EXPECT_EQ(WinogradCandidates(text, Rewrites::kReassociate), 0) << text;
  }
}

// Both dims lie one element apart in an image of one column, and a line of a
// signal may be too long for scratch memory.
TEST(WinogradDims, ImagesOfOneColumnAndLongSignalsHaveNone) {
  const auto two_dims = [](std::string_view x, std::string_view window,
                           std::string_view padding) {
    return StrCat("graph g(%x: f32[", x, "], %w: param f32[64,40,", window,
                  "]) {\n  %c = convolution(%x, %w) {strides = [1,1], ",
                  padding,
                  ", lhs_dilation = [1,1], rhs_dilation = [1,1], "
                  "feature_groups = 1}\n  return %c\n}");
  };
  for (const std::string_view padding :
       {"padding_low = [0,2], padding_high = [2,1]",
        "padding_low = [1,1], padding_high = [1,2]"}) {
    const std::string text = two_dims("1,40,16,1", "3,3", padding);
    EXPECT_EQ(WinogradCandidates(text, Rewrites::kReassociate), 0) << text;
    CheckKernels(text);
  }
  constexpr std::string_view kNone =
      "padding_low = [0,0], padding_high = [0,0]";
  EXPECT_EQ(WinogradCandidates(two_dims("1,40,1,4000", "1,3", kNone),
                               Rewrites::kReassociate),
            2);
  EXPECT_EQ(WinogradCandidates(two_dims("1,40,1,400000", "1,3", kNone),
                               Rewrites::kReassociate),
            0);
}

// One dim alone with a window: columns, or another one.
TEST(WinogradDims, OneDimMayHaveTheWindow) {
  const std::string narrow =
      "strides = [1,1,1], padding_low = [0,0,0], padding_high = [0,0,0]";
  const std::string biased =
      "  %d = broadcast(%b) {shape = [2,24,8,20,24], axes = [1]}\n"
      "  %y = add(%c, %d)\n";
  uint64_t seed = 0;
  for (const std::string& text : {
           // Columns of several dims are one line.
           InThreeDims("2,32,8,20,24", "3,1,1",
                       "strides = [1,1,1], padding_low = [1,0,0], "
                       "padding_high = [1,0,0]",
                       "", biased),
           InThreeDims("2,32,8,20,24", "1,1,3",
                       "strides = [1,1,1], padding_low = [0,0,1], "
                       "padding_high = [0,0,1]",
                       "", biased),
           InThreeDims("1,32,5,21,7", "1,3,1",
                       "strides = [2,1,1], padding_low = [0,2,0], "
                       "padding_high = [0,0,0]"),
           InThreeDims("3,32,2,3,150", "1,1,3", narrow),
           InThreeDims("1,32,2,3,37", "1,1,3",
                       "strides = [1,2,1], padding_low = [0,0,2], "
                       "padding_high = [0,0,2]"),
           InThreeDims("1,32,40,9,33", "3,1,1",
                       "strides = [1,1,1], padding_low = [2,0,0], "
                       "padding_high = [1,0,0]"),
       }) {
    EXPECT_EQ(WinogradCandidates(text, Rewrites::kReassociate), 2) << text;
    ExpectWithinBounds(text, ++seed, LossInOneDim);
  }
}

// Of windows in one dim, 2,048 results of each of 16 rows.
TEST(WinogradDims, OneDimLosesWhatIsExpected) {
  constexpr int64_t kRows = 16, kWidth = 2050;
  for (const int64_t channels : {8, 16, 64, 256}) {
    Problem problem(
        StrCat("graph g(%x: f32[1,", channels, ",1,", kWidth,
               "], %w: param f32[", kRows, ",", channels,
               ",1,3]) {\n  %c = convolution(%x, %w) {strides = [1,1], "
               "padding_low = [0,0], padding_high = [0,0], lhs_dilation = "
               "[1,1], rhs_dilation = [1,1]}\n  return %c\n}"),
        channels);
    Rectify(&problem.arguments[0]);
    problem.inputs[0] = problem.arguments[0];
    std::vector<double> exact(kRows * (kWidth - 2));
    for (size_t i = 0; i < exact.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / (kWidth - 2);
      const auto column = static_cast<int64_t>(i) % (kWidth - 2);
      for (int64_t term = 0; term < channels * 3; ++term) {
        exact[i] += problem.arguments[1].AsDouble(row * channels * 3 + term) *
                    problem.arguments[0].AsDouble(term / 3 * kWidth + column +
                                                  term % 3);
      }
    }
    const Errors direct = ErrorsOf(Launch(problem, kTiles), exact);
    WindowedSum sum;
    sum.channels = channels;
    sum.rows = kRows;
    sum.width = kWidth;
    sum.result_width = kWidth - 2;
    sum.column_window = 3;
    for (const std::string& kernel : kWinogradKernels) {
      const double ratio =
          ErrorsOf(Launch(problem, kernel), exact).rms / direct.rms;
      const double expected =
          MakeWinogradSchedule(sum, WinogradName{OutputsOf(kernel), 2},
                               Isa::kAvx2)
              .error_ratio;
      std::cout << kernel << ", " << channels << " channels: " << ratio
                << " of the rms, expected " << expected << "\n";
      EXPECT_NEAR(ratio, expected, 0.25 * expected) << kernel;
    }
  }
}

}  // namespace
}  // namespace encore::backends::cpu
