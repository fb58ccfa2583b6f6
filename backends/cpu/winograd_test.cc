// Winograd convolutions against the bounds of conformance/bounds.h, against
// exact sums, and where they are candidates.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/testing/convolution_kernels.h"
#include "encore/backends/cpu/winograd/transform.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

struct Shape2D {
  int64_t images = 1, channels = 1, rows = 1, height = 1, width = 1;
  int64_t top = 1, left = 1, bottom = 1, right = 1;  // padding
  std::string epilogue = "";  // of %c, f32 of the result's shape, into %y
  std::string window = "3,3", strides = "1,1", dtype = "f32",
              weights = "param ";

  std::string ResultType() const {
    return StrCat(dtype, "[", images, ",", rows, ",", height + top + bottom - 2,
                  ",", width + left + right - 2, "]");
  }
  std::string ToText() const {
    return StrCat(
        "graph g(%x: ", dtype, "[", images, ",", channels, ",", height, ",",
        width, "], %w: ", weights, dtype, "[", rows, ",", channels, ",", window,
        "], %b: param ", dtype, "[", rows, "], %r: ", ResultType(), ") -> ",
        ResultType(), " {\n  %c = convolution(%x, %w) {strides = [", strides,
        "], padding_low = [", top, ",", left, "], padding_high = [", bottom,
        ",", right,
        "], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = 1}\n",
        epilogue, "  return ", epilogue.empty() ? "%c" : "%y", "\n}");
  }
};

std::string BiasAndResidual(const Shape2D& shape) {
  const std::string type = shape.ResultType();
  const std::string dims = type.substr(type.find('['));
  return StrCat("  %d = broadcast(%b) {shape = ", dims,
                ", axes = [1]}\n  %e = add(%c, %d)\n  %f = add(%e, %r)\n  %y = "
                "abs(%f)\n");
}

TEST(Winograd, IsWithinItsBounds) {
  uint64_t seed = 1;
  for (Shape2D shape : {
           Shape2D{1, 16, 32, 28, 28},
           Shape2D{1, 64, 64, 56, 56},    // several spans
           Shape2D{4, 32, 40, 7, 7},      // vectors of several images
           Shape2D{1, 130, 200, 14, 14},  // several splits
           Shape2D{2, 7, 13, 31, 17},     // nothing divides anything
           Shape2D{1, 3, 65, 33, 70},     // lines of many vectors
           Shape2D{1, 5, 3, 2, 200, 1, 1, 1, 1},
           Shape2D{2, 9, 11, 23, 19, 0, 2, 1, 0},
           Shape2D{3, 4, 6, 8, 9, 2, 0, 0, 2},
       }) {
    ExpectWithinBounds(shape.ToText(), ++seed);
    shape.epilogue = BiasAndResidual(shape);
    ExpectWithinBounds(shape.ToText(), ++seed);
  }
}

TEST(Winograd, RandomShapesAreWithinBounds) {
  std::mt19937_64 random(7);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  for (int i = 0; i < 24; ++i) {
    Shape2D shape{draw(1, 3),  draw(1, 40), draw(2, 50),
                  draw(4, 40), draw(4, 40), draw(0, 2),
                  draw(0, 2),  draw(0, 2),  draw(0, 2)};
    if (i % 2 == 1) shape.epilogue = BiasAndResidual(shape);
    ExpectWithinBounds(shape.ToText(), i);
  }
}

// More padding than a window is wide: the first vector of a line, which alone
// is masked on that side, would not reach the image.
TEST(Winograd, IsNoCandidateWithWindowsOfPadding) {
  EXPECT_EQ(WinogradCandidates(Shape2D{1, 32, 32, 28, 28, 1, 20, 1, 1}.ToText(),
                               Rewrites::kReassociate),
            0);
}

// The convolution of one image without padding in f64.
std::vector<double> ExactSums(const Shape2D& shape, const Literal& x,
                              const Literal& w) {
  const int64_t h = shape.height - 2, v = shape.width - 2;
  std::vector<double> sums(shape.rows * h * v);
  for (int64_t o = 0; o < shape.rows; ++o) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      for (int64_t t = 0; t < 9; ++t) {
        const double tap = w.AsDouble((o * shape.channels + c) * 9 + t);
        for (int64_t i = 0; i < h * v; ++i) {
          const int64_t line = c * shape.height + i / v + t / 3;
          sums[o * h * v + i] +=
              tap * x.AsDouble(line * shape.width + i % v + t % 3);
        }
      }
    }
  }
  return sums;
}

// What a schedule says of it.
double ExpectedRatio(const Shape2D& shape, int outputs) {
  WindowedSum sum;
  sum.channels = shape.channels;
  sum.rows = shape.rows;
  sum.height = shape.height;
  sum.width = shape.width;
  sum.result_height = shape.height - 2;
  sum.result_width = shape.width - 2;
  sum.line_window = sum.column_window = 3;
  return MakeWinogradSchedule(sum, WinogradName{outputs, 2}, Isa::kAvx2)
      .error_ratio;
}

TEST(Winograd, LosesLittleMoreThanSums) {
  for (const int64_t channels : {16, 48, 64, 256, 1024, 2048}) {
    const Shape2D shape{1, channels, 16, 34, 34, 0, 0, 0, 0};
    Problem problem(shape.ToText(), channels);
    Rectify(&problem.arguments[0]);
    problem.inputs[0] = problem.arguments[0];
    const std::vector<double> exact =
        ExactSums(shape, problem.arguments[0], problem.arguments[1]);
    const Errors direct = ErrorsOf(Launch(problem, kTiles), exact);
    for (const std::string& kernel : kWinogradKernels) {
      const Errors fast = ErrorsOf(Launch(problem, kernel), exact);
      const std::string what =
          StrCat(kernel, ", ", channels, " channels: ", fast.rms / direct.rms,
                 " of the rms, ", fast.largest / direct.largest,
                 " of the largest error of the sums");
      EXPECT_LE(fast.rms, 8 * direct.rms) << what;
      EXPECT_LE(fast.largest, 16 * direct.largest) << what;
      const double expected = ExpectedRatio(shape, OutputsOf(kernel));
      EXPECT_NEAR(fast.rms / direct.rms, expected, 0.2 * expected) << what;
      std::cout << what << "\n";
    }
  }
}

// Errors of both kernels beside exact sums, as multiples of those of sums of
// terms, over two draws.
std::vector<Errors> MeasuredRatios(int64_t channels) {
  const Shape2D shape{1, channels, 16, 34, 34, 0, 0, 0, 0};
  const std::string kernels[] = {std::string(kTiles), kWinogradKernels[0],
                                 kWinogradKernels[1]};
  std::vector<Errors> all(3);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Problem problem(shape.ToText(), channels * 100 + seed);
    Rectify(&problem.arguments[0]);
    problem.inputs[0] = problem.arguments[0];
    const std::vector<double> exact =
        ExactSums(shape, problem.arguments[0], problem.arguments[1]);
    for (size_t k = 0; k < all.size(); ++k) {
      const Errors errors = ErrorsOf(Launch(problem, kernels[k]), exact);
      all[k].rms = std::hypot(all[k].rms, errors.rms);
      all[k].largest = std::max(all[k].largest, errors.largest);
    }
  }
  return {{all[1].rms / all[0].rms, all[1].largest / all[0].largest},
          {all[2].rms / all[0].rms, all[2].largest / all[0].largest}};
}

// The bound on what is expected of candidates holds for what is measured, up to
// what draws differ by, on both sides of where it begins. What is refused loses
// about as much, or more; of one or two channels less is measured than
// expected.
TEST(Winograd, CandidatesLoseNoMoreThanTheBound) {
  int allowed[2] = {}, refused[2] = {};
  for (const int64_t channels :
       {1, 2, 3, 4, 8, 16, 24, 27, 28, 29, 32, 40, 64, 130}) {
    const std::vector<Errors> ratios = MeasuredRatios(channels);
    for (size_t k = 0; k < 2; ++k) {
      const bool candidate =
          ExpectedRatio(
              {.channels = channels, .rows = 16, .height = 34, .width = 34},
              OutputsOf(kWinogradKernels[k])) <= kMostErrorRatio;
      const std::string what =
          StrCat(kWinogradKernels[k], ", ", channels, " channels, ",
                 candidate ? "allowed: " : "refused: ", ratios[k].rms,
                 " of the rms, ", ratios[k].largest, " of the largest error");
      std::cout << what << "\n";
      ++(candidate ? allowed : refused)[k];
      if (candidate) {
        EXPECT_LE(ratios[k].rms, 1.05 * kMostErrorRatio) << what;
        EXPECT_LE(ratios[k].largest, 1.1 * kMostErrorRatio) << what;
      } else {
        EXPECT_GT(ratios[k].rms, (channels < 3 ? 0.7 : 0.85) * kMostErrorRatio)
            << what;
      }
    }
  }
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_GT(allowed[k], 5) << kWinogradKernels[k];
    EXPECT_GE(refused[k], 2) << kWinogradKernels[k];
  }
}

// Where the error is expected to be more than models are allowed, a kernel is
// no candidate.
TEST(Winograd, IsNoCandidateWhereItLosesMore) {
  const auto has = [](int64_t channels, const std::string& kernel) {
    const std::string text = Shape2D{1, channels, 64, 56, 56}.ToText();
    return std::ranges::any_of(
        CandidatesFor(text, Rewrites::kReassociate),
        [&](const Candidate& c) { return c.kernel == kernel; });
  };
  EXPECT_FALSE(has(2, kWinogradKernels[0]));
  EXPECT_TRUE(has(3, kWinogradKernels[0]));
  EXPECT_FALSE(has(16, kWinogradKernels[1]));
  EXPECT_FALSE(has(27, kWinogradKernels[1]));
  EXPECT_TRUE(has(28, kWinogradKernels[1]));
  EXPECT_TRUE(has(2048, kWinogradKernels[1]));
}

// Whatever the work is cut into.
TEST(Winograd, HasTheSameBitsForAnyThreads) {
  Shape2D shape{2, 40, 200, 30, 45};
  shape.epilogue = BiasAndResidual(shape);
  const Problem problem(shape.ToText());
  for (const int outputs : {2, 4}) {
    const Literal first = Launch(problem, WinogradName{outputs, 1}.ToString());
    for (const int threads : {2, 3, 7, 64}) {
      const std::string kernel = WinogradName{outputs, threads}.ToString();
      EXPECT_TRUE(Launch(problem, kernel) == first) << kernel;
    }
  }
}

TEST(Winograd, NamesAreParsed) {
  EXPECT_EQ(WinogradName::Parse("winograd4/12")->outputs, 4);
  EXPECT_EQ(WinogradName::Parse("winograd4/12")->threads, 12);
  for (const char* other : {"winograd3/2", "winograd4", "winograd4/0",
                            "winograd4/99999999999", "tiles", "winograd/2"}) {
    EXPECT_FALSE(WinogradName::Parse(other).has_value()) << other;
  }
}

TEST(Winograd, IsForWhatMayBeReassociated) {
  const std::string text = Shape2D{1, 64, 64, 56, 56}.ToText();
  EXPECT_EQ(WinogradCandidates(text, Rewrites::kNone), 0);
  EXPECT_EQ(WinogradCandidates(text, Rewrites::kExact), 0);
  EXPECT_EQ(WinogradCandidates(text, Rewrites::kReassociate), 2);
  EXPECT_EQ(WinogradCandidates(text, Rewrites::kFast), 2);
}

TEST(Winograd, IsForWindowsOfThreeWithWeights) {
  const auto count = [](const Shape2D& shape) {
    return WinogradCandidates(shape.ToText(), Rewrites::kFast);
  };
  const Shape2D shape{1, 64, 64, 57, 57, 0, 0, 0, 0};
  EXPECT_EQ(count(shape), 2);
  Shape2D other = shape;
  other.weights = "";
  EXPECT_EQ(count(other), 0);
  other = shape;
  other.dtype = "f64";
  EXPECT_EQ(count(other), 0);
  other = shape;
  other.dtype = "f16";
  EXPECT_EQ(count(other), 0);
}

TEST(Winograd, IsChosenWhereItPays) {
  const auto first = [](const Shape2D& shape) {
    return CandidatesFor(shape.ToText(), Rewrites::kReassociate)[0].kernel;
  };
  EXPECT_EQ(first({1, 64, 64, 56, 56}), kWinogradKernels[1]);
  EXPECT_EQ(first({1, 128, 128, 28, 28}), kWinogradKernels[1]);
  EXPECT_EQ(first({1, 256, 256, 14, 14}), kWinogradKernels[1]);
  EXPECT_EQ(first({1, 512, 512, 28, 28}), kWinogradKernels[1]);
  // Little to sum, little to do, and weights that are read for one tile.
  EXPECT_EQ(OutputsOf(first({1, 1, 64, 224, 224})), 0);
  EXPECT_EQ(OutputsOf(first({1, 16, 16, 4, 4})), 0);
  EXPECT_EQ(OutputsOf(first({1, 1024, 1024, 3, 3})), 0);
}

// By its definition, of a filter and data with other matrices of one line.
TEST(Winograd, TransformsAreThoseOfAConvolution) {
  for (const int outputs : {2, 4}) {
    const WinogradTransform t = WindowOfThree(outputs);
    const int n = t.points(), r = t.window;
    const std::vector<double> a = MatrixA(t), b = MatrixB(t), g = MatrixG(t);
    for (int i = 0; i < outputs; ++i) {
      for (int s = 0; s < r; ++s) {
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int p = 0; p < n; ++p) {
            sum += a[i * n + p] * g[p * r + s] * b[p * n + j];
          }
          EXPECT_NEAR(sum, j == i + s ? 1 : 0, 1e-14)
              << "output " << i << ", tap " << s << ", input " << j;
        }
      }
    }
  }
}

// What is infinite makes NaN of a tile, of this image and no other.
TEST(Winograd, InfinitiesStayInTheirTiles) {
  const Shape2D shape{2, 8, 8, 16, 16};
  Problem problem(shape.ToText());
  problem.inputs[0].SetDouble(5 * 16 + 5, INFINITY);
  for (const std::string& kernel : kWinogradKernels) {
    const int64_t m = OutputsOf(kernel);
    const Literal result = Launch(problem, kernel);
    for (int64_t i = 0; i < result.element_count(); ++i) {
      const int64_t y = i / 16 % 16, x = i % 16;
      // Lines and columns of the tiles that read (5, 5), from -1 on.
      const auto reads = [m](int64_t at) {
        return at / m * m - 1 <= 5 && 5 <= at / m * m + m;
      };
      const bool may = i < result.element_count() / 2 && reads(y) && reads(x);
      EXPECT_TRUE(may || std::isfinite(result.AsDouble(i))) << i;
    }
  }
}

}  // namespace
}  // namespace encore::backends::cpu
