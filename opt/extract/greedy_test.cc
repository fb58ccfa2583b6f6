#include "encore/opt/extract/greedy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

constexpr uint64_t kPlenty = 1'000'000;

TEST(GreedyTest, SharesWhatTheTreePaysTwice) {
  // The root takes 1, 2, each of which needs class 3 (10), or one node of 19.
  Problem p;
  const ClassIndex both[] = {1, 2}, three[] = {3};
  p.AddNode(0, both);
  p.AddNode(19, {});
  p.FinishClass();
  for (int i = 0; i < 2; ++i) {
    p.AddNode(1, three);
    p.FinishClass();
  }
  p.AddNode(10, {});
  p.FinishClass();
  p.roots = {0};
  const ProblemIndex index(p);
  uint64_t work = 0;
  EXPECT_EQ(*CheckedCost(p, BottomUpTree(p, index).choice), 19);
  EXPECT_EQ(*CheckedCost(p, GreedyDag(p, index, kPlenty, &work)), 12);
  EXPECT_GT(work, 0);
}

TEST(GreedyTest, TreesAreSolutionsWhereverThereIsOne) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Problem p = ExpandGroups(RandomProblem(ShapeOf(seed), seed));
    const ProblemIndex index(p);
    const TreeCosts tree = BottomUpTree(p, index);
    EXPECT_EQ(CheckedCost(p, tree.choice).ok(), BruteForceCost(p).has_value());
  }
}

TEST(GreedyTest, WithoutNegativeCostsGreedyChoicesAreSolutions) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomShape shape = ShapeOf(seed);
    shape.negative = false;
    const Problem p = ExpandGroups(RandomProblem(shape, seed));
    uint64_t work = 0;
    const Selection greedy = GreedyDag(p, ProblemIndex(p), kPlenty, &work);
    EXPECT_EQ(CheckedCost(p, greedy).ok(), BruteForceCost(p).has_value());
  }
}

TEST(GreedyTest, StopsAtItsLimit) {
  const Problem p = Chain(2'000);
  uint64_t work = 0;
  GreedyDag(p, ProblemIndex(p), 10'000, &work);
  EXPECT_LT(work, 20'000);
}

}  // namespace
}  // namespace encore::opt::extract
