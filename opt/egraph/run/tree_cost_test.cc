#include "encore/opt/egraph/run/tree_cost.h"

#include <cmath>
#include <string>
#include <utility>

#include "encore/ir/support/check.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

class TreeCostTest : public testing::Test {
 protected:
  OpId Op(std::string name, std::vector<SortId> args, double cost = 1,
          bool extractable = true) {
    const StatusOr<OpId> op = graph_.language().AddOp(
        {std::move(name), std::move(args), sort_, cost, extractable});
    ENCORE_CHECK_OK(op.status());
    return *op;
  }
  std::string Text(ClassId c) {
    graph_.Rebuild();
    const StatusOr<std::string> text = TreeCosts(graph_).Text(c);
    return text.ok() ? *text : Message(text.status());
  }
  LiteralPool& literals() { return graph_.language().literals(); }

  EGraph graph_;
  SortId sort_ = *graph_.language().AddClassSort("S");
};

TEST_F(TreeCostTest, TakesTheLeastSumOfDeclaredCosts) {
  const OpId leaf = Op("leaf", {kI64Sort}, 2);
  const OpId pair = Op("pair", {sort_, sort_}, 4);
  const OpId dear = Op("dear", {}, 100);
  const ClassId a = graph_.Add(leaf, {literals().I64(7)});
  const ClassId b = graph_.Add(pair, {a.value(), a.value()});
  const ClassId c = graph_.Add(dear, {});
  graph_.Union(b, c);
  EXPECT_EQ(Text(c), "(pair (leaf 7) (leaf 7))");
  EXPECT_EQ(TreeCosts(graph_).cost(b), 4 + 2 * (2 + 1));
  EXPECT_EQ(TreeCosts(graph_).cost(a), 3);
}

TEST_F(TreeCostTest, NeverChoosesACycleEvenAtCostZero) {
  const OpId leaf = Op("leaf", {}, 5);
  const OpId free = Op("free", {sort_}, 0);
  const ClassId a = graph_.Add(leaf, {});
  graph_.Union(a, graph_.Add(free, {a.value()}));
  EXPECT_EQ(Text(a), "(leaf)");
}

TEST_F(TreeCostTest, WhatIsNotExtractableIsNotChosen) {
  const OpId hidden = Op("hidden", {kUnitSort}, 1, false);
  const OpId box = Op("box", {sort_, kUnitSort});
  const ClassId a = graph_.Add(hidden, {graph_.unit().value()});
  const ClassId b = graph_.Add(box, {a.value(), graph_.unit().value()});
  EXPECT_EQ(Text(b), "the class has no term of finite cost");
  EXPECT_TRUE(std::isinf(TreeCosts(graph_).cost(b)));
  graph_.Union(a, graph_.Add(Op("open", {}), {}));
  EXPECT_EQ(Text(b), "(box (open) ())");
  EXPECT_EQ(TreeCosts(graph_).cost(b), 1 + 1 + 1);
}

TEST_F(TreeCostTest, LongTermsEndInAnError) {
  const OpId pair = Op("pair", {sort_, sort_});
  ClassId a = graph_.Add(Op("leaf", {}), {});
  for (int i = 0; i < 100; ++i) a = graph_.Add(pair, {a.value(), a.value()});
  graph_.Rebuild();
  const StatusOr<std::string> text = TreeCosts(graph_).Text(a, 10000);
  EXPECT_EQ(text.status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace encore::egraph
