#include "encore/opt/extract/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/test_problems.h"

namespace encore::opt::extract {
namespace {

bool Holds(const Selection& choice, NodeIndex n) {
  return std::ranges::count(choice, n) > 0;
}

// All that a problem of a few classes has, by trying them.
constexpr NeighbourLimits kAll{.count = 1'000, .most_cost = 1e9};

TEST(NeighboursTest, AreSolutionsWithAnotherNode) {
  int found = 0, optima = 0, nodes = 0;
  for (uint64_t seed = 0; seed < 1'500; ++seed) {
    SCOPED_TRACE(seed);
    const Problem p = RandomProblem(ShapeOf(seed), seed);
    const ProblemIndex index(ExpandGroups(p));
    Selection from = BottomUpTree(ExpandGroups(p), index).choice;
    from.resize(p.num_classes());
    const auto cost = CheckedCost(p, from);
    if (!cost.ok()) continue;
    const auto neighbours = Neighbours(p, from, kAll);
    ASSERT_TRUE(neighbours.ok()) << neighbours.status();
    std::set<Selection> seen;
    for (const Neighbour& neighbour : *neighbours) {
      const auto checked = CheckedCost(p, neighbour.choice);
      ASSERT_TRUE(checked.ok()) << checked.status();
      EXPECT_NEAR(*checked, neighbour.cost, 1e-9);
      EXPECT_TRUE(seen.insert(neighbour.choice).second);
      bool differs = false;
      for (ClassIndex c = 0; c < p.num_classes(); ++c) {
        differs |=
            neighbour.choice[c] != kNoNode && neighbour.choice[c] != from[c];
      }
      EXPECT_TRUE(differs);
      ++found;
    }
    // Beside the best solution that holds a node, which trying them all finds.
    for (ClassIndex c = 0; c < p.num_classes(); ++c) {
      for (NodeIndex n = p.class_start[c]; n < p.class_start[c + 1]; ++n) {
        Problem held = p;
        for (NodeIndex o = p.class_start[c]; o < p.class_start[c + 1]; ++o) {
          if (o != n) held.cost[o] = std::numeric_limits<double>::infinity();
        }
        held.roots.push_back(c);
        if (!p.group.empty() || n == from[c]) continue;
        const auto best = BruteForceCost(held);
        double least = std::numeric_limits<double>::infinity();
        for (const Neighbour& neighbour : *neighbours) {
          if (Holds(neighbour.choice, n))
            least = std::min(least, neighbour.cost);
        }
        if (std::isinf(least)) continue;
        ASSERT_TRUE(best.has_value());
        EXPECT_GE(least, *best - 1e-9);
        ++nodes;
        optima += least <= *best + 1e-9;
      }
    }
  }
  EXPECT_GT(found, 1'500);
  EXPECT_GT(optima, nodes * 9 / 10) << "of " << nodes;
}

// Products of x with a and with b, 10 each, or slices, 1 each, of one product
// with both, 20.
Problem TwoProducts() {
  Problem p;
  const ClassIndex results[] = {1, 2}, both[] = {3};
  p.AddNode(0, results);
  p.FinishClass();
  for (int i = 0; i < 2; ++i) {
    p.AddNode(10, {});
    p.AddNode(1, both);
    p.FinishClass();
  }
  p.AddNode(20, {});
  p.FinishClass();
  p.roots = {0};
  return p;
}

TEST(NeighboursTest, WhatIsSharedComesWithItsFirstUse) {
  const Problem p = TwoProducts();
  const auto neighbours = Neighbours(p, {0, 1, 3, kNoNode}, {});
  ASSERT_TRUE(neighbours.ok()) << neighbours.status();
  ASSERT_EQ(neighbours->size(), 1);  // not a slice beside a product
  EXPECT_EQ(neighbours->front().cost, 22);
  EXPECT_EQ(neighbours->front().choice, (Selection{0, 2, 4, 5}));
}

TEST(NeighboursTest, LimitsHold) {
  Problem p;
  p.AddNode(10, {});
  for (int i = 0; i < 100; ++i) p.AddNode(10 + i / 10.0, {});
  p.FinishClass();
  p.roots = {0};
  EXPECT_EQ(Neighbours(p, {0}, {.count = 7})->size(), 7);
  EXPECT_EQ(Neighbours(p, {0}, {.count = 100, .most_cost = 1.1})->size(), 11);
  EXPECT_LT(
      Neighbours(p, {0}, {.count = 100, .most_cost = 9, .work = 50})->size(),
      100);
  const auto nearest = Neighbours(p, {0}, {.count = 3});
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ((*nearest)[i].choice[0], i + 1);
}

TEST(NeighboursTest, WhatIsNoSolutionIsAnError) {
  const Problem p = TwoProducts();
  EXPECT_FALSE(Neighbours(p, {0, 1, 3}, {}).ok());
  EXPECT_FALSE(Neighbours(p, {0, 2, 4, kNoNode}, {}).ok());
}

}  // namespace
}  // namespace encore::opt::extract
