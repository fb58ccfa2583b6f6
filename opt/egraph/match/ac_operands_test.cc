#include "encore/opt/egraph/match/ac_operands.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/match/pattern.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/testing/math_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

class AcOperandsTest : public testing::Test {
 protected:
  AcOperandsTest()
      : graph_(MathLanguage()),
        syntax_(MathSyntax(graph_.language())),
        plus_(*graph_.language().FindOp("+")) {}

  ClassId Add(std::string_view term) {
    const ClassId cls = *AddTerm(&graph_, term, syntax_);
    graph_.Rebuild();
    return graph_.Find(cls);
  }
  std::vector<ClassId> Sorted(std::vector<ClassId> classes) {
    std::sort(classes.begin(), classes.end());
    return classes;
  }

  EGraph graph_;
  Syntax syntax_;
  OpId plus_;
};

TEST_F(AcOperandsTest, FlattensAnyNesting) {
  const ClassId a = Add("a"), b = Add("b"), product = Add("(* a (+ b c))");
  EXPECT_EQ(
      GatherOperands(graph_, plus_, Add("(+ (+ a b) (+ (* a (+ b c)) a))"), 64),
      Sorted({a, a, b, product}));
  EXPECT_EQ(GatherOperands(graph_, plus_, a, 64), std::vector<ClassId>{a});
}

TEST_F(AcOperandsTest, StopsAtTheLimitWithWholeOperands) {
  constexpr size_t kOperands = 20'000;
  std::string sum = "x";
  for (size_t i = 1; i < kOperands; ++i) sum = "(+ " + sum + " y)";
  const ClassId root = Add(sum);
  for (const size_t limit : {size_t{1}, size_t{2}, size_t{5}, 2 * kOperands}) {
    const auto operands = GatherOperands(graph_, plus_, root, limit);
    EXPECT_EQ(operands.size(), std::min(limit, kOperands));
  }
}

TEST_F(AcOperandsTest, ClassesThatContainThemselvesStayWhole) {
  const ClassId x = Add("x"), zero = Add("0");
  graph_.Union(x, Add("(+ x 0)"));
  graph_.Union(zero, Add("(+ 0 0)"));
  graph_.Rebuild();
  EXPECT_EQ(GatherOperands(graph_, plus_, x, 64),
            std::vector<ClassId>{graph_.Find(x)});
  EXPECT_EQ(GatherOperands(graph_, plus_, Add("(+ y x)"), 64),
            Sorted({Add("y"), graph_.Find(x)}));
}

TEST_F(AcOperandsTest, ARuleMakesSumsEqualWithoutTheirOrders) {
  const ClassId left = Add("(+ a (+ b (+ c (+ d (+ e (+ f (+ g h)))))))");
  const ClassId right = Add("(+ (+ (+ h c) (+ a g)) (+ (+ b e) (+ f d)))");
  const ClassId other = Add("(+ (+ (+ h c) (+ a g)) (+ (+ b e) (+ f f)))");
  RuleBuilder rule("sort");
  const SortId math = *graph_.language().FindSort("Math");
  const Slot a = rule.Variable(math, "a"), b = rule.Variable(math, "b");
  const Slot root = rule.Match(plus_, {a, b});
  rule.Union(root, rule.Call(math, SortedChain(plus_, 64), {root}));
  RuleBook book;
  const std::vector<RuleId> rules = {
      book.Add(*std::move(rule).Build(graph_.language()))};
  Runner(&graph_, &book, {.max_iterations = 3}).Run(rules);
  EXPECT_TRUE(graph_.Same(left, right));
  EXPECT_FALSE(graph_.Same(left, other));
  EXPECT_LT(graph_.num_enodes(), 100);
}

}  // namespace
}  // namespace encore::egraph
