#include "encore/opt/egraph/explain.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/opt/egraph/explain_check.h"
#include "encore/opt/egraph/runner.h"
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
  EXPECT_TRUE(
      CheckExplanation(t.graph.language(), t.book, why, {}, false).ok());
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
    const Status checked =
        CheckExplanation(t.graph.language(), t.book, *why, {}, false);
    ASSERT_TRUE(checked.ok()) << checked << "\n" << *why->Text(t.graph, t.book);
    proven += !why->steps.empty();
  }
  EXPECT_GT(proven, 1000);
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
  EXPECT_FALSE(
      CheckExplanation(t.graph.language(), t.book, why, {}, false).ok());
  EXPECT_TRUE(CheckExplanation(t.graph.language(), t.book, why,
                               {{leaf("x"), leaf("y")}}, false)
                  .ok());
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
  EXPECT_FALSE(
      CheckExplanation(t.graph.language(), t.book, why, {}, false).ok());
  why.steps.clear();
  EXPECT_FALSE(
      CheckExplanation(t.graph.language(), t.book, why, {}, false).ok());
}

}  // namespace
}  // namespace encore::egraph
