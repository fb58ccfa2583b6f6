#include "encore/opt/extract/checker.h"

#include <gtest/gtest.h>

#include <limits>

namespace encore::opt::extract {
namespace {

// Class 0: node 0 (1: children 1, 2), node 1 (5). Class 1: node 2 (2: child
// 2). Class 2: node 3 (3), node 4 (forbidden), node 5 (1: child 0).
Problem Example() {
  Problem p;
  const ClassIndex both[] = {1, 2}, two[] = {2}, zero[] = {0};
  p.AddNode(1, both);
  p.AddNode(5, {});
  p.FinishClass();
  p.AddNode(2, two);
  p.FinishClass();
  p.AddNode(3, {});
  p.AddNode(std::numeric_limits<double>::infinity(), {});
  p.AddNode(1, zero);
  p.FinishClass();
  p.roots = {0, 0};
  return p;
}

TEST(CheckerTest, CountsSharedClassesAndRepeatedRootsOnce) {
  EXPECT_EQ(*CheckedCost(Example(), Selection{0, 2, 3}), 6);
}

TEST(CheckerTest, IgnoresWhatIsNotReached) {
  EXPECT_EQ(*CheckedCost(Example(), Selection{1, 0, 4}), 5);
}

TEST(CheckerTest, PaysAGroupOnce) {
  Problem p;
  const ClassIndex parts[] = {1, 2};
  p.AddNode(1, parts);
  p.FinishClass();
  for (int i = 0; i < 2; ++i) {
    p.AddNode(7, {});
    p.FinishClass();
  }
  p.roots = {0};
  EXPECT_EQ(*CheckedCost(p, Selection{0, 1, 2}), 15);
  p.group = {kNoGroup, 9, 9};
  EXPECT_EQ(*CheckedCost(p, Selection{0, 1, 2}), 8);
}

TEST(CheckerTest, SaysWhatIsWrong) {
  const Problem p = Example();
  const auto error = [&](Selection s) {
    return Message(CheckedCost(p, s).status());
  };
  EXPECT_EQ(error({kNoNode, 2, 3}), "class 0 has no choice");
  EXPECT_EQ(error({0, 3, 3}), "node 3 is not of class 1");
  EXPECT_EQ(error({0, 2, 4}), "node 4 is forbidden");
  EXPECT_EQ(error({0, 2, 5}), "class 0 needs itself");
}

}  // namespace
}  // namespace encore::opt::extract
