#include "encore/opt/egraph/explain/explain.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/opt/egraph/explain/explain_check.h"
#include "encore/opt/egraph/explain/lemmas.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/tree_cost.h"
#include "encore/opt/egraph/testing/math_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

struct Explained {
  Explained() : graph(MathLanguage(), {.explanations = true}) {
    syntax = MathSyntax(graph.language());
  }
  ClassId Add(std::string_view text) { return *AddTerm(&graph, text, syntax); }
  EGraph graph;
  Syntax syntax;
  RuleBook book;
};

TEST(ExplainTest, NamesTheRules) {
  Explained t;
  const ClassId a = t.Add("(+ (* x 1) 0)");
  const ClassId b = t.Add("x");
  constexpr std::string_view kRules[] = {"(* ?a 1) => ?a", "(+ ?a 0) => ?a"};
  const auto rules = AddRules(&t.graph, t.syntax, kRules, &t.book);
  Runner(&t.graph, &t.book).Run(rules);
  const Explanation why = *Explain(t.graph, t.book, a, b);
  EXPECT_EQ(why.steps.size(), 2);
  EXPECT_TRUE(CheckExplanation(&t.graph.language(), t.book, why).ok());
  const std::string text = *why.Text(t.graph, t.book);
  EXPECT_NE(text.find("(+ ?a 0) => ?a ->"), std::string::npos) << text;
  EXPECT_FALSE(Explain(t.graph, t.book, a, t.Add("y")).ok());
}

TEST(ExplainTest, EveryPairOfTheMathBenchmarkIsProven) {
  Explained t;
  for (const std::string_view term : MathMicroTerms()) t.Add(term);
  const auto rules = AddRules(&t.graph, t.syntax, MathMicroRules(), &t.book);
  Runner runner(&t.graph, &t.book);
  for (int i = 0; i < 7; ++i) runner.Step(rules);
  std::mt19937 random(1);
  int proven = 0;
  for (int i = 0; i < 3000; ++i) {
    const ClassId a(1 + random() % (t.graph.node_limit() - 1));
    const std::vector<NodeId> members = t.graph.Members(a);
    const ClassId b(members[random() % members.size()].value());
    const StatusOr<Explanation> why = Explain(t.graph, t.book, a, b, 100'000);
    if (!why.ok()) {
      EXPECT_EQ(why.status().code(), StatusCode::kResourceExhausted);
      continue;
    }
    const Status checked = CheckExplanation(&t.graph.language(), t.book, *why);
    ASSERT_TRUE(checked.ok()) << checked << "\n" << *why->Text(t.graph, t.book);
    proven += !why->steps.empty();
  }
  EXPECT_GT(proven, 1000);
}

// Of each root's class the node that was made last whose arguments are ranked
// below it, so that no choice needs itself.
TEST(LemmasTest, ChoicesOfTheMathBenchmarkAreProven) {
  Explained t;
  std::vector<ClassId> roots;
  for (const std::string_view term : MathMicroTerms()) {
    roots.push_back(t.Add(term));
  }
  const auto rules = AddRules(&t.graph, t.syntax, MathMicroRules(), &t.book);
  Runner runner(&t.graph, &t.book);
  for (int i = 0; i < 6; ++i) runner.Step(rules);
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::vector<double> costs(t.graph.node_limit());
    for (double& cost : costs) cost = static_cast<double>(1 + random() % 100);
    const TreeCosts best(t.graph, [&](const EGraph&, NodeId node) {
      return costs[node.value()];
    });
    auto lemmas = ExplainChoice(t.graph, t.book, roots,
                                [&](ClassId c) { return *best.best(c); });
    ASSERT_TRUE(lemmas.ok()) << lemmas.status();
    const auto check = [&] {
      return CheckLemmas(&t.graph.language(), t.book, *lemmas);
    };
    ASSERT_TRUE(check().ok()) << check();
    ASSERT_EQ(lemmas->goals.size(), roots.size());
    for (size_t k = 0; k < roots.size(); ++k) {
      EXPECT_EQ(TermText(t.graph.language(), lemmas->terms, lemmas->goals[k].to,
                         1 << 20)
                    .value(),
                best.Text(roots[k]).value());
    }
    // Nothing in it can be left out or be another.
    Lemma& lemma = lemmas->lemmas[random() % lemmas->lemmas.size()];
    if (lemma.kind == Lemma::Kind::kStep) {
      lemma.step.rule = rules[(lemma.step.rule.value() + 1) % rules.size()];
    } else {
      auto& uses = *std::ranges::find_if(
          lemma.columns, [](const auto& column) { return !column.empty(); });
      uses.pop_back();
    }
    EXPECT_FALSE(check().ok());
  }
}

// Each level uses the one below twice: as a chain of whole terms it would
// double with each.
TEST(LemmasTest, WhatIsSharedIsProvenOnce) {
  Explained t;
  ClassId root = t.Add("(+ x 0)");
  const OpId times = *t.graph.language().FindOp("*");
  const ClassId zero = t.Add("0");
  const OpId plus = *t.graph.language().FindOp("+");
  for (int i = 0; i < 200; ++i) {
    root = t.graph.Add(times, {root.value(), root.value()});
    root = t.graph.Add(plus, {root.value(), zero.value()});
  }
  constexpr std::string_view kRules[] = {"(+ ?a 0) => ?a"};
  const auto rules = AddRules(&t.graph, t.syntax, kRules, &t.book);
  Runner(&t.graph, &t.book).Run(rules);
  auto lemmas = ExplainChoice(t.graph, t.book, {&root, 1}, [&](ClassId c) {
    for (const NodeId node : t.graph.Members(c)) {
      if (t.graph.op(node) != plus) return node;
    }
    return NodeId();
  });
  ASSERT_TRUE(lemmas.ok()) << lemmas.status();
  EXPECT_LT(lemmas->lemmas.size(), 2000);
  EXPECT_EQ(
      std::ranges::count(lemmas->lemmas, Lemma::Kind::kStep, &Lemma::kind),
      201);
  EXPECT_TRUE(CheckLemmas(&t.graph.language(), t.book, *lemmas).ok());
}

TEST(ExplainTest, CongruenceDownALongChain) {
  Explained t;
  const OpId sin = *t.graph.language().FindOp("sin");
  ClassId a = t.Add("x"), b = t.Add("y");
  const std::pair<ClassId, ClassId> leaves = {a, b};
  for (int i = 0; i < 1000; ++i) {
    a = t.graph.Add(sin, {a.value()});
    b = t.graph.Add(sin, {b.value()});
  }
  t.graph.Union(leaves.first, leaves.second);
  t.graph.Rebuild();
  Explanation why = *Explain(t.graph, t.book, a, b);
  ASSERT_EQ(why.steps.size(), 1);
  EXPECT_EQ(why.steps[0].kind, ProofStep::Kind::kGiven);
  const auto leaf = [&](std::string_view name) {
    return why.terms.Make({*t.graph.language().FindOp("Var"),
                           {t.graph.language().literals().String(name)}});
  };
  EXPECT_FALSE(CheckExplanation(&t.graph.language(), t.book, why).ok());
  EXPECT_TRUE(CheckExplanation(&t.graph.language(), t.book, why,
                               {.unions = {{leaf("x"), leaf("y")}}})
                  .ok());
}

TEST(ExplainTest, CongruenceOfManyColumns) {
  Explained t;
  constexpr int kColumns = 256;
  const SortId math = *t.graph.language().FindSort("Math");
  const OpId wide =
      *t.graph.language().AddOp({.name = "wide",
                                 .args = std::vector<SortId>(kColumns, math),
                                 .result = math});
  const ClassId x = t.Add("x"), y = t.Add("y");
  std::vector<Value> first(kColumns, x.value()), second = first;
  second.back() = y.value();
  const ClassId a = t.graph.Add(wide, first), b = t.graph.Add(wide, second);
  t.graph.Union(x, y);
  t.graph.Rebuild();
  const Explanation why = *Explain(t.graph, t.book, a, b);
  ASSERT_EQ(why.steps.size(), 1);
  EXPECT_EQ(why.steps[0].kind, ProofStep::Kind::kGiven);
}

TEST(ExplainTest, CheckerRefusesWrongSteps) {
  Explained t;
  const ClassId a = t.Add("(+ x y)");
  const ClassId b = t.Add("(+ y x)");
  constexpr std::string_view kRules[] = {"(+ ?a ?b) => (+ ?b ?a)",
                                         "(* ?a ?b) => (* ?b ?a)"};
  const auto rules = AddRules(&t.graph, t.syntax, kRules, &t.book);
  Runner(&t.graph, &t.book).Run(rules);
  Explanation why = *Explain(t.graph, t.book, a, b);
  ASSERT_EQ(why.steps.size(), 1);
  why.steps[0].rule = rules[1];
  EXPECT_FALSE(CheckExplanation(&t.graph.language(), t.book, why).ok());
  why.steps.clear();
  EXPECT_FALSE(CheckExplanation(&t.graph.language(), t.book, why).ok());
}

// (N x) => (N (half x)) if x is above 10.
struct Halving {
  Halving() {
    Language ops;
    const SortId sort = *ops.AddClassSort("S");
    number = *ops.AddOp({.name = "N", .args = {kI64Sort}, .result = sort});
    const PrimitiveId above =
        ops.AddPrimitive({"above 10",
                          {kI64Sort},
                          kUnitSort,
                          [](const EGraph&, LiteralPool& pool, auto args,
                             Value*) { return pool.AsI64(args[0]) > 10; }});
    const PrimitiveId half = ops.AddPrimitive(
        {"half",
         {kI64Sort},
         kI64Sort,
         [](const EGraph&, LiteralPool& pool, auto args, Value* result) {
           *result = pool.I64(pool.AsI64(args[0]) / 2);
           return true;
         }});
    RuleBuilder rule("halve");
    const Slot x = rule.Variable(kI64Sort);
    const Slot root = rule.Match(number, {x});
    rule.Require(above, {x});
    rule.Union(root, rule.Insert(number, {rule.Compute(half, {x})}));
    id = book.Add(*std::move(rule).Build(ops));
    graph = EGraph(std::move(ops), {.explanations = true});
  }
  Value Literal(int64_t i) { return graph.language().literals().I64(i); }
  bool Holds(const Explanation& why) {
    return CheckExplanation(&graph.language(), book, why).ok();
  }

  OpId number;
  RuleId id;
  RuleBook book;
  EGraph graph;
};

TEST(ExplainTest, CheckerTestsAndComputesLiteralsAgain) {
  Halving t;
  const ClassId first = t.graph.Add(t.number, {t.Literal(100)});
  const ClassId last = t.graph.Add(t.number, {t.Literal(6)});
  Runner(&t.graph, &t.book).Run({&t.id, 1});
  const Explanation why = *Explain(t.graph, t.book, first, last);
  ASSERT_EQ(why.steps.size(), 4);  // 50, 25, 12, 6
  EXPECT_TRUE(t.Holds(why));

  const auto one_step = [&](int64_t from, int64_t to,
                            std::vector<Value> literals) {
    Explanation made;
    made.start = made.terms.Make({t.number, {t.Literal(from)}});
    made.end = made.terms.Make({t.number, {t.Literal(to)}});
    made.steps = {{ProofStep::Kind::kRule, t.id, true, made.start, made.end,
                   std::move(literals)}};
    return made;
  };
  // The literals of the first step, with what it reads and computes replaced.
  const auto literals = [&](int64_t read, int64_t computed) {
    std::vector<Value> out = why.steps[0].literals;
    for (Value& value : out) {
      if (value == t.Literal(100)) {
        value = t.Literal(read);
      } else if (value == t.Literal(50)) {
        value = t.Literal(computed);
      }
    }
    return out;
  };
  EXPECT_TRUE(t.Holds(one_step(100, 50, literals(100, 50))));
  EXPECT_TRUE(t.Holds(one_step(100, 50, {})));
  EXPECT_FALSE(t.Holds(one_step(100, 49, literals(100, 49))));  // not half
  EXPECT_FALSE(t.Holds(one_step(100, 49, {})));
  EXPECT_FALSE(t.Holds(one_step(8, 4, literals(8, 4))));  // not above 10
  EXPECT_FALSE(t.Holds(one_step(8, 4, {})));
  EXPECT_FALSE(t.Holds(one_step(100, 30, literals(60, 30))));  // another's
  EXPECT_FALSE(t.Holds(one_step(100, 50, {t.Literal(100)})));
}

TEST(ExplainTest, TermsAreExplainedAsTheyAreWritten) {
  Explained t;
  const OpId sin = *t.graph.language().FindOp("sin");
  const ClassId x = t.Add("x"), y = t.Add("y"), sin_x = t.Add("(sin x)");
  t.graph.Union(x, y);
  t.graph.Rebuild();
  // The node is there, as (sin x).
  EXPECT_EQ(t.graph.Add(sin, {y.value()}), sin_x);
  const ClassId sin_y = t.graph.AddWritten(sin, std::vector{y.value()});
  EXPECT_TRUE(t.graph.Same(sin_y, sin_x));
  EXPECT_EQ(t.graph.num_enodes(), 3);
  const Explanation why = *Explain(t.graph, t.book, sin_y, sin_x);
  ASSERT_EQ(why.steps.size(), 1);
  EXPECT_EQ(*why.Text(t.graph, t.book),
            "(sin (Var \"y\"))\n(sin (Var \"x\"))   (union) <-\n");
  EXPECT_EQ(t.graph.AddWritten(sin, std::vector{x.value()}), sin_x);
}

}  // namespace
}  // namespace encore::egraph
