#include "encore/backends/cpu/fit/drawn_kernels.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string_view>
#include <utility>

#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

// Multiply-adds of a kernel, and elements of a tensor.
constexpr double kMostWork = 1.5e9;
constexpr int64_t kMostElements = int64_t{1} << 23;
constexpr double kLeastWork = 2e4;
// Of a convolution on a large map.
constexpr double kMostWorkOfMap = 6e9;
constexpr int64_t kMostElementsOfMap = int64_t{1} << 24;
constexpr int64_t kLeastElementsOfMap = int64_t{1} << 20;

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  DrawnKernel Next(int number) {
    switch (number % 8) {
      case 0:
      case 4:
        return Product();
      case 1:
      case 3:
      case 5:
        return Convolution();
      case 2:
        return MapConvolution();
      case 6:
        return Reduction();
      default:
        return Elementwise();
    }
  }

 private:
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(
                       random_() % static_cast<uint64_t>(most - least + 1));
  }
  template <typename T>
  T Of(std::initializer_list<T> list) {
    return *(list.begin() + Between(0, static_cast<int64_t>(list.size()) - 1));
  }
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  // From least to most, evenly by logarithm, half of them multiples of 8.
  int64_t Size(int64_t least, int64_t most) {
    const double unit = static_cast<double>(Between(0, 1 << 20)) / (1 << 20);
    const double ratio = static_cast<double>(most) / static_cast<double>(least);
    auto size = static_cast<int64_t>(
        std::llround(static_cast<double>(least) * std::pow(ratio, unit)));
    if (size >= 8 && Chance(60)) size = size / 8 * 8;
    return size;
  }

  DrawnKernel Product() {
    for (;;) {
      const int64_t batch = Chance(30) ? Size(2, 32) : 1;
      const bool weights = batch == 1 && Chance(75);
      const int64_t m = Chance(25) ? Between(1, 4) : Size(1, 1024);
      const int64_t k = Size(16, 4096), n = Size(16, 4096);
      const double work =
          static_cast<double>(batch * m) * static_cast<double>(k * n);
      if (work > kMostWork || work < kLeastWork ||
          batch * k * n > kMostElements) {
        continue;
      }
      // Whether the second factor lies with its rows along the sum.
      const bool turned = Chance(50);
      const std::string lead = batch > 1 ? StrCat(batch, ",") : "";
      const int first = batch > 1 ? 1 : 0;
      const std::string contract =
          StrCat("[", first + 1, "]x[", turned ? first + 1 : first, "]");
      const bool bias = weights && Chance(60);
      std::string text = StrCat(
          "graph g(%x: f32[", lead, m, ",", k,
          "], %w: ", weights ? "param " : "", "f32[", lead, turned ? n : k, ",",
          turned ? k : n, "]", bias ? StrCat(", %b: param f32[", n, "]") : "",
          ") {\n  %d = dot_general(%x, %w) {contract = ", contract,
          batch > 1 ? ", batch = [0]x[0]" : "", "}\n");
      if (bias) {
        StrAppend(&text, "  %c = broadcast(%b) {shape = [", m, ",", n,
                  "], axes = [1]}\n  %s = add(%d, %c)\n");
      }
      StrAppend(&text, "  %y = abs(", bias ? "%s" : "%d", ")\n  return %y\n}");
      return {"product",
              StrCat("product ", batch, " x ", m, "x", k, "x", n,
                     weights ? " weights" : "", turned ? " turned" : ""),
              std::move(text)};
    }
  }

  struct Conv {
    int64_t images = 1, channels = 1, rows = 1, height = 1, width = 1;
    int64_t window_height = 1, window_width = 1, stride = 1, groups = 1;

    int64_t top() const { return window_height / 2; }
    int64_t left() const { return window_width / 2; }
    int64_t points() const {
      const int64_t lines = (height + 2 * top() - window_height) / stride + 1;
      const int64_t columns = (width + 2 * left() - window_width) / stride + 1;
      return images * lines * columns;
    }
    // Of the larger one of source and result.
    int64_t elements() const {
      return std::max(images * channels * height * width, points() * rows);
    }
    double work() const {
      return static_cast<double>(points() * rows) *
             static_cast<double>(channels / groups * window_height *
                                 window_width);
    }
  };

  Conv DrawConvolution() {
    Conv c;
    c.images = Chance(85) ? 1 : Between(2, 8);
    c.channels = Size(3, 1024);
    c.rows = Size(3, 1024);
    c.height = Size(4, 256);
    c.width = Chance(80) ? c.height : Size(4, 256);
    const int64_t window = Of<int64_t>({1, 1, 1, 3, 3, 3, 3, 5, 7});
    c.window_height = c.window_width = window;
    if (Chance(10)) {
      c.height = c.window_height = 1;
      c.width = Size(16, 4096);
    }
    c.stride = c.height > 1 && Chance(25) ? 2 : 1;
    c.groups = 1;
    if (Chance(20) && c.window_width > 1) {
      c.groups = c.rows = c.channels;
    } else if (Chance(10)) {
      c.groups = Of<int64_t>({2, 3, 4, 8, 32});
      c.channels = RoundUp(c.channels, c.groups);
      c.rows = RoundUp(c.rows, c.groups);
    }
    return c;
  }

  DrawnKernel Convolution() {
    for (;;) {
      const Conv c = DrawConvolution();
      if (c.work() > kMostWork || c.work() < kLeastWork ||
          c.elements() > kMostElements) {
        continue;
      }
      return OfConvolution("convolution", c);
    }
  }

  // Whose channels lie pages apart, often a power of two of them.
  DrawnKernel MapConvolution() {
    for (;;) {
      Conv c;
      c.channels = Size(16, 2048);
      c.rows = Size(8, 1024);
      c.height = Chance(60) ? Of<int64_t>({32, 64, 128, 256}) : Size(24, 320);
      c.width = Chance(80) ? c.height : Size(24, 320);
      c.window_height = c.window_width = Of<int64_t>({1, 1, 3});
      if (Chance(20)) c.stride = 2;
      if (c.work() > kMostWorkOfMap || c.elements() > kMostElementsOfMap ||
          c.elements() < kLeastElementsOfMap) {
        continue;
      }
      return OfConvolution("map", c);
    }
  }

  DrawnKernel OfConvolution(std::string kind, const Conv& c) {
    const std::string_view end = Chance(70) ? "abs" : "logistic";
    return {
        std::move(kind),
        StrCat("convolution ", c.images, " x ", c.channels, "-", c.rows, " ",
               c.height, "x", c.width, " ", c.window_height, "x",
               c.window_width, " stride ", c.stride, " groups ", c.groups),
        StrCat("graph g(%x: f32[", c.images, ",", c.channels, ",", c.height,
               ",", c.width, "], %w: param f32[", c.rows, ",",
               c.channels / c.groups, ",", c.window_height, ",", c.window_width,
               "]) {\n  %d = convolution(%x, %w) ", "{strides = [", c.stride,
               ",", c.stride, "], padding_low = [", c.top(), ",", c.left(),
               "], padding_high = [", c.top(), ",", c.left(),
               "], lhs_dilation = [1,1], rhs_dilation = [1,1], ",
               "feature_groups = ", c.groups, "}\n  %y = ", end,
               "(%d)\n  return %y\n}")};
  }

  DrawnKernel Reduction() {
    for (;;) {
      const int64_t rows = Size(1, 16384), columns = Size(4, 16384);
      const int64_t elements = rows * columns;
      if (elements > kMostElements / 2 || elements < 256) continue;
      const std::string shape = StrCat("[", rows, ",", columns, "]");
      const int64_t dim = Between(0, 1);
      const std::string_view op = Of<std::string_view>({"sum", "max", "min"});
      const std::string_view before =
          Of<std::string_view>({"abs", "exp", "tanh", "neg"});
      return {"reduction",
              StrCat("reduction ", op, " of ", before, " ", rows, "x", columns,
                     " along ", dim),
              StrCat("graph g(%x: f32", shape, ") {\n  %a = ", before,
                     "(%x)\n  %y = reduce(%a) {axes = [", dim,
                     "], combiner = ", op, "}\n  return %y\n}")};
    }
  }

  DrawnKernel Elementwise() {
    const int64_t rows = Size(1, 4096), columns = Size(16, 2048);
    const std::string shape = StrCat("[", rows, ",", columns, "]");
    const std::string_view op =
        Of<std::string_view>({"add", "mul", "max", "div"});
    const std::string_view after =
        Of<std::string_view>({"abs", "exp", "tanh", "logistic", "sqrt", "neg"});
    const bool turned = Chance(25);
    std::string text =
        StrCat("graph g(%x: f32", shape, ", %z: f32",
               turned ? StrCat("[", columns, ",", rows, "]") : shape, ") {\n");
    if (turned) {
      StrAppend(&text, "  %t = transpose(%z) {permutation = [1,0]}\n");
    }
    StrAppend(&text, "  %a = ", op, "(%x, ", turned ? "%t" : "%z",
              ")\n  %y = ", after, "(%a)\n  return %y\n}");
    return {"elementwise",
            StrCat("elementwise ", op, " ", after, " ", rows, "x", columns,
                   turned ? " transposed" : ""),
            std::move(text)};
  }

  std::mt19937_64 random_;
};

}  // namespace

std::vector<DrawnKernel> DrawKernels(int count, uint64_t seed) {
  Drawer drawer(seed);
  std::vector<DrawnKernel> kernels;
  for (int i = 0; i < count; ++i) kernels.push_back(drawer.Next(i));
  return kernels;
}

}  // namespace encore::backends::cpu
