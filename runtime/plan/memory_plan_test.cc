#include "encore/runtime/plan/memory_plan.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

void CheckDisjoint(const std::vector<LiveBuffer>& buffers,
                   const OffsetPlan& plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const LiveBuffer& a = buffers[i];
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + a.bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const LiveBuffer& b = buffers[j];
      if (a.first > b.last || b.first > a.last) continue;
      const bool in_place = a.in_place_of == j || b.in_place_of == i;
      if (in_place && plan.offsets[i] == plan.offsets[j]) continue;
      EXPECT_TRUE(plan.offsets[i] + a.bytes <= plan.offsets[j] ||
                  plan.offsets[j] + b.bytes <= plan.offsets[i])
          << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, EmptyAndSingle) {
  EXPECT_EQ(PlanOffsets({}).bytes, 0);
  const std::vector<LiveBuffer> one = {{100, 3, 5, -1}};
  EXPECT_EQ(PlanOffsets(one).bytes, 128);
}

TEST(MemoryPlan, ChainOfInPlaceStepsTakesOnePlace) {
  std::vector<LiveBuffer> buffers;
  for (uint32_t i = 0; i < 10; ++i) {
    buffers.push_back({256, i, i + 1, static_cast<int32_t>(i) - 1});
  }
  const OffsetPlan plan = PlanOffsets(buffers);
  EXPECT_EQ(plan.bytes, 256);
  CheckDisjoint(buffers, plan);
  // Where the read lives on, or has less room, there are two places.
  const std::vector<LiveBuffer> lives = {{64, 0, 2, -1}, {64, 1, 3, 0}};
  EXPECT_EQ(PlanOffsets(lives).bytes, 128);
  const std::vector<LiveBuffer> grows = {{64, 0, 1, -1}, {128, 1, 3, 0}};
  EXPECT_EQ(PlanOffsets(grows).bytes, 192);
}

TEST(MemoryPlan, RandomPlansAreDisjointAndTight) {
  std::mt19937 random(7);
  double worst = 0, sum = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<LiveBuffer> buffers;
    const uint32_t count = 1 + random() % 60;
    for (uint32_t i = 0; i < count; ++i) {
      // As in networks: most live for a step or two, some for long.
      const uint32_t length = random() % 8 == 0 ? random() % 30 : random() % 3;
      LiveBuffer buffer{static_cast<int64_t>(random() % 10000), i, i + length,
                        -1};
      if (i > 0 && random() % 3 == 0) {
        const auto from = static_cast<int32_t>(random() % i);
        if (buffers[from].last == i) buffer.in_place_of = from;
      }
      buffers.push_back(buffer);
    }
    const OffsetPlan plan = PlanOffsets(buffers);
    CheckDisjoint(buffers, plan);
    EXPECT_GE(plan.bytes, plan.lower_bound);
    const double ratio = static_cast<double>(plan.bytes) /
                         std::max<int64_t>(plan.lower_bound, 1);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  RecordProperty("mean", std::to_string(sum / kRounds));
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(sum / kRounds, 1.02);
  EXPECT_LE(worst, 1.2);
}

TEST(MemoryPlan, BuffersBesideOneAnotherAreApart) {
  // One after the other, of which the third follows the first.
  std::vector<LiveBuffer> chain = {{64, 0, 1, -1}, {64, 2, 3, -1}, {64, 4, 5}};
  EXPECT_EQ(PlanOffsets(chain).bytes, 64);
  chain[0].beside = {1};
  chain[1].beside = {2};
  const OffsetPlan apart = PlanOffsets(chain);
  EXPECT_EQ(apart.bytes, 128);
  EXPECT_EQ(apart.lower_bound, 64);
  EXPECT_NE(apart.offsets[0], apart.offsets[1]);
  EXPECT_NE(apart.offsets[1], apart.offsets[2]);
  // Who takes a place over in place is what the next is beside.
  std::vector<LiveBuffer> taken = {{64, 0, 1, -1}, {64, 1, 2, 0}, {64, 3, 4}};
  taken[0].beside = {2};
  EXPECT_EQ(PlanOffsets(taken).bytes, 64);
  taken[1].beside = {2};
  EXPECT_EQ(PlanOffsets(taken).bytes, 128);
}

}  // namespace
}  // namespace encore::runtime
