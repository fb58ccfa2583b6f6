#include "encore/opt/extract/extract.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

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

// ENCORE_FUZZ_CASES sets how many problems are tried.
uint64_t FuzzCases() {
  const char* const cases = std::getenv("ENCORE_FUZZ_CASES");
  return cases == nullptr ? 20'000 : std::strtoull(cases, nullptr, 10);
}

TEST(ExtractTest, AgreesWithBruteForce) {
  int optimal = 0, feasible = 0;
  for (uint64_t seed = 0; seed < FuzzCases(); ++seed) {
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
  EXPECT_GT(optimal, feasible * 0.99);
}

// A problem with something to search: layers of classes with a few nodes each.
Problem Layered(uint32_t layers, uint32_t width) {
  Problem p;
  std::mt19937_64 random(7);
  for (ClassIndex c = 0; c < layers * width; ++c) {
    const ClassIndex below = (c / width + 1) * width;
    for (int node = 0; node < 4; ++node) {
      std::vector<ClassIndex> children;
      if (below < layers * width) {
        for (int i = 0; i < 2; ++i) {
          children.push_back(below + random() % width);
        }
      }
      p.AddNode(1 + random() % 20, children);
    }
    p.FinishClass();
  }
  for (ClassIndex c = 0; c < width; ++c) p.roots.push_back(c);
  return p;
}

TEST(ExtractTest, SameSeedAndWorkGiveTheSameResult) {
  const Problem problem = Layered(12, 25);
  Options options;
  options.seed = 5;
  for (const uint64_t work : {0, 1'000, 300'000}) {
    options.work = work;
    const auto a = Extract(problem, options), b = Extract(problem, options);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->choice, b->choice);
    EXPECT_EQ(a->cost, b->cost);
    EXPECT_EQ(a->lower_bound, b->lower_bound);
    EXPECT_EQ(a->statistics.work, b->statistics.work);
    EXPECT_TRUE(CheckedCost(problem, a->choice).ok());
  }
}

TEST(ExtractTest, EndsInTimeAndReportsProgress) {
  const Problem problem = Layered(20, 40);
  Options options;
  options.seconds = 1;
  int reports = 0;
  options.progress = [&](const Progress& progress) {
    ++reports;
    if (progress.lower_bound) {
      EXPECT_LE(*progress.lower_bound, progress.cost + 1e-9);
    }
  };
  options.begin = std::chrono::steady_clock::now();
  const auto result = Extract(problem, options);
  const auto length = std::chrono::steady_clock::now() - options.begin;
  ASSERT_TRUE(result.ok());
  // Generous: tests run beside others, under sanitizers too.
  EXPECT_LT(std::chrono::duration<double>(length).count(), 10);
  EXPECT_GT(reports, 0);
  EXPECT_LE(result->cost, result->statistics.greedy_cost);
  EXPECT_LE(result->cost, result->statistics.tree_cost);
}

TEST(ExtractTest, AnInterruptEndsIt) {
  const std::atomic<bool> interrupt = true;
  Options options;
  options.seconds = 1e6;
  options.interrupt = &interrupt;
  const auto result = Extract(Layered(20, 40), options);
  ASSERT_TRUE(result.ok() && result->feasible);
}

TEST(ExtractTest, IsNeverDearerThanTheStart) {
  Problem problem = Layered(8, 10);
  Options long_run;
  long_run.work = 1'000'000;
  const auto best = Extract(problem, long_run);
  ASSERT_TRUE(best.ok());
  Options options;
  options.work = 0;
  const auto without = Extract(problem, options);
  options.start = best->choice;
  const auto with = Extract(problem, options);
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_LE(with->cost, best->cost);
  const Selection nonsense(problem.num_classes(), kNoNode);
  options.start = nonsense;
  EXPECT_EQ(Extract(problem, options)->cost, without->cost);
}

// The greedy method alone would take more than all of the work.
TEST(ExtractTest, LargeProblemsAreSearchedWithinLittleWork) {
  Options options;
  options.work = 200'000;
  const auto result = Extract(Layered(300, 60), options);
  ASSERT_TRUE(result.ok() && result->feasible);
  EXPECT_LT(result->cost, 0.5 * result->statistics.tree_cost);
  EXPECT_LE(result->statistics.work, 60'000'000);
}

TEST(ExtractTest, ClassesThatAreNotReachedHaveNoChoice) {
  Problem problem = Layered(6, 5);
  problem.roots = {0};
  Options options;
  options.work = 100'000;
  const auto result = Extract(problem, options);
  ASSERT_TRUE(result.ok());
  for (ClassIndex root = 1; root < 5; ++root) {
    EXPECT_EQ(result->choice[root], kNoNode);
  }
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
