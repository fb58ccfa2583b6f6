#include "encore/opt/extract/extract.h"

#include <gtest/gtest.h>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

// What must hold of any result, given the true optimum.
void ExpectSound(const Problem& problem, const Result& result,
                 std::optional<double> optimum) {
  ASSERT_EQ(result.feasible, optimum.has_value());
  if (!result.feasible) return;
  const StatusOr<double> cost = CheckedCost(problem, result.choice);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_NEAR(*cost, result.cost, 1e-9);
  EXPECT_GE(result.cost, *optimum - 1e-9);
  if (result.lower_bound) {
    EXPECT_LE(*result.lower_bound, *optimum + 1e-9);
  }
  if (result.optimal) {
    EXPECT_NEAR(result.cost, *optimum, 1e-9);
    EXPECT_EQ(result.lower_bound, result.cost);
  }
}

TEST(ExtractTest, AgreesWithBruteForce) {
  int optimal = 0, feasible = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = RandomProblem(ShapeOf(seed), seed);
    Options options;
    options.work = 100'000;
    const StatusOr<Result> result = Extract(problem, options);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectSound(problem, *result, BruteForceCost(problem));
    if (HasFatalFailure()) return;
    feasible += result->feasible;
    optimal += result->optimal;
  }
  RecordProperty("feasible", feasible);
  RecordProperty("optimal", optimal);
}

TEST(ExtractTest, NoRootsIsTheEmptyChoice) {
  Problem problem = Chain(3);
  problem.roots.clear();
  const auto result = Extract(problem, {});
  ASSERT_TRUE(result.ok() && result->feasible && result->optimal);
  EXPECT_EQ(result->cost, 0);
  EXPECT_EQ(result->choice, Selection(3, kNoNode));
}

TEST(ExtractTest, LongChains) {
  Options options;
  options.seconds = 0;
  const auto result = Extract(Chain(300'000), options);
  ASSERT_TRUE(result.ok() && result->feasible);
  EXPECT_EQ(result->cost, 300'000);
}

TEST(ExtractTest, RefusesColumnsThatDoNotFit) {
  Problem problem = Chain(3);
  problem.child[0] = 3;
  EXPECT_FALSE(Extract(problem, {}).ok());
  problem = Chain(3);
  problem.cost.pop_back();
  EXPECT_FALSE(Extract(problem, {}).ok());
}

}  // namespace
}  // namespace encore::opt::extract
