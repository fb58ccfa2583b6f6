#include "encore/tools/latency.h"

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

}  // namespace
}  // namespace encore::tools
