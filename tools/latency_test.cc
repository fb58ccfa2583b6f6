#include "encore/tools/latency.h"

#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace encore::tools {
namespace {

TEST(Times, FewAreAllKept) {
  Times times;
  for (const double time : {5.0, 1.0, 4.0, 2.0, 3.0}) times.Add(time);
  EXPECT_EQ(times.count(), 5);
  const Latency latency = times.Percentiles();
  EXPECT_EQ(latency.min, 1);
  EXPECT_EQ(latency.median, 3);
  EXPECT_EQ(latency.p99, 5);
}

TEST(Times, ManyTakeBoundedMemory) {
  constexpr int kCount = 5'000'000;
  Times times, doubled;
  // The least is not among those that are kept.
  for (int i = 0; i < kCount; ++i) {
    times.Add(i == 1 ? -1.0 : i);
    doubled.Add(2.0 * i);
  }
  EXPECT_EQ(times.count(), kCount);
  EXPECT_LT(times.kept().size(), Times::kMost);
  EXPECT_GE(times.kept().size(), Times::kMost / 2);
  const Latency latency = times.Percentiles();
  EXPECT_EQ(latency.min, -1);
  EXPECT_NEAR(latency.median, kCount * 0.5, kCount * 1e-4);
  EXPECT_NEAR(latency.p90, kCount * 0.9, kCount * 1e-4);
  EXPECT_NEAR(latency.p99, kCount * 0.99, kCount * 1e-4);
  ASSERT_EQ(times.kept().size(), doubled.kept().size());
  for (size_t i = 0; i < times.kept().size(); ++i) {
    ASSERT_EQ(doubled.kept()[i], 2 * times.kept()[i]);
  }
}

// Ranks of the tables of the sign test, two-sided, 0.05; the same in
// tests/benchmarks/paired_test.py.
TEST(MedianWithInterval, RanksAreThoseOfTheTables) {
  const std::vector<std::pair<int, int>> table = {
      {6, 1},  {8, 1},  {9, 2},   {11, 2},  {12, 3},
      {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
  for (const auto& [count, rank] : table) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back((i * 7 + 3) % count + 1);
    const MedianInterval found = MedianWithInterval(values);
    EXPECT_EQ(found.low, rank) << count;
    EXPECT_EQ(found.high, count + 1 - rank) << count;
    EXPECT_EQ(found.median, (count + 1) / 2.0) << count;
  }
}

TEST(MedianWithInterval, FewValuesHaveNone) {
  const MedianInterval found = MedianWithInterval({3, 1, 2});
  EXPECT_EQ(found.median, 2);
  EXPECT_TRUE(std::isinf(found.low) && found.low < 0);
  EXPECT_TRUE(std::isinf(found.high) && found.high > 0);
  EXPECT_TRUE(std::isinf(MedianWithInterval({1, 2, 3, 4, 5}).low));
}

// Many values: the normal distribution's ranks, n / 2 - 1.96 sqrt(n) / 2.
TEST(MedianWithInterval, ManyValues) {
  constexpr int kCount = 1 << 20;
  std::vector<double> values;
  for (int i = 0; i < kCount; ++i) values.push_back(i);
  const MedianInterval found = MedianWithInterval(std::move(values));
  EXPECT_NEAR(found.low, kCount / 2 - 0.98 * 1024, 3);
  EXPECT_NEAR(found.high, kCount / 2 + 0.98 * 1024, 3);
}

}  // namespace
}  // namespace encore::tools
