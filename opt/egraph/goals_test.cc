// The goals of egg's own tests, with its limits and its back-off scheduler.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/schedulers.h"
#include "encore/opt/egraph/run/tree_cost.h"
#include "encore/opt/egraph/testing/math_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

// Conditions are those of FoldingMathLanguage.
constexpr std::string_view kMathRules[] = {
    "(+ ?a ?b) => (+ ?b ?a)",
    "(* ?a ?b) => (* ?b ?a)",
    "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)",
    "(* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)",
    "(- ?a ?b) => (+ ?a (* -1 ?b))",
    "(/ ?a ?b) => (* ?a (pow ?b -1)) if nz ?b",
    "(+ ?a 0) => ?a",
    "(* ?a 0) => 0",
    "(* ?a 1) => ?a",
    "?a => (+ ?a 0)",
    "?a => (* ?a 1)",
    "(- ?a ?a) => 0",
    "(/ ?a ?a) => 1 if nz ?a",
    "(* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))",
    "(+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))",
    "(* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))",
    "(pow ?x 0) => 1 if nz ?x",
    "(pow ?x 1) => ?x",
    "(pow ?x 2) => (* ?x ?x)",
    "(pow ?x -1) => (/ 1 ?x) if nz ?x",
    "(* ?x (/ 1 ?x)) => 1 if nz ?x",
    "(d ?x ?x) => 1 if sym ?x",
    "(d ?x ?c) => 0 if sym ?x, dist ?c ?x",
    "(d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b))",
    "(d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))",
    "(d ?x (sin ?x)) => (cos ?x)",
    "(d ?x (cos ?x)) => (* -1 (sin ?x))",
    "(d ?x (ln ?x)) => (/ 1 ?x) if nz ?x",
    "(d ?x (pow ?f ?g)) => (* (pow ?f ?g) (+ (* (d ?x ?f) (/ ?g ?f)) (* (d ?x "
    "?g) (ln ?f)))) if nz ?f, nz ?g",
    "(i 1 ?x) => ?x",
    "(i (pow ?x ?c) ?x) => (/ (pow ?x (+ ?c 1)) (+ ?c 1)) if const ?c",
    "(i (cos ?x) ?x) => (sin ?x)",
    "(i (sin ?x) ?x) => (* -1 (cos ?x))",
    "(i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x))",
    "(i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x))",
    "(i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))",
};

struct Goal {
  std::string_view name;
  std::string_view start;
  std::string_view goal;
  bool reached;
  size_t iterations;
  size_t nodes;
  double seconds;
  bool insert_goal;
};

constexpr Goal kMathGoals[] = {
    {"math_fail", "(+ x y)", "(/ x y)", false, 30, 10000, 5, false},
    {"math_simplify_add", "(+ x (+ x (+ x x)))", "(* 4 x)", true, 30, 10000, 5,
     false},
    {"math_powers", "(* (pow 2 x) (pow 2 y))", "(pow 2 (+ x y))", true, 30,
     10000, 5, false},
    {"math_simplify_const", "(+ 1 (- a (* (- 2 1) a)))", "1", true, 30, 10000,
     5, false},
    {"math_simplify_root",
     "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
     "(/ 1 (sqrt five))", true, 30, 75000, 5, false},
    {"math_simplify_factor", "(* (+ x 3) (+ x 1))", "(+ (+ (* x x) (* 4 x)) 3)",
     true, 30, 10000, 5, false},
    {"math_diff_same", "(d x x)", "1", true, 30, 10000, 5, false},
    {"math_diff_different", "(d x y)", "0", true, 30, 10000, 5, false},
    {"math_diff_simple1", "(d x (+ 1 (* 2 x)))", "2", true, 30, 10000, 5,
     false},
    {"math_diff_simple2", "(d x (+ 1 (* y x)))", "y", true, 30, 10000, 5,
     false},
    {"math_diff_ln", "(d x (ln x))", "(/ 1 x)", true, 30, 10000, 5, false},
    {"diff_power_simple", "(d x (pow x 3))", "(* 3 (pow x 2))", true, 30, 10000,
     5, false},
    {"diff_power_harder", "(d x (- (pow x 3) (* 7 (pow x 2))))",
     "(* x (- (* 3 x) 14))", true, 60, 100000, 10, true},
    {"integ_one", "(i 1 x)", "x", true, 30, 10000, 5, false},
    {"integ_sin", "(i (cos x) x)", "(sin x)", true, 30, 10000, 5, false},
    {"integ_x", "(i (pow x 1) x)", "(/ (pow x 2) 2)", true, 30, 10000, 5,
     false},
    {"integ_part1", "(i (* x (cos x)) x)", "(+ (* x (sin x)) (cos x))", true,
     30, 10000, 5, false},
    {"integ_part2", "(i (* (cos x) x) x)", "(+ (* x (sin x)) (cos x))", true,
     30, 10000, 5, false},
    {"integ_part3", "(i (ln x) x)", "(- (* x (ln x)) x)", true, 30, 10000, 5,
     false},
};

class MathGoalTest : public testing::TestWithParam<Goal> {};

TEST_P(MathGoalTest, IsReachedWithinTheLimits) {
  const Goal& goal = GetParam();
  FoldingMath math;
  const ClassId start = *AddTerm(&math.graph, goal.start, math.syntax);
  if (goal.insert_goal) {
    ASSERT_TRUE(AddTerm(&math.graph, goal.goal, math.syntax).ok());
  }
  RuleBook book;
  const std::vector<RuleId> rules =
      AddRules(&math.graph, math.syntax, kMathRules, &book);
  Runner runner(&math.graph, &book,
                {.max_nodes = goal.nodes,
                 .max_seconds = 20 * goal.seconds,
                 .max_iterations = goal.iterations});
  BackoffScheduler scheduler;
  const StopReason stop = runner.Run(rules, &scheduler, [&](const EGraph&) {
    return *Contains(&math.graph, start, goal.goal, math.syntax);
  });
  EXPECT_EQ(stop == StopReason::kGoal, goal.reached)
      << ToString(stop) << " after " << runner.iterations() << " iterations, "
      << math.graph.num_enodes() << " nodes";
  EXPECT_TRUE(math.graph.error().ok());
}

INSTANTIATE_TEST_SUITE_P(Egg, MathGoalTest, testing::ValuesIn(kMathGoals),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(GoalsTest, SimpleTermsAreExtracted) {
  constexpr std::string_view kRules[] = {
      "(+ ?a ?b) => (+ ?b ?a)", "(* ?a ?b) => (* ?b ?a)", "(+ ?a 0) => ?a",
      "(* ?a 0) => 0", "(* ?a 1) => ?a"};
  constexpr std::pair<std::string_view, std::string_view> kGoals[] = {
      {"(* 0 42)", "(Const 0)"}, {"(+ 0 (* 1 foo))", "(Var \"foo\")"}};
  for (const auto& [start, goal] : kGoals) {
    EGraph graph(MathLanguage());
    const Syntax syntax = MathSyntax(graph.language());
    const ClassId root = *AddTerm(&graph, start, syntax);
    RuleBook book;
    const std::vector<RuleId> rules = AddRules(&graph, syntax, kRules, &book);
    EXPECT_EQ(Runner(&graph, &book).Run(rules), StopReason::kSaturated);
    EXPECT_EQ(*TreeCosts(graph).Text(root), goal);
  }
}

TEST(GoalsTest, AssociateAdds) {
  constexpr std::string_view kRules[] = {
      "(+ ?a ?b) => (+ ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)"};
  EGraph graph(MathLanguage());
  const Syntax syntax = MathSyntax(graph.language());
  const ClassId root =
      *AddTerm(&graph, "(+ 1 (+ 2 (+ 3 (+ 4 (+ 5 (+ 6 7))))))", syntax);
  RuleBook book;
  const std::vector<RuleId> rules = AddRules(&graph, syntax, kRules, &book);
  Runner(&graph, &book, {.max_iterations = 7}).Run(rules);
  EXPECT_EQ(*FindTerm(&graph, "(+ 7 (+ 6 (+ 5 (+ 4 (+ 3 (+ 2 1))))))", syntax),
            graph.Find(root));
  EXPECT_EQ(graph.num_classes(), 127);
  EXPECT_EQ(graph.num_enodes(), 1939);
}

TEST(GoalsTest, AssocMulSaturates) {
  FoldingMath math;
  ASSERT_TRUE(AddTerm(&math.graph, "(* x 1)", math.syntax).ok());
  RuleBook book;
  const std::vector<RuleId> rules =
      AddRules(&math.graph, math.syntax, kMathRules, &book);
  EXPECT_EQ(Runner(&math.graph, &book, {.max_iterations = 3}).Run(rules),
            StopReason::kSaturated);
}

// egg's math_lp_extract: with every node paid for once, shared sums are cheaper
// than the products that make the least tree.
TEST(GoalsTest, MathDagExtraction) {
  FoldingMath math;
  const ClassId root =
      *AddTerm(&math.graph, "(pow (+ x (+ x x)) (+ x x))", math.syntax);
  RuleBook book;
  const std::vector<RuleId> rules =
      AddRules(&math.graph, math.syntax, kMathRules, &book);
  Runner(&math.graph, &book, {.max_iterations = 3}).Run(rules);
  const auto unit = [](const EGraph&, NodeId) { return 1.0; };
  const std::vector<ClassId> roots = {root};
  const StatusOr<DagTerms> terms =
      DagTerms::Extract(math.graph, roots, {}, unit);
  ASSERT_TRUE(terms.ok());
  EXPECT_TRUE(terms->optimal());
  EXPECT_EQ(terms->cost(), 4);
  EXPECT_NE(*terms->Text(root), *TreeCosts(math.graph, unit).Text(root));
}

Language PropLanguage() {
  Language language;
  const SortId prop = *language.AddClassSort("Prop");
  for (const std::string_view name : {"->", "|", "&"}) {
    EXPECT_TRUE(language
                    .AddOp({.name = std::string(name),
                            .args = {prop, prop},
                            .result = prop})
                    .ok());
  }
  EXPECT_TRUE(
      language.AddOp({.name = "~", .args = {prop}, .result = prop}).ok());
  for (const char* name : {"True", "False"}) {
    EXPECT_TRUE(
        language.AddOp({.name = name, .args = {}, .result = prop}).ok());
  }
  EXPECT_TRUE(
      language.AddOp({.name = "Var", .args = {kStringSort}, .result = prop})
          .ok());
  return language;
}

void ReachAll(std::span<const std::string_view> rules, std::string_view start,
              std::span<const std::string_view> goals, size_t enodes,
              size_t classes) {
  EGraph graph(PropLanguage());
  const Syntax syntax = {.number = std::nullopt,
                         .symbol = graph.language().FindOp("Var")};
  const ClassId root = *AddTerm(&graph, start, syntax);
  graph.Union(root, *AddTerm(&graph, "True", syntax));
  RuleBook book;
  const std::vector<RuleId> ids = AddRules(&graph, syntax, rules, &book);
  Runner runner(&graph, &book, {.max_nodes = 5000, .max_iterations = 20});
  const StopReason stop = runner.Run(ids, nullptr, [&](const EGraph&) {
    for (const std::string_view goal : goals) {
      if (!*Contains(&graph, root, goal, syntax)) return false;
    }
    return true;
  });
  EXPECT_EQ(stop, StopReason::kGoal) << ToString(stop);
  EXPECT_EQ(graph.num_enodes(), enodes);
  EXPECT_EQ(graph.num_classes(), classes);
}

TEST(GoalsTest, PropContrapositive) {
  constexpr std::string_view kRules[] = {
      "(-> ?a ?b) => (| (~ ?a) ?b)", "(| (~ ?a) ?b) => (-> ?a ?b)",
      "?a => (~ (~ ?a))", "(| ?a ?b) => (| ?b ?a)"};
  constexpr std::string_view kGoals[] = {
      "(-> x y)", "(| (~ x) y)", "(| (~ x) (~ (~ y)))", "(| (~ (~ y)) (~ x))",
      "(-> (~ y) (~ x))"};
  ReachAll(kRules, "(-> x y)", kGoals, 13, 6);
}

TEST(GoalsTest, PropChain) {
  constexpr std::string_view kRules[] = {
      "(-> ?a ?b) => (| (~ ?a) ?b)",
      "(| (~ ?a) ?b) => (-> ?a ?b)",
      "?a => (~ (~ ?a))",
      "(| ?a ?b) => (| ?b ?a)",
      "(& ?a ?b) => (& ?b ?a)",
      "?v = True, ?v = (& (-> ?a ?b) (-> (~ ?a) ?c)) => ?v = (| ?b ?c)"};
  constexpr std::string_view kGoals[] = {"(& (-> x y) (-> y z))",
                                         "(& (-> (~ y) (~ x)) (-> y z))",
                                         "(& (-> y z) (-> (~ y) (~ x)))",
                                         "(| z (~ x))",
                                         "(| (~ x) z)",
                                         "(-> x z)"};
  ReachAll(kRules, "(& (-> x y) (-> y z))", kGoals, 30, 12);
}

// Whether a class is known to be true or false, for (& a b), (| a b), (~ a)
// and (-> a b) over True and False.
class FoldBooleans : public FactAnalysis<std::optional<bool>> {
 public:
  void Modify(EGraph* graph, ClassId cls) override {
    if (!fact(cls).has_value()) return;
    const OpId op = *graph->language().FindOp(*fact(cls) ? "True" : "False");
    graph->Union(graph->Add(op, {}), cls, ProofStep::Analysis());
  }
  std::unique_ptr<Analysis> Clone() const override {
    return std::make_unique<FoldBooleans>(*this);
  }

 protected:
  std::optional<bool> Of(const EGraph& graph, NodeId node) override {
    const std::string& op = graph.language().op(graph.op(node)).name;
    if (op == "True" || op == "False") return op == "True";
    if (op == "Var") return std::nullopt;
    const std::span<const Value> args = graph.args(node);
    const std::optional<bool> a = fact(graph.Find(ClassId(args[0])));
    const std::optional<bool> b = fact(graph.Find(ClassId(args.back())));
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    if (op == "~") return !*a;
    if (op == "&") return *a && *b;
    return op == "|" ? *a || *b : !*a || *b;
  }
  bool Join(EGraph* graph, std::optional<bool>* into,
            const std::optional<bool>& from) override {
    if (!from.has_value() || *into == from) return false;
    if (into->has_value()) {
      if (graph != nullptr) graph->SetError(InternalError("true is false"));
      return false;
    }
    *into = from;
    return true;
  }
};

TEST(GoalsTest, PropConstantsFoldWithoutRules) {
  EGraph graph(PropLanguage());
  graph.AddAnalysis(std::make_unique<FoldBooleans>());
  const ClassId start = *AddTerm(&graph, "(| (& False True) (& True False))");
  graph.Rebuild();
  EXPECT_EQ(*FindTerm(&graph, "False"), graph.Find(start));
  EXPECT_NE(*FindTerm(&graph, "True"), graph.Find(start));
  EXPECT_EQ(graph.num_enodes(), 5);
  EXPECT_EQ(graph.num_classes(), 2);
}

// Facts as terms that are equal to True, as in egg's datalog tests; `edges` are
// true, `terms` only exist. The pairs among 1 to 4 that have a path.
std::vector<std::string> Paths(std::span<const std::string_view> edges,
                               std::span<const std::string_view> terms) {
  Language language;
  const SortId fact = *language.AddClassSort("Fact");
  EXPECT_TRUE(
      language.AddOp({.name = "True", .args = {}, .result = fact}).ok());
  for (const char* name : {"edge", "path"}) {
    EXPECT_TRUE(
        language
            .AddOp({.name = name, .args = {kI64Sort, kI64Sort}, .result = fact})
            .ok());
  }
  EGraph graph(std::move(language));
  const ClassId truth = *AddTerm(&graph, "True");
  for (const std::string_view edge : edges) {
    graph.Union(*AddTerm(&graph, edge), truth);
  }
  for (const std::string_view term : terms) {
    EXPECT_TRUE(AddTerm(&graph, term).ok());
  }
  constexpr std::string_view kRules[] = {
      "?t = True, ?t = (edge ?a ?b) => ?t = (path ?a ?b)",
      "?t = True, ?t = (path ?a ?b), ?t = (edge ?b ?c) => ?t = (path ?a ?c)"};
  RuleBook book;
  const std::vector<RuleId> rules = AddRules(&graph, {}, kRules, &book);
  EXPECT_EQ(Runner(&graph, &book).Run(rules), StopReason::kSaturated);
  std::vector<std::string> paths;
  for (char a = '1'; a <= '4'; ++a) {
    for (char b = '1'; b <= '4'; ++b) {
      const std::string term = std::string("(path ") + a + " " + b + ")";
      if (*FindTerm(&graph, term) == graph.Find(truth)) {
        paths.push_back({a, b});
      }
    }
  }
  return paths;
}

TEST(GoalsTest, Datalog) {
  constexpr std::string_view kEdges[] = {"(edge 1 2)", "(edge 2 3)",
                                         "(edge 3 4)", "(edge 1 4)"};
  constexpr std::string_view kTerms[] = {"(edge 4 1)", "(edge 2 1)",
                                         "(path 4 1)", "(path 3 2)"};
  const std::vector<std::string> expected = {"12", "13", "14",
                                             "23", "24", "34"};
  EXPECT_EQ(Paths(std::span(kEdges).first(3), {}), expected);
  EXPECT_EQ(Paths(kEdges, kTerms), expected);
}

}  // namespace
}  // namespace encore::egraph
