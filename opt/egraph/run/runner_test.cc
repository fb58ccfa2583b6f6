#include "encore/opt/egraph/run/runner.h"

#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/opt/egraph/run/schedulers.h"
#include "encore/opt/egraph/testing/math_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

struct Micro {
  Micro() : graph(MathLanguage()), syntax(MathSyntax(graph.language())) {
    for (const std::string_view term : MathMicroTerms()) {
      root = *AddTerm(&graph, term, syntax);
    }
    rules = AddRules(&graph, syntax, MathMicroRules(), &book);
  }
  EGraph graph;
  Syntax syntax;
  RuleBook book;
  std::vector<RuleId> rules;
  ClassId root;
};

// No two live nodes are equal and all columns are canonical.
void ExpectCongruent(const EGraph& graph) {
  std::set<std::vector<uint32_t>> seen;
  for (uint32_t n = 0; n < graph.node_limit(); ++n) {
    if (!graph.store().live(n)) continue;
    std::vector<uint32_t> key = {graph.op(NodeId(n)).value()};
    const auto args = graph.args(NodeId(n));
    for (size_t i = 0; i < args.size(); ++i) {
      key.push_back(args[i]);
      if (graph.store().is_class_column(key[0], i)) {
        EXPECT_EQ(graph.Find(ClassId(args[i])), ClassId(args[i]));
      }
    }
    EXPECT_TRUE(seen.insert(key).second);
  }
  EXPECT_EQ(seen.size(), graph.num_enodes());
}

TEST(RunnerTest, NodeLimitIsOvershotByOneMatchAtMost) {
  for (const size_t limit : {100, 1000, 5000, 20000}) {
    Micro t;
    Runner runner(&t.graph, &t.book, {.max_nodes = limit});
    size_t peak = 0;
    EXPECT_EQ(runner.Run(t.rules), StopReason::kNodes);
    for (const RuleId rule : t.rules) peak += runner.stats(rule).nodes;
    EXPECT_LE(t.graph.num_enodes(), limit + 5);
    EXPECT_GT(peak, limit / 2);
    ExpectCongruent(t.graph);
    // What is left is found again.
    Runner(&t.graph, &t.book, {.max_iterations = 1}).Run(t.rules);
    EXPECT_GT(t.graph.num_enodes(), limit);
  }
}

// path(0, 1), ..., path(n - 1, n).
struct Chain {
  explicit Chain(int n) {
    Language language;
    path = *language.AddRelation("path", {kI64Sort, kI64Sort});
    seen = *language.AddRelation("seen", {kI64Sort});
    graph = EGraph(std::move(language));
    for (int i = 0; i < n; ++i) graph.Add(path, {Number(i), Number(i + 1)});
  }
  Value Number(int64_t i) { return graph.language().literals().I64(i); }
  OpId path, seen;
  EGraph graph;
  RuleBook book;
};

TEST(RunnerTest, RowsOfRelationsCountAsNodes) {
  for (const size_t limit : {100, 101, 1000, 4000}) {
    Chain t(100);
    RuleBuilder rule("transitive");
    const Slot x = rule.Variable(kI64Sort), y = rule.Variable(kI64Sort),
               z = rule.Variable(kI64Sort);
    rule.Match(t.path, {x, y});
    rule.Match(t.path, {y, z});
    rule.Insert(t.path, {x, z});
    const RuleId id = t.book.Add(*std::move(rule).Build(t.graph.language()));
    Runner runner(&t.graph, &t.book, {.max_nodes = limit});
    EXPECT_EQ(runner.Run({&id, 1}), StopReason::kNodes);
    EXPECT_EQ(t.graph.num_rows(t.path), limit + 1);
    EXPECT_EQ(t.graph.num_enodes(), 0);
    runner.set_max_nodes(5050);
    EXPECT_EQ(runner.Run({&id, 1}), StopReason::kSaturated);
    EXPECT_EQ(t.graph.num_rows(t.path), 5050);
  }
}

TEST(RunnerTest, MatchesThatMakeNothingAreLimitedToo) {
  Chain t(4500);  // of which there are 20 million pairs
  RuleBuilder rule("pairs");
  const Slot a = rule.Variable(kI64Sort), b = rule.Variable(kI64Sort),
             c = rule.Variable(kI64Sort), d = rule.Variable(kI64Sort);
  rule.Match(t.path, {a, b});
  rule.Match(t.path, {c, d});
  rule.Insert(t.seen, {rule.Constant(kI64Sort, t.Number(0))});
  const RuleId id = t.book.Add(*std::move(rule).Build(t.graph.language()));
  Runner runner(&t.graph, &t.book, {.max_nodes = 5000});
  const StepReport report = runner.Step({&id, 1});
  EXPECT_EQ(report.stop, StopReason::kMatches);
  EXPECT_GT(report.matches, size_t{1} << 24);
  EXPECT_LT(report.matches, size_t{1} << 25);
  EXPECT_EQ(t.graph.num_rows(t.seen), 1);
  EXPECT_TRUE(t.graph.rebuilt());
}

TEST(RunnerTest, InterruptAndTimeStopARun) {
  Micro t;
  std::atomic<bool> interrupt = true;
  EXPECT_EQ(Runner(&t.graph, &t.book, {.interrupt = &interrupt}).Run(t.rules),
            StopReason::kInterrupted);
  Runner timed(&t.graph, &t.book, {.max_seconds = 0.02});
  EXPECT_EQ(timed.Run(t.rules), StopReason::kTime);
  EXPECT_LT(timed.seconds(), 2);
  ExpectCongruent(t.graph);
}

TEST(RunnerTest, QuotasLoseNoMatch) {
  constexpr std::string_view kRules[] = {
      "(+ ?a ?b) => (+ ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)"};
  for (const size_t quota : {1, 7, 100}) {
    EGraph graph(MathLanguage());
    const Syntax syntax = MathSyntax(graph.language());
    ASSERT_TRUE(
        AddTerm(&graph, "(+ 1 (+ 2 (+ 3 (+ 4 (+ 5 6)))))", syntax).ok());
    RuleBook book;
    const auto rules = AddRules(&graph, syntax, kRules, &book);
    Runner runner(&graph, &book, {.max_matches = quota});
    EXPECT_EQ(runner.Run(rules), StopReason::kSaturated);
    EXPECT_EQ(graph.num_classes(), 63);  // the non-empty subsets
    EXPECT_EQ(graph.num_enodes(), 602 + 6);
    ExpectCongruent(graph);
  }
}

TEST(RunnerTest, AlternatingAndLateRulesSeeEverything) {
  constexpr std::string_view kRules[] = {
      "(+ ?a ?b) => (+ ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)"};
  EGraph graph(MathLanguage());
  const Syntax syntax = MathSyntax(graph.language());
  ASSERT_TRUE(AddTerm(&graph, "(+ 1 (+ 2 (+ 3 (+ 4 (+ 5 6)))))", syntax).ok());
  RuleBook book;
  const auto rules = AddRules(&graph, syntax, kRules, &book);
  Runner runner(&graph, &book);
  int quiet = 0;
  for (int i = 0; quiet < 2; ++i) {
    const RuleId rule = rules[i % 2];
    quiet = runner.Step({&rule, 1}).changed ? 0 : quiet + 1;
  }
  EXPECT_EQ(graph.num_classes(), 63);
  EXPECT_EQ(graph.num_enodes(), 602 + 6);
}

TEST(RunnerTest, BestCostSchedulerReachesTheSameEnd) {
  constexpr std::string_view kRules[] = {"(+ ?a ?b) => (+ ?b ?a)",
                                         "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)",
                                         "(+ ?a 0) => ?a", "(- ?a ?a) => 0"};
  EGraph graph(MathLanguage());
  const Syntax syntax = MathSyntax(graph.language());
  const ClassId root =
      *AddTerm(&graph, "(+ (- x x) (+ a (+ (- b b) (+ c (- d d)))))", syntax);
  RuleBook book;
  const auto rules = AddRules(&graph, syntax, kRules, &book);
  BestCostScheduler scheduler(root, DeclaredCost, 2, 16);
  EXPECT_EQ(Runner(&graph, &book).Run(rules, &scheduler),
            StopReason::kSaturated);
  EXPECT_EQ(scheduler.best_cost(), 5);  // (+ a c)
}

// Soundness on all models of two elements: a model gives each operator a
// function (split one to pairs of elements); what the graph holds equal is
// equal in every model in which the rule and the given union hold.
TEST(RunnerTest, MultiOutputOperatorsAreSound) {
  Language language;
  const SortId v = *language.AddClassSort("V");
  const auto split = *language.AddMultiOp("split", {v}, {v, v});
  const OpId x = *language.AddOp({.name = "x", .args = {}, .result = v});
  const OpId y = *language.AddOp({.name = "y", .args = {}, .result = v});
  const OpId join = *language.AddOp({.name = "p", .args = {v, v}, .result = v});
  EGraph graph(std::move(language));
  RuleBook book;
  const RuleId rule = book.Add(*ParseRule(
      &graph.language(), "",
      "?t = (split ?a), ?w = (p (split.0 ?t) (split.1 ?t)) => ?w = ?a"));
  const ClassId cx = graph.Add(x, {}), cy = graph.Add(y, {});
  const ClassId tuples[] = {graph.Add(split.op, {cx.value()}),
                            graph.Add(split.op, {cy.value()})};
  std::vector<ClassId> terms = {cx, cy};
  for (const ClassId t : tuples) {
    for (const OpId part : split.projections) {
      terms.push_back(graph.Add(part, {t.value()}));
    }
  }
  for (int i = 2; i < 6; ++i) {
    for (int j = 2; j < 6; ++j) {
      terms.push_back(graph.Add(join, {terms[i].value(), terms[j].value()}));
    }
  }
  graph.Union(terms[2], terms[4]);  // given: the first parts are equal
  Runner(&graph, &book).Run({&rule, 1});
  ExpectCongruent(graph);
  EXPECT_TRUE(graph.Same(terms[6 + 1], cx));  // p(split.0 x, split.1 x)
  EXPECT_FALSE(graph.Same(tuples[0], tuples[1]));
  int models = 0;
  for (int m = 0; m < 1 << 10; ++m) {
    const int xy[] = {m & 1, m >> 1 & 1};
    const auto part = [&](int k, int a) { return m >> (2 + 2 * k + a) & 1; };
    const auto p = [&](int a, int b) { return m >> (6 + 2 * a + b) & 1; };
    const bool rule_holds =
        p(part(0, 0), part(1, 0)) == 0 && p(part(0, 1), part(1, 1)) == 1;
    if (!rule_holds || part(0, xy[0]) != part(0, xy[1])) continue;
    ++models;
    std::vector<int> values = {xy[0], xy[1]};
    for (const int a : xy) {
      for (int k = 0; k < 2; ++k) values.push_back(part(k, a));
    }
    for (int i = 2; i < 6; ++i) {
      for (int j = 2; j < 6; ++j) values.push_back(p(values[i], values[j]));
    }
    for (size_t i = 0; i < terms.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (graph.Same(terms[i], terms[j])) EXPECT_EQ(values[i], values[j]);
      }
    }
  }
  EXPECT_GT(models, 10);
}

}  // namespace
}  // namespace encore::egraph
