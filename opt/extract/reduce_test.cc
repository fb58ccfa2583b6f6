#include "encore/opt/extract/reduce.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/closure.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/reduced.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

constexpr uint64_t kPlenty = 10'000'000;

// Builds problems from nodes in a line.
class Builder {
 public:
  Builder& Node(double cost, std::vector<ClassIndex> children = {}) {
    problem_.AddNode(cost, children);
    return *this;
  }
  Builder& Class() {
    problem_.FinishClass();
    return *this;
  }
  Problem Done(std::vector<ClassIndex> roots = {0}) {
    problem_.roots = std::move(roots);
    return problem_;
  }

 private:
  Problem problem_;
};

TEST(ReduceTest, KeepsTheOptimumAndMapsSolutionsBack) {
  for (uint64_t seed = 0; seed < 6'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomShape shape = ShapeOf(seed);
    shape.groups = false;
    const Problem p = RandomProblem(shape, seed);
    const auto optimum = BruteForceCost(p);
    for (const uint64_t words : {uint64_t{0}, uint64_t{1}, kPlenty}) {
      const Reduced reduced = Reduce(p, {}, words);
      ASSERT_EQ(reduced.feasible, optimum.has_value());
      if (!optimum) continue;
      double parts = 0;
      for (const Reduced& part : Split(reduced)) {
        const auto cost = BruteForceCost(part.problem);
        ASSERT_TRUE(cost.has_value());
        parts += *cost;
      }
      ASSERT_NEAR(reduced.base + parts, *optimum, 1e-9);
      const ProblemIndex index(reduced.problem);
      const Selection tree = BottomUpTree(reduced.problem, index).choice;
      const auto restored = CheckedCost(p, reduced.Restore(tree));
      ASSERT_TRUE(restored.ok()) << restored.status();
      const auto own = CheckedCost(reduced.problem, tree);
      EXPECT_LE(*restored, reduced.base + *own + 1e-9);
    }
  }
}

TEST(ReduceTest, PaysForChains) {
  const Reduced reduced = Reduce(Chain(300'000), {}, 0);
  EXPECT_EQ(reduced.base, 300'000);
  EXPECT_EQ(reduced.problem.num_nodes(), 0);
}

TEST(ReduceTest, DominatedNodesGo) {
  // Node 2 needs more and costs more than node 1.
  const Reduced reduced = Reduce(Builder()
                                     .Node(3, {1})
                                     .Node(4, {1, 2})
                                     .Class()
                                     .Node(1)
                                     .Class()
                                     .Node(1)
                                     .Class()
                                     .Done(),
                                 {}, kPlenty);
  EXPECT_EQ(reduced.base, 4);
  EXPECT_EQ(reduced.problem.num_nodes(), 0);
}

TEST(ReduceTest, AGainIsNotDominated) {
  // The dearer node is the only way to a negative cost.
  const Problem p = Builder()
                        .Node(3, {1})
                        .Node(4, {1, 2})
                        .Class()
                        .Node(1)
                        .Class()
                        .Node(-9)
                        .Class()
                        .Done();
  const Reduced reduced = Reduce(p, {}, kPlenty);
  EXPECT_EQ(reduced.base, -4);
}

TEST(ReduceTest, NodesThatNeedTheirOwnClassGo) {
  // Class 1 needs class 0 whatever it chooses, so node 0 is no choice.
  const Reduced reduced = Reduce(Builder()
                                     .Node(0, {1})
                                     .Node(50)
                                     .Class()
                                     .Node(1, {2})
                                     .Node(2, {3})
                                     .Class()
                                     .Node(1, {0})
                                     .Class()
                                     .Node(1, {0})
                                     .Class()
                                     .Done(),
                                 {}, kPlenty);
  EXPECT_EQ(reduced.base, 50);
}

TEST(ReduceTest, ForcedClassesSplitAProblem) {
  // Both halves need class 3; once it is paid for they are independent.
  const Reduced reduced = Reduce(Builder()
                                     .Node(0, {1, 2, 3})
                                     .Class()
                                     .Node(1, {3, 4})
                                     .Node(2, {3, 5})
                                     .Class()
                                     .Node(1, {3, 6})
                                     .Node(2, {3, 7})
                                     .Class()
                                     .Node(8)
                                     .Class()
                                     .Node(3)
                                     .Node(9, {5})
                                     .Class()
                                     .Node(4)
                                     .Node(9, {4})
                                     .Class()
                                     .Node(3)
                                     .Class()
                                     .Node(4)
                                     .Class()
                                     .Done(),
                                 {}, kPlenty);
  EXPECT_EQ(reduced.base + 0.0, 16);
  EXPECT_TRUE(Split(reduced).empty());
}

TEST(ReduceTest, InfeasibleRootsAreFound) {
  EXPECT_FALSE(
      Reduce(Builder().Node(1, {1}).Class().Node(1, {0}).Class().Done(), {},
             kPlenty)
          .feasible);
  EXPECT_FALSE(Reduce(Builder().Class().Done(), {}, kPlenty).feasible);
}

TEST(ReduceTest, HeldNodesAreTheOnlyOnes) {
  const Problem p = Builder().Node(1).Node(2).Class().Done();
  const uint8_t keep[] = {0, 1};
  EXPECT_EQ(Reduce(p, keep, kPlenty).base, 2);
}

TEST(ClosuresTest, IsContainedInEveryDerivation) {
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    const Problem p = RandomProblem({}, seed);
    const ProblemIndex index(p);
    const auto closures = Closures::Compute(p, index, kPlenty);
    ASSERT_TRUE(closures.has_value());
    for (ClassIndex c = 0; c < p.num_classes(); ++c) {
      for (ClassIndex d = 0; d < p.num_classes(); ++d) {
        if (c == d || !closures->Needs(c, d)) continue;
        // Without d there must be no derivation of c.
        Problem without = p;
        without.roots = {c};
        for (NodeIndex n = p.class_start[d]; n < p.class_start[d + 1]; ++n) {
          without.cost[n] = std::numeric_limits<double>::infinity();
        }
        EXPECT_EQ(BottomUpTree(without, index).choice[c], kNoNode);
      }
    }
  }
}

}  // namespace
}  // namespace encore::opt::extract
