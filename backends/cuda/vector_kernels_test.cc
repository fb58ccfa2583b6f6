// Rows, reductions and transposes in vectors: how many accesses they take,
// counted by the PTX interpreter, and results within the bounds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/testing/kernel_case.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

// A graph's text with T for a dtype.
std::string Of(std::string text, std::string_view dtype) {
  for (size_t at; (at = text.find('T')) != std::string::npos;) {
    text.replace(at, 1, dtype);
  }
  return text;
}

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
    // Subnormals may be rounded twice.
    if (std::fabs(expected) >= std::numeric_limits<float>::min()) {
      EXPECT_EQ(actual, expected)
          << x.AsDouble(i) << " / " << y.AsDouble(i / 512);
    } else {
      EXPECT_NEAR(actual, expected, 1.5e-45);
    }
  }
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
