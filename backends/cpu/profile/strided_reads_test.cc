#include "encore/backends/cpu/profile/strided_reads.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "encore/backends/cpu/machine.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

using Step = StridedReads::Step;

// The lines that the loops read, one by one.
std::set<int64_t> LinesOf(const std::vector<Step>& steps, int64_t width) {
  std::vector<int64_t> starts = {0};
  for (const Step& step : steps) {
    std::vector<int64_t> next;
    for (const int64_t start : starts) {
      for (int64_t i = 0; i < step.extent; ++i) {
        next.push_back(start + i * step.bytes);
      }
    }
    starts = next;
  }
  std::set<int64_t> lines;
  for (const int64_t start : starts) {
    for (int64_t byte = 0; byte < width; byte += 4) {
      lines.insert((start + byte) / kLineBytes);
    }
  }
  return lines;
}

// The lines by sets that have any.
double MeanOfSets(const std::set<int64_t>& lines, int64_t way_bytes) {
  std::set<int64_t> sets;
  for (const int64_t line : lines) sets.insert(line % (way_bytes / kLineBytes));
  return static_cast<double>(lines.size()) / static_cast<double>(sets.size());
}

TEST(StridedReads, MapsOfAPowerOfTwoFillFewSets) {
  // 1,024 channels of 128 x 128 points of f32, 32 of them at a time.
  const StridedReads reads({{128 * 128 * 4, 1024}}, 128);
  EXPECT_EQ(reads.lines(), 2048);
  EXPECT_EQ(reads.runs(), 1024);
  EXPECT_EQ(reads.LinesPerSet(4096), 1024);
  EXPECT_EQ(reads.LinesPerSet(64 << 10), 1024);
  // Of 56 x 56 they lie in all sets.
  const StridedReads even({{56 * 56 * 4, 1024}}, 128);
  EXPECT_EQ(even.LinesPerSet(64 << 10), 4);
}

TEST(StridedReads, LoopsWhosePointsShareLinesAreOneRun) {
  // A window of 3 x 3 in lines of 64 points.
  const StridedReads reads({{4, 3}, {256, 3}}, 256);
  EXPECT_EQ(reads.lines(), 13);
  EXPECT_EQ(reads.runs(), 1);
  // The order of the loops and the signs of the steps do not matter.
  EXPECT_EQ(StridedReads({{-256, 3}, {4, 3}}, 256).lines(), 13);
}

// Runs of one loop lie at all multiples, within a way, of what step and way are
// multiples of, or at as many as there are runs.
TEST(StridedReads, SetsOfOneLoopAreThoseOfAWalk) {
  std::mt19937 random(2);
  const auto between = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % (most - least + 1));
  };
  int shared = 0;
  for (int i = 0; i < 500; ++i) {
    const int64_t way = i % 2 == 0 ? 4096 : 65536;
    // Lines of a run; a step that leaves a line between, of any power of two.
    const int64_t width = between(1, 4) * kLineBytes;
    int64_t step = width + between(1, 40) * kLineBytes;
    step <<= between(0, 8);
    const int64_t grid = std::gcd(step, way);
    // Where runs are longer than what lies between, all of the places.
    const int64_t least = width <= grid ? 2 : way / grid;
    const int64_t extent = between(least, least + 300);
    const StridedReads reads({{step, extent}}, width);
    const std::set<int64_t> lines = LinesOf({{step, extent}}, width);
    ASSERT_EQ(reads.lines(), static_cast<double>(lines.size())) << i;
    ASSERT_EQ(reads.runs(), static_cast<double>(extent)) << i;
    const double mean = MeanOfSets(lines, way);
    ASSERT_DOUBLE_EQ(reads.LinesPerSet(way), mean) << step << " " << extent;
    shared += mean > 1;
  }
  EXPECT_GT(shared, 100);
}

// What lies within a way shares no set.
TEST(StridedReads, WhatIsWithinAWayHasItsOwnSets) {
  for (const int64_t width : {64, 128}) {
    const StridedReads reads({{256, 3}, {1024, 4}, {8192, 7}}, width);
    EXPECT_EQ(reads.runs(), 84);
    EXPECT_EQ(reads.LinesPerSet(64 << 10), 1);
    // A way of 4 KiB has the first two loops, and the third's runs above them.
    EXPECT_EQ(reads.LinesPerSet(4096), width == 64 ? 84.0 / 16 : 168.0 / 32);
  }
}

// Steps that are multiples of each other, as strides of tensors are.
TEST(StridedReads, AreThoseOfAWalkThroughTheLoops) {
  std::mt19937 random(1);
  const auto between = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % (most - least + 1));
  };
  int far = 0, exact = 0, decided = 0;
  for (int i = 0; i < 200; ++i) {
    const int64_t width = between(1, 4) * 64;
    int64_t bytes = 64;
    std::vector<Step> steps;
    int64_t inner = width / 64;
    for (int64_t d = between(1, 3); d > 0; --d) {
      bytes *= inner * between(1, 8);
      inner = between(1, 12);
      steps.push_back({bytes, inner});
    }
    std::ranges::shuffle(steps, random);
    const StridedReads reads(steps, width);
    const std::set<int64_t> lines = LinesOf(steps, width);
    ASSERT_EQ(reads.lines(), static_cast<double>(lines.size())) << i;
    for (const int64_t way : {4096, 65536}) {
      const double mean = MeanOfSets(lines, way);
      EXPECT_LE(reads.LinesPerSet(way), mean * (1 + 1e-9)) << i;
      far += reads.LinesPerSet(way) < mean / 2;
      exact += reads.LinesPerSet(way) > mean * (1 - 1e-9);
      decided += (reads.LinesPerSet(way) <= 6) == (mean <= 6);
    }
  }
  // Runs of several loops may meet in sets while others stay empty: then it is
  // less. Of 400 most are exact, few far, and nearly all on the same side of
  // what a cache of six ways keeps.
  EXPECT_GE(exact, 280);
  EXPECT_LE(far, 20);
  EXPECT_GE(decided, 380);
}

}  // namespace
}  // namespace encore::backends::cpu
