// egg's lambda suite: names, capture and fresh symbols through analyses and
// rules that compute.
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/schedulers.h"
#include "encore/opt/egraph/testing/lambda_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

struct Goal {
  std::string_view name;
  std::string_view start;
  std::vector<std::string_view> goals;
  bool reached = true;
  size_t iterations = 30;
  size_t nodes = 10'000;
  double seconds = 5;
};

const Goal kGoals[] = {
    {"under", "(lam x (+ 4 (app (lam y (var y)) 4)))", {"(lam x 8)"}},
    {"if_elim",
     "(if (= (var a) (var b)) (+ (var a) (var a)) (+ (var a) (var b)))",
     {"(+ (var a) (var b))"}},
    {"let_simple", "(let x 0 (let y 1 (+ (var x) (var y))))", {"1"}},
    {"capture", "(let x 1 (lam x (var x)))", {"(lam x 1)"}, false},
    {"capture_free",
     "(let y (+ (var x) (var x)) (lam x (var y)))",
     {"(lam x (+ (var x) (var x)))"},
     false},
    {"closure_not_seven",
     "(let five 5 (let add-five (lam x (+ (var x) (var five)))"
     " (let five 6 (app (var add-five) 1))))",
     {"7"},
     false},
    {"compose",
     "(let compose (lam f (lam g (lam x (app (var f) (app (var g) (var x))))))"
     " (let add1 (lam y (+ (var y) 1))"
     " (app (app (var compose) (var add1)) (var add1))))",
     {"(lam ?x (+ 1 (app (lam ?y (+ 1 (var ?y))) (var ?x))))",
      "(lam ?x (+ (var ?x) 2))"}},
    {"if_simple", "(if (= 1 1) 7 9)", {"7"}},
    {"compose_many",
     "(let compose (lam f (lam g (lam x (app (var f) (app (var g) (var x))))))"
     " (let add1 (lam y (+ (var y) 1)) (app (app (var compose) (var add1))"
     " (app (app (var compose) (var add1)) (app (app (var compose) (var add1))"
     " (app (app (var compose) (var add1)) (app (app (var compose) (var add1))"
     " (app (app (var compose) (var add1)) (var add1)))))))))",
     {"(lam ?x (+ (var ?x) 7))"}},
    {"function_repeat",
     "(let compose (lam f (lam g (lam x (app (var f) (app (var g) (var x))))))"
     " (let repeat (fix repeat (lam fun (lam n (if (= (var n) 0)"
     " (lam i (var i)) (app (app (var compose) (var fun))"
     " (app (app (var repeat) (var fun)) (+ (var n) -1)))))))"
     " (let add1 (lam y (+ (var y) 1))"
     " (app (app (var repeat) (var add1)) 2))))",
     {"(lam ?x (+ (var ?x) 2))"},
     true,
     60,
     150'000,
     20},
    {"if",
     "(let zeroone (lam x (if (= (var x) 0) 0 1))"
     " (+ (app (var zeroone) 0) (app (var zeroone) 10)))",
     {"1"}},
    {"fib",
     "(let fib (fix fib (lam n (if (= (var n) 0) 0 (if (= (var n) 1) 1"
     " (+ (app (var fib) (+ (var n) -1)) (app (var fib) (+ (var n) -2)))))))"
     " (app (var fib) 4))",
     {"3"},
     true,
     60,
     500'000},
};

class LambdaTest : public testing::TestWithParam<Goal> {};

TEST_P(LambdaTest, GoalIsReachedWhereItIsTrue) {
  const Goal& goal = GetParam();
  Lambda lambda;
  EGraph& graph = lambda.graph;
  const ClassId start = *AddTerm(&graph, goal.start, lambda.syntax);
  RuleBook book;
  const std::vector<RuleId> rules = AddLambdaRules(&lambda, &book);
  // Nodes and iterations decide; time only ends what hangs.
  Runner runner(&graph, &book,
                {.max_nodes = goal.nodes,
                 .max_seconds = 10 * goal.seconds,
                 .max_iterations = goal.iterations});
  BackoffScheduler scheduler;
  const StopReason stop = runner.Run(rules, &scheduler, [&](const EGraph&) {
    for (const std::string_view pattern : goal.goals) {
      if (!*Contains(&graph, start, pattern, lambda.syntax)) return false;
    }
    return true;
  });
  EXPECT_EQ(stop == StopReason::kGoal, goal.reached)
      << ToString(stop) << " after " << runner.iterations() << " iterations, "
      << graph.num_enodes() << " nodes";
  EXPECT_TRUE(graph.error().ok()) << graph.error();
  RecordProperty("nodes", static_cast<int>(graph.num_enodes()));
}

INSTANTIATE_TEST_SUITE_P(Egg, LambdaTest, testing::ValuesIn(kGoals),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

class FreeVariablesTest : public testing::Test {
 protected:
  ClassId Add(std::string_view term) {
    return *AddTerm(&lambda_.graph, term, lambda_.syntax);
  }
  bool Free(std::string_view symbol, ClassId cls) {
    const ClassId name = *AddTerm(&lambda_.graph, symbol, lambda_.syntax);
    return lambda_.graph.analysis<FreeVariables>(1).Has(lambda_.graph.Find(cls),
                                                        name.value());
  }
  Lambda lambda_;
};

TEST_F(FreeVariablesTest, FollowsBinders) {
  const ClassId let = Add("(let x (var x) (+ (var x) (var y)))");
  EXPECT_TRUE(Free("x", let));  // of the bound value
  EXPECT_TRUE(Free("y", let));
  const ClassId lam =
      Add("(lam x (fix y (app (var x) (app (var y) (var z)))))");
  EXPECT_FALSE(Free("x", lam));
  EXPECT_FALSE(Free("y", lam));
  EXPECT_TRUE(Free("z", lam));
}

TEST_F(FreeVariablesTest, ShrinksAtUnionsAndAboveThem) {
  const ClassId inner = Add("(if true 1 (var x))");
  const ClassId outer = Add("(lam y (app (var f) (if true 1 (var x))))");
  EXPECT_TRUE(Free("x", inner));
  EXPECT_TRUE(Free("x", outer));
  lambda_.graph.Union(inner, Add("1"));
  lambda_.graph.Rebuild();
  EXPECT_FALSE(Free("x", inner));
  EXPECT_FALSE(Free("x", outer));
  EXPECT_TRUE(Free("f", outer));
}

TEST_F(FreeVariablesTest, FreshNamesAvoidEveryFreeName) {
  // _N, for the root's class, is what the rule would take first.
  const std::string_view body = "(app (var x) (app (var y) (var w)))";
  Lambda probe;
  const ClassId first = *AddTerm(
      &probe.graph, StrCat("(let y (var x) (lam x ", body, "))"), probe.syntax);
  const std::string taken = StrCat("_", first.value());
  const std::string text = StrCat(
      "(let y (var x) (lam x (app (var x) (app "
      "(var y) (var ",
      taken, ")))))");
  const ClassId start = Add(text);
  ASSERT_EQ(start, first);
  RuleBook book;
  const std::vector<RuleId> rules = AddLambdaRules(&lambda_, &book);
  Runner(&lambda_.graph, &book, {.max_iterations = 10}).Run(rules);
  EXPECT_TRUE(*Contains(
      &lambda_.graph, start,
      StrCat("(lam ?z (app (var ?z) (app (var x) (var ", taken, "))))"),
      lambda_.syntax));
  EXPECT_TRUE(Free(taken, start));
  EXPECT_TRUE(Free("x", start));
}

}  // namespace
}  // namespace encore::egraph
