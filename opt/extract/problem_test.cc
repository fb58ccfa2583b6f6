#include "encore/opt/extract/problem.h"

#include <gtest/gtest.h>

#include <limits>

namespace encore::opt::extract {
namespace {

// Class 0 -> 1, 2; class 1 -> 2, 2; class 2 -> 1 or nothing; class 3 -> 0.
Problem Example() {
  Problem p;
  const ClassIndex a[] = {1, 2}, b[] = {2, 2}, c[] = {1}, d[] = {0};
  p.AddNode(1, a);
  p.FinishClass();
  p.AddNode(2, b);
  p.FinishClass();
  p.AddNode(3, c);
  p.AddNode(4, {});
  p.FinishClass();
  p.AddNode(5, d);
  p.FinishClass();
  p.roots = {0};
  return p;
}

TEST(ProblemTest, UsersAreListedOnce) {
  const Problem p = Example();
  const ProblemIndex index(p);
  const auto users = [&](ClassIndex c) {
    const auto span = index.users(c);
    return std::vector<NodeIndex>(span.begin(), span.end());
  };
  EXPECT_EQ(users(0), (std::vector<NodeIndex>{4}));
  EXPECT_EQ(users(1), (std::vector<NodeIndex>{0, 2}));
  EXPECT_EQ(users(2), (std::vector<NodeIndex>{0, 1}));
  EXPECT_TRUE(users(3).empty());
  EXPECT_EQ(index.class_of(3), 2);
}

TEST(ProblemTest, StrongComponentsAreNumberedFromBelow) {
  const auto component = StrongComponents(Example());
  EXPECT_EQ(component[1], component[2]);
  EXPECT_LT(component[1], component[0]);
  EXPECT_LT(component[0], component[3]);
}

TEST(ProblemTest, GroupsBecomeClasses) {
  Problem p = Example();
  p.cost[3] = 2;
  p.child_start = {0, 2, 4, 5, 5, 6};
  p.group.assign(5, kNoGroup);
  p.group[0] = p.group[4] = 7;
  EXPECT_FALSE(Validate(p).ok());
  p = Example();
  p.cost[2] = 5;
  p.child[4] = 0;
  p.group = {kNoGroup, kNoGroup, 7, kNoGroup, 7};
  ASSERT_TRUE(Validate(p).ok()) << Validate(p);
  const Problem expanded = ExpandGroups(p);
  ASSERT_EQ(expanded.num_classes(), 5);
  EXPECT_EQ(expanded.cost, (std::vector<double>{1, 2, 0, 4, 0, 5}));
  EXPECT_EQ(expanded.children(2)[0], 4);
  EXPECT_EQ(expanded.children(4)[0], 4);
  EXPECT_EQ(expanded.children(5)[0], 0);
}

TEST(ProblemTest, RefusesBadCosts) {
  Problem p = Example();
  p.cost[0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Validate(p).ok());
  p.cost[0] = -p.cost[0];
  EXPECT_FALSE(Validate(p).ok());
  p.cost[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Validate(p).ok());
}

TEST(ProblemTest, RefusesCostsWhoseSumsOverflow) {
  Problem p = Example();
  p.cost[0] = 0.9e300;
  EXPECT_TRUE(Validate(p).ok());
  p.cost[1] = -0.9e300;
  EXPECT_NE(Message(Validate(p)).find("larger unit"), std::string::npos);
}

}  // namespace
}  // namespace encore::opt::extract
