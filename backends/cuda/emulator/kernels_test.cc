// Whole kernels, compiled from testdata/*.cu by testdata/make, against code of
// the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/testing/device.h"
#include "encore/backends/cuda/emulator/types.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

// Whole numbers from -8 to 8, whose sums are exact.
std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(state >> 24) % 17 - 8);
  }
  return values;
}

std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (const float value : values) {
    halves.push_back(EncodeFloat(DType::kF16, value));
  }
  return halves;
}

class KernelsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(KernelsTest, VectorAdd) {
  TestDevice device(ReadTestData("vector_add.ptx"));
  device.options().seed = GetParam();
  constexpr int kCount = 1000;
  const auto a = Numbers(kCount, 1), b = Numbers(kCount, 2);
  const Buffer x = device.Add(a), y = device.Add(b);
  const Buffer z = device.Add(std::vector<float>(kCount));
  const Status status =
      device.Run("vector_add", {4, 1, 1}, {256, 1, 1}, x, y, z, kCount);
  ASSERT_TRUE(status.ok()) << status;
  const auto sums = device.Get<float>(z);
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(sums[i], a[i] + b[i]) << i;
  EXPECT_EQ(device.counters().bytes_read[static_cast<size_t>(Space::kGlobal)],
            2u * 4 * kCount);
  EXPECT_EQ(
      device.counters().bytes_written[static_cast<size_t>(Space::kGlobal)],
      4u * kCount);
  // 31 warps and 8 lanes, three accesses each.
  EXPECT_EQ(device.counters().global_requests, 3u * 32);
  EXPECT_EQ(device.counters().global_sectors, 3u * (31 * 4 + 1));
}

TEST_P(KernelsTest, ReduceSum) {
  TestDevice device(ReadTestData("reduce_sum.ptx"));
  device.options().seed = GetParam();
  constexpr int kCount = 10000;
  const auto values = Numbers(kCount, 3);
  const Buffer x = device.Add(values), sum = device.Add(std::vector<float>(1));
  const Status status =
      device.Run("reduce_sum", {6, 1, 1}, {256, 1, 1}, x, sum, kCount);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(device.Get<float>(sum)[0],
            std::accumulate(values.begin(), values.end(), 0.0f));
}

TEST_P(KernelsTest, Transpose) {
  TestDevice device(ReadTestData("transpose.ptx"));
  device.options().seed = GetParam();
  constexpr int kRows = 70, kCols = 45;
  const auto values = Numbers(kRows * kCols, 4);
  const Buffer x = device.Add(values);
  const Buffer y = device.Add(std::vector<float>(kRows * kCols));
  const Status status =
      device.Run("transpose", {2, 3, 1}, {32, 8, 1}, x, y, kRows, kCols);
  ASSERT_TRUE(status.ok()) << status;
  const auto out = device.Get<float>(y);
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) {
      ASSERT_EQ(out[c * kRows + r], values[r * kCols + c]) << r << " " << c;
    }
  }
  EXPECT_EQ(device.counters().BankConflicts(), 0u);
}

TEST_P(KernelsTest, LargeVectorAdd) {
  TestDevice device(ReadTestData("vector_add.ptx"));
  device.options().seed = GetParam();
  constexpr int kCount = 100000;
  const auto a = Numbers(kCount, 1);
  const Buffer x = device.Add(a);
  const Buffer z = device.Add(std::vector<float>(kCount));
  const Status status = device.Run("vector_add", {(kCount + 255) / 256, 1, 1},
                                   {256, 1, 1}, x, x, z, kCount);
  ASSERT_TRUE(status.ok()) << status;
  const auto sums = device.Get<float>(z);
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(sums[i], 2 * a[i]) << i;
}

void CheckSoftmax(std::string_view file, uint64_t seed) {
  TestDevice device(ReadTestData(file));
  device.options().seed = seed;
  constexpr int kRows = 5, kColumns = 300;
  const auto values = Numbers(kRows * kColumns, 5);
  const Buffer x = device.Add(Halves(values));
  const Buffer y = device.Add(std::vector<uint16_t>(kRows * kColumns));
  const Status status =
      device.Run("softmax", {kRows, 1, 1}, {128, 1, 1}, x, y, kColumns);
  ASSERT_TRUE(status.ok()) << status;
  const auto out = device.Get<uint16_t>(y);
  for (int r = 0; r < kRows; ++r) {
    const float* row = values.data() + r * kColumns;
    const float largest = *std::max_element(row, row + kColumns);
    double sum = 0;
    for (int c = 0; c < kColumns; ++c) sum += std::exp(row[c] - largest);
    for (int c = 0; c < kColumns; ++c) {
      const double expected = std::exp(row[c] - largest) / sum;
      const double found = DecodeFloat(DType::kF16, out[r * kColumns + c]);
      ASSERT_NEAR(found, expected, 1e-7 + expected * 0x1p-9) << r << " " << c;
    }
  }
}

void CheckMatmul(std::string_view file, uint64_t seed) {
  TestDevice device(ReadTestData(file));
  device.options().seed = seed;
  constexpr int kM = 128, kN = 64, kK = 96;
  const auto a = Numbers(kM * kK, 6), b = Numbers(kK * kN, 7);
  const Buffer x = device.Add(Halves(a)), y = device.Add(Halves(b));
  const Buffer z = device.Add(std::vector<float>(kM * kN));
  const Status status =
      device.Run("matmul", {kN / 64, kM / 64, 1}, {128, 1, 1}, x, y, z, kN, kK);
  ASSERT_TRUE(status.ok()) << status;
  const auto out = device.Get<float>(z);
  for (int r = 0; r < kM; ++r) {
    for (int c = 0; c < kN; ++c) {
      float sum = 0;
      for (int i = 0; i < kK; ++i) sum += a[r * kK + i] * b[i * kN + c];
      ASSERT_EQ(out[r * kN + c], sum) << r << " " << c;
    }
  }
}

TEST_P(KernelsTest, Softmax) {
  CheckSoftmax("softmax.ptx", GetParam());
  CheckSoftmax("softmax.sm_90a.ptx", GetParam());
  CheckSoftmax("softmax.sm_100a.ptx", GetParam());
}

TEST_P(KernelsTest, Matmul) {
  CheckMatmul("matmul.ptx", GetParam());
  CheckMatmul("matmul.sm_90a.ptx", GetParam());
  CheckMatmul("matmul.sm_100a.ptx", GetParam());
}

TEST_P(KernelsTest, Histogram) {
  TestDevice device(ReadTestData("histogram.ptx"));
  device.options().seed = GetParam();
  constexpr int kCount = 5000;
  std::vector<uint8_t> values(kCount);
  std::vector<uint32_t> expected(256);
  for (int i = 0; i < kCount; ++i) {
    values[i] = static_cast<uint8_t>(i * i / 7);
    ++expected[values[i]];
  }
  const Buffer x = device.Add(values);
  const Buffer counts = device.Add(std::vector<uint32_t>(256));
  const Status status =
      device.Run("histogram", {4, 1, 1}, {160, 1, 1}, x, counts, kCount);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(device.Get<uint32_t>(counts), expected);
}

TEST_P(KernelsTest, ScanOverBlocksThatWaitForEachOther) {
  TestDevice device(ReadTestData("scan.ptx"));
  device.options().seed = GetParam();
  constexpr int kCount = 1500;
  std::vector<int32_t> values(kCount), expected(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = i * 37 % 101 - 50;
  std::partial_sum(values.begin(), values.end(), expected.begin());
  const Buffer x = device.Add(values);
  const Buffer y = device.Add(std::vector<int32_t>(kCount));
  const Buffer sums = device.Add(std::vector<int32_t>(12));
  const Buffer flags = device.Add(std::vector<int32_t>(12));
  const Status status =
      device.Run("scan", {12, 1, 1}, {128, 1, 1}, x, y, sums, flags, kCount);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(device.Get<int32_t>(y), expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KernelsTest, testing::Values(0, 1, 2, 3, 77));

}  // namespace
}  // namespace encore::ptx
