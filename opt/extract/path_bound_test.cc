#include "encore/opt/extract/path_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

TEST(PathBoundTest, IsNeverAboveTheOptimum) {
  int tight = 0;
  for (uint64_t seed = 0; seed < 6'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomShape shape = ShapeOf(seed);
    shape.groups = false;
    const Problem problem = RandomProblem(shape, seed);
    const double bound = PathBound(problem, ProblemIndex(problem));
    const std::optional<double> optimum = BruteForceCost(problem);
    if (!optimum) continue;
    ASSERT_LE(bound, *optimum + 1e-9);
    tight += bound > *optimum - 1e-9;
  }
  EXPECT_GT(tight, 100);
}

TEST(PathBoundTest, FollowsChainsAndLeavesCyclesOut) {
  // Each class takes the next one or the one after it for half as much again,
  // or goes round in a circle for nothing.
  constexpr ClassIndex kClasses = 100'000;
  Problem problem;
  for (ClassIndex c = 0; c < kClasses; ++c) {
    std::vector<ClassIndex> next;
    if (c + 1 < kClasses) next = {c + 1};
    problem.AddNode(1, next);
    if (c + 2 < kClasses) problem.AddNode(1.5, std::vector{c + 2});
    if (c > 0) problem.AddNode(0, std::vector{c - 1});
    problem.FinishClass();
  }
  problem.roots = {0};
  EXPECT_EQ(PathBound(problem, ProblemIndex(problem)), 0.75 * kClasses + 0.5);
}

TEST(PathBoundTest, NothingWithoutADerivation) {
  Problem problem;
  problem.AddNode(1, std::vector<ClassIndex>{0});
  problem.FinishClass();
  problem.roots = {0};
  EXPECT_TRUE(std::isinf(PathBound(problem, ProblemIndex(problem))));
}

}  // namespace
}  // namespace encore::opt::extract
