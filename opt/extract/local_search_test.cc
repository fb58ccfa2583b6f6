#include "encore/opt/extract/local_search.h"

#include <gtest/gtest.h>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

Solved FromTree(const Problem& p, const ProblemIndex& index) {
  Solved solved;
  solved.Improve(p, BottomUpTree(p, index).choice);
  return solved;
}

TEST(LocalSearchTest, NeverWorseAndAlwaysSound) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomShape shape = ShapeOf(seed);
    shape.forbidden = shape.groups = false;
    const Problem p = RandomProblem(shape, seed);
    const ProblemIndex index(p);
    Solved solved = FromTree(p, index);
    if (solved.selection.empty()) continue;
    const double before = solved.cost;
    Budget budget(uint64_t{2'000}, nullptr);
    SearchLocally(p, index, seed, true, &budget, &solved);
    const auto cost = CheckedCost(p, solved.selection);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(*cost, solved.cost);
    EXPECT_LE(solved.cost, before);
    EXPECT_GE(solved.cost, *BruteForceCost(p) - 1e-9);
    improved += solved.cost < before;
  }
  EXPECT_GT(improved, 100);
}

TEST(LocalSearchTest, GroupMovesBringInASharedOperation) {
  // Three results, 4 each alone, or together 9 through class 4: no single
  // change gains.
  Problem p;
  const ClassIndex results[] = {1, 2, 3}, operation[] = {4};
  p.AddNode(0, results);
  p.FinishClass();
  for (int i = 0; i < 3; ++i) {
    p.AddNode(4, {});
    p.AddNode(0, operation);
    p.FinishClass();
  }
  p.AddNode(9, {});
  p.FinishClass();
  p.roots = {0};
  const ProblemIndex index(p);
  Solved solved = FromTree(p, index);
  ASSERT_EQ(solved.cost, 12);
  Budget budget(uint64_t{1'000}, nullptr);
  SearchLocally(p, index, 1, false, &budget, &solved);
  EXPECT_EQ(solved.cost, 9);
}

}  // namespace
}  // namespace encore::opt::extract
