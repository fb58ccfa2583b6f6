#include "encore/opt/extract/lns.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

TEST(LnsTest, ReachesTheOptimumOfSmallProblems) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomShape shape = ShapeOf(seed);
    shape.forbidden = shape.groups = false;
    // Held together by a root that needs everything.
    Problem p = RandomProblem(shape, seed);
    std::vector<ClassIndex> everything(p.num_classes());
    std::iota(everything.begin(), everything.end(), 0);
    p.roots = {p.num_classes()};
    p.AddNode(1, everything);
    p.FinishClass();
    const ProblemIndex index(p);
    Solved solved;
    if (!solved.Improve(p, BottomUpTree(p, index).choice)) continue;
    Budget budget(uint64_t{200'000}, nullptr);
    int reports = 0;
    SearchNeighbourhoods(p, index, seed, &budget, &solved,
                         [&](double, double) { ++reports; });
    const auto cost = CheckedCost(p, solved.selection);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_NEAR(*cost, solved.cost, 1e-9);
    EXPECT_TRUE(solved.optimal);
    EXPECT_NEAR(solved.cost, *BruteForceCost(p), 1e-9);
    EXPECT_GT(reports, 0);
  }
}

}  // namespace
}  // namespace encore::opt::extract
