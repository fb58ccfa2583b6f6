// Generated kernels against the bounds of conformance/bounds.h: every candidate
// of the region of each graph below, on one thread and on two.
#include <cmath>
#include <cstring>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/types/float_formats.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

TEST(Kernels, Unary) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    for (const char* op :
         {"abs",        "neg",   "sign", "ceil",    "floor", "round",
          "exp",        "expm1", "log",  "log1p",   "sqrt",  "rsqrt",
          "reciprocal", "sin",   "cos",  "tan",     "asin",  "acos",
          "atan",       "sinh",  "cosh", "tanh",    "asinh", "acosh",
          "atanh",      "cbrt",  "erf",  "logistic"}) {
      CheckKernels(StrCat("graph g(%x: ", dtype, "[5,7]) -> ", dtype,
                          "[5,7] {\n  %y = ", op, "(%x)\n  return %y\n}"));
    }
  }
}

// Distance in units of the last place of f32 at `want`; 0 for equal infinities
// and two NaN.
double Ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  const float rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    return rounded == got ? 0 : INFINITY;
  }
  int exponent;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// All exponents of f32 and 150 values of each, and the special values.
std::vector<float> Samples() {
  std::vector<float> samples = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
  uint32_t seed = 1;
  for (uint32_t high = 0; high < 512; ++high) {
    if (high % 256 == 255) continue;
    for (int i = 0; i < 150; ++i) {
      seed = seed * 1664525 + 1013904223;
      const uint32_t bits = high << 23 | seed >> 9;
      samples.emplace_back();
      std::memcpy(&samples.back(), &bits, 4);
    }
  }
  // Where the results are neither 0 nor infinite.
  for (int i = -60000; i < 60000; ++i) samples.push_back(i * 0.0017f);
  return samples;
}

// What generated code gives of a function of f32.
std::vector<float> ResultsOf(std::string_view function,
                             const std::vector<std::vector<float>>& operands) {
  const size_t count = operands[0].size();
  std::string text = "graph g(", names;
  std::vector<Bytes> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string comma = i > 0 ? ", " : "";
    StrAppend(&text, comma, "%x", i, ": f32[", count, "]");
    StrAppend(&names, comma, "%x", i);
    inputs.emplace_back(count * 4);
    std::memcpy(inputs.back().data(), operands[i].data(), count * 4);
  }
  StrAppend(&text, ") -> f32[", count, "] {\n  %y = ", function, "(", names,
            ")\n  return %y\n}");
  const StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const BuiltRegion built = BuildWhole(*graph);
  const std::vector<bool> donated(operands.size());
  const KernelRequest request{&built.region, donated, {}};
  const auto output = RunCandidate(
      built.region,
      {request, CpuBackend()->Candidates(request, GeneratedOnly())[0]}, inputs,
      1);
  std::vector<float> results(count);
  std::memcpy(results.data(), output[0].data(), count * 4);
  return results;
}

TEST(Kernels, OwnFunctionsAreWithinFourUlps) {
  struct Row {
    const char* name;
    double (*reference)(double);
  };
  const std::vector<float> samples = Samples();
  const int64_t count = samples.size();
  for (const Row& row :
       {Row{"exp", std::exp},
        {"expm1", std::expm1},
        {"log", std::log},
        {"log1p", std::log1p},
        {"tanh", std::tanh},
        {"erf", std::erf},
        {"sin", std::sin},
        {"cos", std::cos},
        {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }}}) {
    SCOPED_TRACE(row.name);
    const auto results = ResultsOf(row.name, {samples});
    ASSERT_EQ(results.size(), samples.size());
    double worst = 0;
    float where = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double ulps = Ulps(results[i], row.reference(samples[i]));
      if (ulps > worst) {
        worst = ulps;
        where = samples[i];
      }
    }
    EXPECT_LE(worst, 4) << "at " << where;
    std::cout << row.name << " " << worst << " ulp at " << where << "\n";
  }
}

// Special values of both, all exponents and numbers near 1 to powers of all
// kinds.
TEST(Kernels, PowersAreWithinAnUlp) {
  std::vector<float> special = {0.0f,      -0.0f, 1.0f,   -1.0f,   INFINITY,
                                -INFINITY, NAN,   1e-45f, -1e-45f, 3.4e38f};
  for (const float number : {0.5f, 2.0f, 3.0f, 1.5f, 1e-3f, 16777216.0f,
                             16777215.0f, 1e10f, 127.0f, 149.0f}) {
    special.push_back(number);
    special.push_back(-number);
  }
  std::vector<float> x, y;
  for (const float base : special) {
    for (const float power : special) {
      x.push_back(base);
      y.push_back(power);
    }
  }
  std::vector<float> bases = Samples();
  for (int i = -20000; i < 20000; ++i) bases.push_back(1 + i * 3e-5f);
  uint32_t seed = 1;
  for (const float base : bases) {
    for (const float range : {1.0f, 8.0f, 1000.0f}) {
      seed = seed * 1664525 + 1013904223;
      const float power =
          range * (static_cast<float>(seed >> 8) / (1 << 23) - 1);
      for (const float of : {power, std::rint(power)}) {
        x.push_back(base);
        y.push_back(of);
      }
    }
  }
  const auto results = ResultsOf("pow", {x, y});
  ASSERT_EQ(results.size(), x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::pow(static_cast<double>(x[i]), y[i]);
    const double ulps = Ulps(results[i], want);
    ASSERT_LE(ulps, 1) << x[i] << " to the power of " << y[i] << ": "
                       << results[i] << ", not " << want;
    if (!std::isnan(want)) {
      ASSERT_EQ(std::signbit(results[i]), std::signbit(want))
          << x[i] << " " << y[i];
    }
    worst = std::max(worst, ulps);
  }
  std::cout << "pow " << worst << " ulp\n";
}

TEST(Kernels, Binary) {
  for (const char* dtype :
       {"f32", "f64", "f16", "bf16", "i8", "i32", "i64", "u8", "i16"}) {
    for (const char* op :
         {"add", "sub", "mul", "div", "rem", "pow", "max", "min"}) {
      CheckKernels(StrCat("graph g(%x: ", dtype, "[3,13], %z: ", dtype,
                          "[3,13]) -> ", dtype, "[3,13] {\n  %y = ", op,
                          "(%x, %z)\n  return %y\n}"));
    }
  }
  for (const char* dtype : {"i8", "i32", "i64", "u8"}) {
    for (const char* op : {"and", "or", "xor"}) {
      CheckKernels(StrCat("graph g(%x: ", dtype, "[40], %z: ", dtype,
                          "[40]) -> ", dtype, "[40] {\n  %y = ", op,
                          "(%x, %z)\n  return %y\n}"));
    }
  }
}

// Dims without elements, however far apart and many the others are.
TEST(Kernels, SumsOfNothing) {
  for (const char* operand : {"0,8,4096", "8,0,4096", "100000000,0,4"}) {
    CheckKernels(StrCat("graph g(%x: f32[", operand, "]) -> f32[",
                        std::string_view(operand).substr(
                            std::string_view(operand).rfind(',') + 1),
                        "] {\n  %y = reduce(%x) {axes = [0, 1]}\n"
                        "  return %y\n}"));
  }
  CheckKernels(
      "graph g(%x: f32[100000000,4,0]) -> f32[4] {\n"
      "  %y = reduce(%x) {axes = [0, 2]}\n  return %y\n}");
}

TEST(Kernels, Casts) {
  for (const char* from : {"bool", "i8", "i64", "u8", "f16", "f32", "f64"}) {
    for (const char* to :
         {"bool", "i8", "i32", "i64", "u8", "f16", "bf16", "f32", "f64"}) {
      CheckKernels(StrCat("graph g(%x: ", from, "[37]) -> ", to,
                          "[37] {\n  %y = cast(%x) {dtype = ", to,
                          "}\n  return %y\n}"));
    }
  }
}

// Numbers beside those that are halfway between two elements of `to`: by less
// than an f32 can say.
std::vector<double> BesideTies(DType from, DType to) {
  std::vector<double> values;
  const double half = Epsilon(to) / 2;
  const double scale = IsFloat(from) ? 1 : to == DType::kF16 ? 0x1p13 : 0x1p30;
  const double little = IsFloat(from) ? 0x1p-40 : 1;
  for (const double tie : {1 + half, 1 + 3 * half, 1.5 + half, 2 - half}) {
    for (const double off : {-little, 0.0, little}) {
      values.push_back(tie * scale + off);
      if (!IsUnsigned(from)) values.push_back(-values.back());
    }
  }
  return values;
}

TEST(Kernels, CastsRoundOnce) {
  for (const DType from :
       {DType::kF64, DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
    for (const DType to : {DType::kF16, DType::kBF16, DType::kF32}) {
      const std::vector<double> values = BesideTies(from, to);
      const auto count = static_cast<int64_t>(values.size());
      Literal argument(from, {count});
      for (int64_t i = 0; i < count; ++i) argument.SetDouble(i, values[i]);
      CheckKernels(
          StrCat("graph g(%x: ", from, "[", count, "]) -> ", to, "[", count,
                 "] {\n  %y = cast(%x) {dtype = ", to, "}\n  return %y\n}"),
          {argument});
    }
  }
}

TEST(Kernels, Movement) {
  CheckKernels(
      "graph g(%x: f32[5,6,7]) -> f32[7,5,6] {\n  %y = transpose(%x) "
      "{permutation = [2,0,1]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: i8[33,17]) -> i8[17,33] {\n  %y = transpose(%x) "
      "{permutation = [1,0]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[6,40]) -> f32[4,13] {\n  %y = slice(%x) {starts = "
      "[1,0], limits = [5,39], strides = [1,3]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[4,5], %v: f32[]) -> f32[6,12] {\n  %y = pad(%x, %v) "
      "{low = [1,2], high = [1,1], interior = [0,1]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[4,20]) -> f32[4,20] {\n  %y = reverse(%x) {axes = "
      "[1]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f16[4,20], %z: f16[4,3]) -> f16[4,23] {\n  %y = "
      "concat(%x, %z) {axis = 1}\n  return %y\n}");
}

// Elements a few apart, to the very last one that there is.
TEST(Kernels, Strides) {
  for (const char* dtype : {"f32", "f64", "f16", "i8", "i64"}) {
    for (const int stride : {2, 3, 4, 5}) {
      for (const int extent : {7, 16, 37}) {
        const int limit = (extent - 1) * stride + 1;
        CheckKernels(StrCat(
            "graph g(%x: ", dtype, "[3,", limit, "]) -> ", dtype, "[3,", extent,
            "] {\n  %y = slice(%x) {starts = [0,0], limits = "
            "[3,",
            limit, "], strides = [1,", stride, "]}\n  return %y\n}"));
      }
    }
  }
}

TEST(Kernels, Reductions) {
  for (const char* dtype : {"f32", "f64", "bf16", "i32", "i8"}) {
    for (const char* combiner : {"sum", "product", "max", "min"}) {
      for (const auto& [axes, shape] :
           {std::pair{"[0]", "[200]"}, {"[1]", "[3]"}, {"[0,1]", "[]"}}) {
        CheckKernels(StrCat("graph g(%x: ", dtype, "[3,200]) -> ", dtype, shape,
                            " {\n  %y = reduce(%x) {combiner = ", combiner,
                            ", axes = ", axes, "}\n  return %y\n}"));
      }
    }
  }
  for (const char* combiner : {"max", "min"}) {
    for (const char* last : {"true", "false"}) {
      for (const auto& [axis, extent] : {std::pair{"0", "67"}, {"1", "9"}}) {
        CheckKernels(StrCat("graph g(%x: i8[9,67]) -> i64[", extent,
                            "] {\n  %y = arg_reduce(%x) {combiner = ", combiner,
                            ", axis = ", axis, ", last = ", last,
                            ", dtype = i64}\n  return %y\n}"));
      }
    }
  }
  CheckKernels(
      "graph g(%x: f32[4,50]) -> f32[4,50] {\n  %y = cumulative(%x) "
      "{combiner = sum, axis = 1, exclusive = true, reverse = true}\n  "
      "return %y\n}");
}

TEST(Kernels, Products) {
  for (const auto& [m, k, n] : {std::tuple{1, 7, 5},
                                {13, 33, 70},
                                {37, 64, 48},
                                {64, 128, 100},
                                {1, 256, 300}}) {
    for (const char* dtype : {"f32", "f64", "f16"}) {
      CheckKernels(
          StrCat("graph g(%x: ", dtype, "[", m, ",", k, "], %w: param ", dtype,
                 "[", k, ",", n, "]) -> ", dtype, "[", m, ",", n,
                 "] {\n  %y = dot_general(%x, %w) {contract = [1]x[0]}\n  "
                 "return %y\n}"));
    }
    CheckKernels(
        StrCat("graph g(%x: f32[", m, ",", k, "], %w: param f32[", n, ",", k,
               "]) -> f32[", m, ",", n,
               "] {\n  %y = dot_general(%x, %w) {contract = [1]x[1]}\n  %z = "
               "tanh(%y)\n  return %z\n}"));
  }
}

// Behind the sum a loop over the rows of a tile: what differs by row, by column
// and by both; rows and lanes that are left over; several outputs.
TEST(Kernels, ProductsWithLongEpilogues) {
  for (const auto& [m, k, n] :
       {std::tuple{13, 32, 48}, {37, 64, 100}, {2, 64, 48}, {16, 300, 33}}) {
    const std::string type = StrCat("f32[", m, ",", n, "]");
    const auto spread = [&](std::string_view what, std::string_view axes) {
      return StrCat("  %", what, what, " = broadcast(%", what, ") {shape = [",
                    m, ",", n, "], axes = ", axes, "}\n");
    };
    CheckKernels(StrCat("graph g(%x: f32[", m, ",", k, "], %w: param f32[", k,
                        ",", n, "], %b: f32[", n, "], %c: f32[", m,
                        "], %r: ", type, ") -> (", type, ", ", type, ") {\n",
                        "  %p = dot_general(%x, %w) {contract = [1]x[0]}\n",
                        spread("b", "[1]"), spread("c", "[0]"),
                        "  %q = add(%p, %bb)\n  %s = mul(%q, %cc)\n"
                        "  %t = logistic(%s)\n  %u = mul(%s, %t)\n"
                        "  %y = add(%u, %r)\n  return %y, %t\n}"));
  }
}

TEST(Kernels, SumsOverRows) {
  for (const auto& [x, axes, y] : {std::tuple{"[70,1024]", "[0]", "[1024]"},
                                   {"[5,6,7,90]", "[0,2]", "[6,90]"}}) {
    for (const char* dtype : {"f32", "f64", "bf16"}) {
      CheckKernels(StrCat("graph g(%x: ", dtype, x, ") -> ", dtype, y,
                          " {\n  %y = reduce(%x) {axes = ", axes,
                          "}\n  return %y\n}"));
    }
  }
}

// Packed, dims come to stand side by side that do not where this is planned.
TEST(Kernels, PanelsOfScatteredDims) {
  for (const auto& [x, w, y, pairs] :
       {std::tuple{"[2,2,11,4]", "[2,2,11,2,4]", "[2,11,4,2,2,2]",
                   "batch = [1,2,3]x[0,2,4]"},
        {"[6,9,8]", "[6,20,9,8]", "[6,9,20]",
         "contract = [2]x[3], batch = [0,1]x[0,2]"}}) {
    CheckKernels(StrCat("graph g(%x: f32", x, ", %w: param f32", w, ") -> f32",
                        y, " {\n  %y = dot_general(%x, %w) {", pairs,
                        "}\n  return %y\n}"));
  }
}

TEST(Kernels, Convolutions) {
  for (const auto& [c, o, size, window, stride, pad, groups] :
       {std::tuple{3, 8, 20, 3, 2, 1, 1},
        {8, 24, 14, 3, 1, 1, 1},
        {16, 32, 7, 1, 1, 0, 1},
        {24, 24, 19, 5, 1, 2, 24},
        {24, 24, 19, 3, 2, 1, 24},
        {8, 12, 9, 3, 1, 1, 4},
        {16, 80, 7, 3, 1, 1, 1},
        {4, 33, 13, 3, 2, 0, 1},
        {32, 96, 11, 1, 2, 0, 2}}) {
    const int out = (size + 2 * pad - window) / stride + 1;
    CheckKernels(StrCat("graph g(%x: f32[2,", c, ",", size, ",", size,
                        "], %w: param f32[", o, ",", c / groups, ",", window,
                        ",", window, "]) -> f32[2,", o, ",", out, ",", out,
                        "] {\n  %y = convolution(%x, %w) {strides = [", stride,
                        ",", stride, "], padding_low = [", pad, ",", pad,
                        "], padding_high = [", pad, ",", pad,
                        "], lhs_dilation = [1,1], rhs_dilation = [1,1], "
                        "feature_groups = ",
                        groups, "}\n  return %y\n}"));
  }
}

// Windows between which, and in which, there are positions that none reads.
TEST(Kernels, WindowsThatSkip) {
  for (const auto& [window, stride, dilation] :
       {std::tuple{"1,7", 3, 2}, {"3,3", 2, 2}, {"2,5", 4, 2}, {"5,1", 3, 3}}) {
    const int high = window[0] - '1', wide = window[2] - '1';
    const int lines = (29 + 2 - high * dilation - 1) / stride + 1;
    const int columns = (61 + 4 - wide * dilation - 1) / stride + 1;
    CheckKernels(StrCat(
        "graph g(%x: f32[2,3,29,61], %w: param f32[3,1,", window,
        "]) -> f32[2,3,", lines, ",", columns,
        "] {\n  %y = convolution(%x, %w) {strides = [", stride, ",", stride,
        "], padding_low = [1,2], padding_high = [1,2], lhs_dilation = [1,1], "
        "rhs_dilation = [",
        dilation, ",", dilation, "], feature_groups = 3}\n  return %y\n}"));
  }
}

TEST(Kernels, RepeatedElements) {
  for (const char* dtype : {"f32", "f64", "f16", "i8"}) {
    for (const int times : {2, 3, 4, 8, 16}) {
      const int width = 21 * times;
      CheckKernels(
          StrCat("graph g(%x: ", dtype, "[2,5,21], %z: ", dtype, "[2,5,", width,
                 "]) -> ", dtype, "[2,5,", width,
                 "] {\n  %b = broadcast(%x) {shape = [2,5,21,", times,
                 "], axes = [0,1,2]}\n  %r = reshape(%b) {shape = [2,5,", width,
                 "]}\n  %y = add(%r, %z)\n  return %y\n}"));
    }
  }
}

TEST(Kernels, StagedFactors) {
  // Windows of one and three dims, dilated and transposed.
  for (const char* text :
       {"graph g(%x: f32[2,24,50], %w: param f32[40,24,5]) -> f32[2,40,46] {\n"
        "  %y = convolution(%x, %w) {strides = [1], padding_low = [0], "
        "padding_high = [0], lhs_dilation = [1], rhs_dilation = [1], "
        "feature_groups = 1}\n  return %y\n}",
        "graph g(%x: f32[1,6,5,7,6], %w: param f32[20,6,3,2,3]) -> "
        "f32[1,20,5,6,4] {\n"
        "  %y = convolution(%x, %w) {strides = [1,1,1], padding_low = [1,0,1], "
        "padding_high = [1,0,1], lhs_dilation = [1,1,1], rhs_dilation = "
        "[1,1,2], feature_groups = 1}\n  return %y\n}",
        "graph g(%x: f32[1,8,6,9], %w: param f32[24,8,3,3]) -> "
        "f32[1,24,12,18] {\n"
        "  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], "
        "padding_high = [2,2], lhs_dilation = [2,2], rhs_dilation = [1,1], "
        "feature_groups = 1}\n  return %y\n}",
        // Windows of single channels: dilated, far strides, doubles.
        "graph g(%x: f32[2,6,40,37], %w: param f32[6,1,3,5]) -> "
        "f32[2,6,13,15] {\n"
        "  %y = convolution(%x, %w) {strides = [3,2], padding_low = [1,0], "
        "padding_high = [0,1], lhs_dilation = [1,1], rhs_dilation = [2,2], "
        "feature_groups = 6}\n  return %y\n}",
        "graph g(%x: f64[1,5,30,70], %w: param f64[5,1,3,3]) -> "
        "f64[1,5,30,70] {\n"
        "  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], "
        "padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1], "
        "feature_groups = 5}\n  return %y\n}",
        // A transposed operand, and both operands with several dims.
        "graph g(%x: f32[3,40,16], %z: f32[3,50,16]) -> f32[3,40,50] {\n  %y = "
        "dot_general(%x, %z) {contract = [2]x[2], batch = [0]x[0]}\n  return "
        "%y\n}",
        "graph g(%x: f64[30,16], %z: f64[50,16]) -> f64[30,50] {\n  %y = "
        "dot_general(%x, %z) {contract = [1]x[1]}\n  return %y\n}",
        "graph g(%x: f32[2,9,16], %w: param f32[16,3,20]) -> f32[2,9,3,20] {\n "
        " %y = dot_general(%x, %w) {contract = [2]x[0]}\n  return %y\n}"}) {
    CheckKernels(text);
  }
}

}  // namespace
}  // namespace encore::backends::cpu
