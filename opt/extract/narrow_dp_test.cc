#include "encore/opt/extract/narrow_dp.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

constexpr uint64_t kPlenty = 100'000'000;

TEST(NarrowDpTest, AgreesWithBruteForce) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomShape shape;
    shape.cyclic = seed % 4 == 0;
    shape.fractions = seed & 1;
    const Problem p = RandomProblem(shape, seed);
    uint64_t work = 0;
    const Selection selection = SolveNarrow(p, 14, kPlenty, &work);
    if (selection.empty()) {
      EXPECT_TRUE(shape.cyclic);
      continue;
    }
    ++solved;
    const auto cost = CheckedCost(p, selection);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_NEAR(*cost, *BruteForceCost(p), 1e-9);
  }
  EXPECT_GT(solved, 1'500);
}

// Blocks in a row, each choosing between two ways that share with the next.
TEST(NarrowDpTest, LongRowsOfBlocksAreLinear) {
  const auto work_of = [](uint32_t blocks) {
    Problem p;
    for (uint32_t b = 0; b < blocks; ++b) {
      const ClassIndex at = 3 * b, next = at + 3;
      const bool last = b + 1 == blocks;
      const ClassIndex left[] = {at + 1, next}, right[] = {at + 2, next};
      p.AddNode(1, std::span(left, last ? 1 : 2));
      p.AddNode(2, std::span(right, last ? 1 : 2));
      p.FinishClass();
      p.AddNode(5, {});
      p.FinishClass();
      p.AddNode(3, {});
      p.FinishClass();
    }
    p.roots = {0};
    uint64_t work = 0;
    const Selection selection = SolveNarrow(p, 8, kPlenty, &work);
    EXPECT_EQ(*CheckedCost(p, selection), 5.0 * blocks);
    return work;
  };
  EXPECT_LT(work_of(20'000), 25 * work_of(1'000));
}

TEST(NarrowDpTest, RefusesWhatItIsNotFor) {
  uint64_t work = 0;
  Problem p = RandomProblem({}, 1);
  EXPECT_TRUE(SolveNarrow(p, 1, kPlenty, &work).empty());
  EXPECT_TRUE(SolveNarrow(Chain(1'000), 8, 100, &work).empty());
  EXPECT_FALSE(SolveNarrow(Chain(1'000), 8, kPlenty, &work).empty());
  p = Chain(3);
  p.cost[1] = -1;
  EXPECT_TRUE(SolveNarrow(p, 8, kPlenty, &work).empty());
}

}  // namespace
}  // namespace encore::opt::extract
