#include "encore/opt/extract/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

TEST(ExactTest, AgreesWithBruteForceWithoutReductions) {
  ASSERT_TRUE(MipAvailable());
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomShape shape = ShapeOf(seed);
    shape.forbidden = shape.groups = false;
    Problem p = RandomProblem(shape, seed);
    // The program wants unique children and no node that needs its own class.
    Problem clean;
    for (ClassIndex c = 0; c < p.num_classes(); ++c) {
      for (NodeIndex n = p.class_start[c]; n < p.class_start[c + 1]; ++n) {
        std::vector<ClassIndex> children(p.children(n).begin(),
                                         p.children(n).end());
        std::sort(children.begin(), children.end());
        children.erase(std::unique(children.begin(), children.end()),
                       children.end());
        if (std::find(children.begin(), children.end(), c) == children.end()) {
          clean.AddNode(p.cost[n], children);
        }
      }
      clean.FinishClass();
    }
    clean.roots = p.roots;
    const auto optimum = BruteForceCost(clean);
    for (const Branching branching :
         {Branching::kNodesAndClasses, Branching::kClasses}) {
      const ExactOutcome outcome =
          SolveExactly(clean, {}, MipLimits{}, branching);
      ASSERT_EQ(outcome.optimal, optimum.has_value());
      if (!optimum) continue;
      EXPECT_NEAR(outcome.cost, *optimum, 1e-9);
      EXPECT_EQ(outcome.bound, outcome.cost);
    }
  }
}

TEST(ExactTest, UnitsAndRounding) {
  Problem p;
  p.AddNode(64, {});
  p.AddNode(-160, {});
  p.FinishClass();
  EXPECT_EQ(CostUnit(p), 32);
  p.cost[0] = 0.5;
  EXPECT_EQ(CostUnit(p), 0);
  EXPECT_EQ(RoundBoundUp(65, 32), 96);
  EXPECT_EQ(RoundBoundUp(64.01, 32), 64);
  EXPECT_EQ(RoundBoundUp(-65, 32), -64);
  EXPECT_EQ(RoundBoundUp(1.5, 0), 1.5);
}

}  // namespace
}  // namespace encore::opt::extract
