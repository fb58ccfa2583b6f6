// Plain C++ on the device, compiled for three targets: functions of its
// library, calls, branches, local arrays, wide integers, half floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/testing/device.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

class MathKernelsTest : public testing::TestWithParam<std::string> {
 protected:
  MathKernelsTest() : device_(ReadTestData(GetParam())) {}

  template <typename... Arguments>
  void Run(std::string_view kernel, uint32_t threads, Arguments... arguments) {
    const Status status =
        device_.Run(kernel, {1, 1, 1}, {threads, 1, 1}, arguments...);
    ASSERT_TRUE(status.ok()) << status;
  }

  TestDevice device_;
};

template <typename T>
std::vector<T> Points() {
  return {0.25, -0.5, 1.0, -1.75, 2.5, 3.141592, -6.5, 10.0, 0.001, -25.0};
}

TEST_P(MathKernelsTest, FunctionsOfF32) {
  const auto points = Points<float>();
  const auto count = static_cast<int>(points.size());
  const Buffer x = device_.Add(points);
  const Buffer y = device_.Add(std::vector<float>(16 * points.size()));
  Run("functions_f32", 32, x, y, count);
  const auto out = device_.Get<float>(y);
  for (int i = 0; i < count; ++i) {
    const double v = points[i], m = std::fabs(v);
    const double expected[16] = {std::exp(v),
                                 std::sin(v),
                                 std::cos(v),
                                 std::tanh(v),
                                 std::erf(v),
                                 std::log(m + 0.5),
                                 std::log1p(m),
                                 std::pow(m, 1.7),
                                 1 / std::sqrt(m + 0.1),
                                 v / 3,
                                 std::fmod(v, double{0.7f}),
                                 std::rint(points[i] * 10),
                                 std::atan2(v, 2),
                                 std::cbrt(v),
                                 std::sqrt(m),
                                 std::floor(v) + std::ceil(v) + std::trunc(v)};
    for (int f = 0; f < 16; ++f) {
      EXPECT_NEAR(out[16 * i + f], expected[f],
                  1e-6 * std::max(1.0, std::fabs(expected[f])))
          << "function " << f << " of " << v;
    }
  }
}

TEST_P(MathKernelsTest, FunctionsOfF64) {
  const auto points = Points<double>();
  const auto count = static_cast<int>(points.size());
  const Buffer x = device_.Add(points);
  const Buffer y = device_.Add(std::vector<double>(8 * points.size()));
  Run("functions_f64", 32, x, y, count);
  const auto out = device_.Get<double>(y);
  for (int i = 0; i < count; ++i) {
    const double v = points[i], m = std::fabs(v);
    const double expected[8] = {
        std::exp(v),      std::sin(v), std::tanh(v), std::log(m + 0.5),
        std::pow(m, 1.7), v / 3,       std::sqrt(m), std::erf(v)};
    for (int f = 0; f < 8; ++f) {
      EXPECT_NEAR(out[8 * i + f], expected[f],
                  1e-14 * std::max(1.0, std::fabs(expected[f])))
          << "function " << f << " of " << v;
    }
  }
}

TEST_P(MathKernelsTest, Calls) {
  std::vector<int32_t> values(40), expected;
  for (int i = 0; i < 40; ++i) values[i] = 1 + i * 7;
  for (int n : values) {
    int largest = n, steps = 0;
    for (; n != 1; ++steps) {
      n = n % 2 == 0 ? n / 2 : 3 * n + 1;
      largest = std::max(largest, n);
    }
    expected.insert(expected.end(), {largest, steps});
  }
  const Buffer x = device_.Add(values);
  const Buffer y = device_.Add(std::vector<int32_t>(80));
  Run("calls", 40, x, y);
  EXPECT_EQ(device_.Get<int32_t>(y), expected);
}

TEST_P(MathKernelsTest, Branches) {
  std::vector<uint32_t> values(50), expected(50);
  for (uint32_t i = 0; i < 50; ++i) {
    const uint32_t v = values[i] = i * 0x01234567u + 0x89abcdefu;
    uint32_t reversed = 0;
    for (int b = 0; b < 32; ++b) reversed |= (v >> b & 1) << (31 - b);
    uint8_t bytes[8];
    for (int b = 0; b < 4; ++b) {
      bytes[b] = static_cast<uint8_t>(v >> 8 * b);
      bytes[4 + b] = static_cast<uint8_t>((v + 1) >> 8 * b);
    }
    const uint32_t choices[10] = {
        v * 3 + 1,
        v ^ 0x55555555u,
        reversed,
        static_cast<uint32_t>(std::popcount(v) + std::countl_zero(v)),
        v / 7,
        ~v << 5 | v >> 27,
        uint32_t{bytes[3]} << 24 | uint32_t{bytes[1]} << 16 |
            uint32_t{bytes[7]} << 8 | bytes[5],
        v % 11,
        static_cast<uint32_t>(uint64_t{v} * 0x9e3779b9u >> 32),
        0};
    expected[i] = choices[i % 10];
  }
  const Buffer x = device_.Add(values);
  const Buffer y = device_.Add(std::vector<uint32_t>(50));
  Run("branches", 50, x, y);
  EXPECT_EQ(device_.Get<uint32_t>(y), expected);
}

TEST_P(MathKernelsTest, LocalArraysAndVariables) {
  std::vector<int32_t> indices(20 * 4);
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = static_cast<int>(i * i % 8);
  }
  std::vector<float> expected;
  for (int t = 0; t < 20; ++t) {
    const float weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    float values[8];
    for (int i = 0; i < 8; ++i) values[i] = static_cast<float>(i * i);
    const int* at = indices.data() + t * 4;
    for (int i = 0; i < 4; ++i) values[at[i] & 7] += weights[i + at[i] % 4];
    float sum = 0;
    for (int i = 0; i < 8; ++i) {
      sum += values[(at[0] + i) & 7] * static_cast<float>(i + 1);
    }
    expected.push_back(sum);
  }
  const Buffer x = device_.Add(indices);
  const Buffer y = device_.Add(std::vector<float>(20));
  Run("local_arrays", 20, x, y);
  EXPECT_EQ(device_.Get<float>(y), expected);
  const auto visits = device_.module()->FindVariable("visits");
  ASSERT_TRUE(visits.has_value());
  int32_t found;
  std::memcpy(&found, visits->bytes.data(), sizeof(found));
  EXPECT_EQ(found, 25);
}

TEST_P(MathKernelsTest, WideIntegers) {
  using Wide = unsigned __int128;
  std::vector<uint64_t> values, expected;
  for (uint64_t i = 0; i < 16; ++i) {
    values.push_back(i * 0x123456789abcdefu);
    values.push_back(~i * 0xfedcba987654321u);
    const Wide a = static_cast<Wide>(values[2 * i]) << 64 | values[2 * i + 1];
    const Wide b = a * a + (a >> 3) - 12345;
    expected.push_back(static_cast<uint64_t>(b >> 64));
    expected.push_back(static_cast<uint64_t>(b));
  }
  const Buffer x = device_.Add(values);
  const Buffer y = device_.Add(std::vector<uint64_t>(32));
  Run("wide", 16, x, y);
  EXPECT_EQ(device_.Get<uint64_t>(y), expected);
}

TEST_P(MathKernelsTest, Halves) {
  const auto run = [](DType dtype, bool greatest, std::vector<uint16_t>* in) {
    std::vector<uint16_t> out;
    const int digits = SignificandBits(dtype);
    for (int i = 0; i < 64; ++i) {
      // Few digits, so that a double holds v * v + w exactly.
      const double v = std::ldexp(i - 31, 2 - digits / 2);
      const double w = greatest ? std::max(v, 0.25) : std::min(v, 0.25);
      in->push_back(EncodeFloat(dtype, v));
      out.push_back(EncodeFloat(dtype, v * v + w));
    }
    return out;
  };
  std::vector<uint16_t> in, in_brain;
  const auto half = run(DType::kF16, true, &in);
  const auto brain = run(DType::kBF16, false, &in_brain);
  const Buffer x = device_.Add(in), u = device_.Add(in_brain);
  const Buffer y = device_.Add(std::vector<uint16_t>(64));
  const Buffer v = device_.Add(std::vector<uint16_t>(64));
  Run("halves", 32, x, y, u, v);
  EXPECT_EQ(device_.Get<uint16_t>(y), half);
  EXPECT_EQ(device_.Get<uint16_t>(v), brain);
}

TEST_P(MathKernelsTest, LanesWithEqualKeys) {
  std::vector<int32_t> keys(96), expected(10);
  for (int i = 0; i < 96; ++i) ++expected[keys[i] = i * i % 10];
  const Buffer x = device_.Add(keys);
  const Buffer y = device_.Add(std::vector<int32_t>(10));
  Run("aggregate", 96, x, y);
  EXPECT_EQ(device_.Get<int32_t>(y), expected);
}

TEST_P(MathKernelsTest, Votes) {
  std::vector<int32_t> values(64), expected(64);
  for (int i = 0; i < 64; ++i) values[i] = i * 3 % 41;
  const auto above =
      std::count_if(values.begin(), values.end(), [](int v) { return v > 20; });
  const auto seven = std::count(values.begin(), values.end(), 7) > 0;
  for (int i = 0; i < 64; ++i) {
    const auto first = values.begin() + i / 32 * 32;
    const auto odd =
        std::count_if(first, first + 32, [](int v) { return v % 2 != 0; });
    expected[i] =
        static_cast<int>(odd + 100 + (seven ? 1000 : 0) + 10000 * above);
  }
  const Buffer x = device_.Add(values);
  const Buffer y = device_.Add(std::vector<int32_t>(64));
  Run("votes", 64, x, y);
  EXPECT_EQ(device_.Get<int32_t>(y), expected);
}

INSTANTIATE_TEST_SUITE_P(Targets, MathKernelsTest,
                         testing::Values("math.ptx", "math.sm_90a.ptx",
                                         "math.sm_100a.ptx"));

}  // namespace
}  // namespace encore::ptx
