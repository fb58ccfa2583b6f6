// Rows, reductions and transposes in vectors: how many accesses they take,
// counted by the PTX interpreter, and results within the bounds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/testing/kernel_case.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

// What lanes keep of a row they read and write in vectors, where these fit.
TEST(Rows, AccessVectors) {
  constexpr char kSoftmax[] =
      "graph g(%x: T[6,4096]) -> T[6,4096] {\n"
      "  %y = softmax(%x) {axis = 1}\n  return %y\n}";
  const struct {
    const char* dtype;
    uint64_t accesses;  // loads and stores of a warp, of a row of 8 warps
  } kCases[] = {{"f32", 4 + 4}, {"f16", 2 + 2}, {"bf16", 2 + 2}};
  for (const auto& [dtype, accesses] : kCases) {
    for (const bool misaligned : {false, true}) {
      const std::string text = Of(kSoftmax, dtype);
      const KernelResult result = RunAndPrint(
          {.text = text, .kernel = kLoops, .misaligned = misaligned});
      ASSERT_EQ(result.launches.size(), 1u);
      EXPECT_EQ(result.moved_bytes(), result.least_bytes);
      const uint64_t requests = result.launches[0].global_requests;
      if (misaligned) {
        EXPECT_GT(requests, 6 * 8 * accesses) << dtype;
      } else {
        EXPECT_EQ(requests, 6 * 8 * accesses) << dtype;
      }
    }
  }
}

// A row of two variables, of which lanes have groups of the inner one, with
// something of f32 beside what is narrower and something that is the same along
// the groups.
TEST(Rows, AccessVectorsAlongTheInnermost) {
  constexpr char kText[] =
      R"(graph g(%x: f16[5,24,40], %z: f32[5,24,40], %m: f32[24]) -> f32[5,24,40], f16[5,24,40] {
  %a = cast(%x) {dtype = f32}
  %b = broadcast(%m) {shape = [5,24,40], axes = [1]}
  %c = mul(%a, %b)
  %d = add(%c, %z)
  %l = reduce(%d) {axes = [1,2], combiner = max}
  %k = broadcast(%l) {shape = [5,24,40], axes = [0]}
  %e = sub(%d, %k)
  %p = exp(%e)
  %h = cast(%p) {dtype = f16}
  return %e, %h
})";
  for (const bool misaligned : {false, true}) {
    const KernelResult result = RunAndPrint(
        {.text = kText, .kernel = kLoops, .misaligned = misaligned});
    EXPECT_LE(result.moved_bytes(), 1.2 * result.least_bytes);
    EXPECT_EQ(result.bank_conflicts(), 0u);
  }
}

// Quotients by what is the same along a row, of all kinds of numbers.
TEST(Rows, DivideByTheSame) {
  constexpr char kText[] =
      R"(graph g(%x: f32[8,512], %y: f32[8]) -> f32[8,512] {
  %b = broadcast(%y) {shape = [8,512], axes = [0]}
  %q = div(%x, %b)
  return %q
})";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kSpecial[] = {0,       -0.0f,   1e-44f,    -3e-39f,    1e-35f,
                                -1e-20f, 0.1f,    -3,        7,          1e20f,
                                -3e36f,  3.4e38f, kInfinity, -kInfinity, kNan};
  constexpr float kDivisors[] = {3,     -7, 1e-40f,     -3e-37f,
                                 3e37f, 0,  -kInfinity, kNan};
  Literal x(DType::kF32, {8, 512}), y(DType::kF32, {8});
  for (int64_t i = 0; i < 8 * 512; ++i) {
    const int64_t column = i % 512;
    x.SetDouble(i, column < 15
                       ? kSpecial[column]
                       : std::ldexp(1 + column / 512.0,
                                    static_cast<int>(column % 64 - 32)));
  }
  for (int64_t i = 0; i < 8; ++i) y.SetDouble(i, kDivisors[i]);
  PlanLimits limits;
  limits.vector_points = 0;
  const KernelResult result = RunAndPrint(
      {.text = kText, .kernel = kLoops, .limits = limits, .arguments = {x, y}});
  ASSERT_EQ(result.outputs.size(), 1u);
  for (int64_t i = 0; i < 8 * 512; ++i) {
    const auto expected = static_cast<float>(x.AsDouble(i)) /
                          static_cast<float>(y.AsDouble(i / 512));
    const auto actual = static_cast<float>(result.outputs[0].AsDouble(i));
    if (expected != expected) {
      EXPECT_TRUE(actual != actual);
      continue;
    }
    EXPECT_EQ(std::signbit(actual), std::signbit(expected));
    EXPECT_EQ(actual, expected)
        << x.AsDouble(i) << " / " << y.AsDouble(i / 512);
  }
}

// Of any exponent: quotients at both ends of the range, and small remainders.
TEST(Rows, DivideByTheSameWhatever) {
  constexpr char kText[] =
      R"(graph g(%x: f32[32,512], %y: f32[32]) -> f32[32,512] {
  %b = broadcast(%y) {shape = [32,512], axes = [0]}
  %q = div(%x, %b)
  return %q
})";
  std::mt19937_64 random(11);
  const auto draw = [&random] {
    const auto bits = static_cast<uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    return std::isfinite(value) ? value : 1.0f;
  };
  Literal x(DType::kF32, {32, 512}), y(DType::kF32, {32});
  for (int64_t i = 0; i < 32; ++i) y.SetDouble(i, draw());
  y.SetDouble(0, 0x1.b1dbd8p-1);
  for (int64_t i = 0; i < 32 * 512; ++i) x.SetDouble(i, draw());
  x.SetDouble(0, 0x1.b1dbd6p+127);
  // Near the least numbers, where remainders are subnormal.
  for (int64_t i = 1; i < 512; ++i) {
    x.SetDouble(i, std::ldexp(1 + i / 512.0, -126 + static_cast<int>(i % 24)));
  }
  PlanLimits limits;
  limits.vector_points = 0;
  const KernelResult result = RunAndPrint(
      {.text = kText, .kernel = kLoops, .limits = limits, .arguments = {x, y}});
  ASSERT_EQ(result.outputs.size(), 1u);
  for (int64_t i = 0; i < 32 * 512; ++i) {
    const auto expected = static_cast<float>(x.AsDouble(i)) /
                          static_cast<float>(y.AsDouble(i / 512));
    EXPECT_EQ(static_cast<float>(result.outputs[0].AsDouble(i)), expected)
        << x.AsDouble(i) << " / " << y.AsDouble(i / 512);
  }
}

// On a tie of the narrow type, the side of which a quotient may not change.
TEST(Rows, DivideByTheSameAndRound) {
  for (const auto& [dtype, bits] : {std::pair("f16", -11), {"bf16", -8}}) {
    const std::string text = StrCat(
        "graph g(%x: f32[64,512], %y: f32[64]) -> ", dtype,
        "[64,512] {\n  %b = broadcast(%y) {shape = [64,512], axes = [0]}\n"
        "  %q = div(%x, %b)\n  %h = cast(%q) {dtype = ",
        dtype, "}\n  return %h\n}");
    Literal x(DType::kF32, {64, 512}), y(DType::kF32, {64});
    for (int64_t i = 0; i < 64; ++i) {
      const double divisor = static_cast<double>(2 * i + 3);
      y.SetDouble(i, divisor);
      for (int64_t j = 0; j < 512; ++j) {
        const double odd = static_cast<double>(2 * j + 1);
        x.SetDouble(i * 512 + j, divisor * (1 + std::ldexp(odd, bits)));
      }
    }
    RunAndPrint({.text = text, .kernel = kLoops, .arguments = {x, y}});
  }
}

// What rows have in shared memory, a bias or a scale, several stages read.
TEST(Rows, StagesShareWhatIsHeld) {
  constexpr const char* kTexts[] = {
      R"(graph g(%x: f32[64,512], %c: f32[512]) -> f32[64,512] {
  %b = broadcast(%c) {shape = [64,512], axes = [1]}
  %a = add(%x, %b)
  %y = softmax(%a) {axis = 1}
  return %y
})",
      R"(graph g(%x: f16[64,1024], %c: f16[1024], %s: f16[1024], %t: f16[1024]) -> f16[64,1024] {
  %b = broadcast(%c) {shape = [64,1024], axes = [1]}
  %a = add(%x, %b)
  %n = layer_norm(%a, %s, %t) {axis = 1}
  %y = mul(%n, %b)
  return %y
})"};
  PlanLimits limits;
  limits.teams = 1;
  for (const char* const text : kTexts) {
    RunAndPrint({.text = text, .kernel = kLoops, .limits = limits});
  }
}

// No more is asked of shared memory than a launch has: of tiles of many inputs,
// and of what rows hold beside what warps share.
TEST(Rows, FitSharedMemory) {
  std::string transposed = "graph g(", sum;
  for (int i = 0; i < 13; ++i) {
    StrAppend(&transposed, i > 0 ? ", " : "", "%x", i, ": f32[64,64]");
    StrAppend(&sum, "  %t", i, " = transpose(%x", i,
              ") {permutation = [1,0]}\n  %s", i, " = ",
              i > 0 ? StrCat("add(%s", i - 1, ", %t", i, ")") : "neg(%t0)",
              "\n");
  }
  StrAppend(&transposed, ") -> f32[64,64] {\n", sum, "  return %s12\n}");
  EXPECT_EQ(
      Message(RunCase({.text = transposed, .kernel = kTranspose}).status()),
      StrCat("no kernel ", kTranspose));
  std::string vectors = "graph g(%x: f64[64,512]", added;
  for (int i = 0; i < 13; ++i) {
    StrAppend(&vectors, ", %v", i, ": f64[512]");
    StrAppend(&added, "  %b", i, " = broadcast(%v", i,
              ") {shape = [64,512], axes = [1]}\n  %s", i, " = add(",
              i > 0 ? StrCat("%s", i - 1) : "%x", ", %b", i, ")\n");
  }
  StrAppend(&vectors, ") -> f64[64,512] {\n", added,
            "  %y = softmax(%s12) {axis = 1}\n  return %y\n}");
  PlanLimits limits;
  limits.teams = 1;
  RunAndPrint({.text = vectors, .kernel = kLoops, .limits = limits});
}

// Large ones, by units of several neighbours, whether memory is aligned to them
// or not; tiles that the sizes do not fill.
TEST(Transposes, ByUnitsOfNeighbours) {
  const struct {
    const char* dtype;
    const char* m;
    const char* n;
    uint64_t bytes;  // that a lane reads at once
  } kCases[] = {{"f32", "728", "732", 8},
                {"f16", "730", "726", 4},
                {"f16", "1444", "1460", 8},
                {"i8", "1444", "1460", 4}};
  for (const auto& [dtype, m, n, bytes] : kCases) {
    const std::string text =
        Of(StrCat("graph g(%x: T[", m, ",", n, "]) -> T[", n, ",", m,
                  "] {\n  %t = transpose(%x) {permutation = [1,0]}\n"
                  "  %r = neg(%t)\n  return %r\n}"),
           dtype);
    const std::string_view name(dtype);
    for (const bool misaligned : {false, true}) {
      const KernelResult result =
          RunAndPrint({.text = text,
                       .kernel = kTranspose,
                       .misaligned = misaligned,
                       .misalignment = name == "f32"   ? 4u
                                       : name == "f16" ? 2u
                                                       : 1u});
      EXPECT_EQ(result.moved_bytes(), result.least_bytes);
      EXPECT_EQ(result.bank_conflicts(), 0u) << dtype;
      const auto requests =
          static_cast<double>(result.launches[0].global_requests);
      const double full = result.moved_bytes() / (32.0 * bytes);
      if (misaligned) {
        EXPECT_GT(requests, 1.9 * full);
      } else {
        EXPECT_LT(requests, 1.1 * full);
      }
    }
  }
}

// 16 bytes at once, by lanes of each piece.
TEST(Reductions, AccessVectors) {
  for (const char* dtype : {"f32", "f16", "i8"}) {
    for (const bool misaligned : {false, true}) {
      const std::string text =
          Of("graph g(%x: T[2,100000]) -> T[2] {\n  %y = reduce(%x) "
             "{axes = [1], combiner = max}\n  return %y\n}",
             dtype);
      const KernelResult result = RunAndPrint(
          {.text = text,
           .kernel = kLoops,
           .misaligned = misaligned,
           .misalignment = std::string_view(dtype) == "i8" ? 1u : 8u});
      const auto requests =
          static_cast<double>(result.launches[0].global_requests);
      const double bytes = std::string_view(dtype) == "i8" ? 8 : 16;
      const double full = result.least_bytes / (32 * bytes);
      if (misaligned) {
        EXPECT_GT(requests, 1.9 * full) << dtype;
      } else {
        EXPECT_LT(requests, 1.1 * full) << dtype;
      }
    }
  }
}

// Functions of f16 that take few instructions, at all numbers: next to exact
// ones, rounded.
TEST(Functions, OfAllHalves) {
  const struct {
    const char* name;
    double (*exact)(double);
  } kFunctions[] = {
      {"exp", [](double x) { return std::exp(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }}};
  constexpr int kCount = 1 << 16;
  Literal x(DType::kF16, {kCount});
  for (int i = 0; i < kCount; ++i) {
    x.mutable_values<uint16_t>()[i] = static_cast<uint16_t>(i);
  }
  for (const auto& [name, exact] : kFunctions) {
    const KernelResult result = RunAndPrint(
        {.text = StrCat("graph g(%x: f16[65536]) -> f16[65536] {\n  %y = ",
                        name, "(%x)\n  return %y\n}"),
         .kernel = kLoops,
         .arguments = {x}});
    ASSERT_EQ(result.outputs.size(), 1u);
    for (int i = 0; i < kCount; ++i) {
      const double at = x.AsDouble(i), y = exact(at);
      const double actual = result.outputs[0].AsDouble(i);
      if (y != y) {
        EXPECT_TRUE(actual != actual) << name << " of " << at;
        continue;
      }
      if (y > 65519) {
        EXPECT_GE(actual, 65504) << name << " of " << at;
        continue;
      }
      // Units of the last place, of subnormals the smallest.
      const double unit =
          std::ldexp(1, std::max(y == 0 ? -14 : std::ilogb(y), -14) - 10);
      EXPECT_LE(std::fabs(actual - y), 0.505 * unit) << name << " of " << at;
      if (y != 0 && std::fabs(y) < unit) continue;
      EXPECT_EQ(std::signbit(actual), std::signbit(y)) << name << " of " << at;
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
