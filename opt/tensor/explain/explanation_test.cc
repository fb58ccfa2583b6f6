#include "encore/opt/tensor/explain/explanation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/testing/model_blocks.h"
#include "encore/opt/tensor/testing/random_costs.h"
#include "encore/opt/tensor/testing/rewritten_graphs.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

std::string TextOf(const StatusOr<std::optional<Graph>>& improved) {
  if (!improved.ok()) return improved.status().ToString();
  return *improved ? Print(**improved) : "as it was";
}

class ExplainCasesTest : public testing::TestWithParam<TextCase> {};

TEST_P(ExplainCasesTest, IsExplainedAndChecked) {
  const StatusOr<Graph> graph = GetParam().Parse();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string rule = GetParam().Option("rule");
  const auto found = std::ranges::find(AllRules(), rule, &TextRule::name);
  ImproveOptions options;
  options.level = RewriteLevel::kExact;
  while (found != AllRules().end() && !Allows(options.level, found->tag)) {
    options.level =
        static_cast<RewriteLevel>(static_cast<int>(options.level) + 1);
  }
  const std::string plain = TextOf(Improve(*graph, options));
  ChoiceExplainer explainer({.check = true});
  options.observer = &explainer;
  // Reasons change nothing.
  EXPECT_EQ(TextOf(Improve(*graph, options)), plain);
  ASSERT_FALSE(explainer.explanations().empty());
  EXPECT_TRUE(FirstFault(explainer.explanations()).ok())
      << FirstFault(explainer.explanations());
  for (const Explanation& explanation : explainer.explanations()) {
    for (const ExplainedStep& step : explanation.steps) {
      EXPECT_GT(step.compared, 0) << step.before << step.after;
    }
  }
  if (plain == "as it was") return;
  const auto uses = [&](const Explanation& explanation) {
    return explanation.taken && std::ranges::count(explanation.steps, rule,
                                                   &ExplainedStep::rule) > 0;
  };
  // Without the rule it would be another choice.
  EXPECT_TRUE(std::ranges::any_of(explainer.explanations(), uses))
      << ToText(explainer.explanations().back());
}

INSTANTIATE_TEST_SUITE_P(Testdata, ExplainCasesTest,
                         testing::ValuesIn(ReadTextCases("opt/rules/testdata")),
                         [](const auto& info) { return info.param.name; });

// What the rules make of the graph, where what they make costs nothing.
StatusOr<Explanation> ExplainRules(const Graph& graph, std::string_view text,
                                   RewriteLevel level = RewriteLevel::kFast) {
  const std::vector<TextRule> rules = *ParseRules(text);
  TensorEGraph tensors(graph.symbols(), true);
  const TensorProgram program(graph, &tensors);
  std::vector<RuleCount> counts(rules.size());
  CompiledRules compiled = *CompileRules(rules, &tensors, counts);
  eg::RuleBook book;
  std::vector<eg::RuleId> ids;
  for (eg::Rule& rule : compiled.rules) ids.push_back(book.Add(rule));
  eg::Runner(&tensors.graph(), &book, {.max_iterations = 3}).Run(ids);
  const std::vector<eg::ClassId> roots = program.Roots();
  const eg::DagProblem dag = eg::MakeDagProblem(
      tensors.graph(), roots, [&](const eg::EGraph&, eg::NodeId node) {
        return node.value() < program.node_limit() ? 1.0 : 0.1;
      });
  extract::Options options;
  options.work = 10000;
  const extract::Result result = *extract::Extract(dag.problem, options);
  return Explain({graph, tensors, program, book, dag, result, true},
                 {.check = true, .rules = rules});
}

constexpr std::string_view kDifference = R"(
graph g(%x: f32[3,4], %y: f32[3,4]) -> f32[3,4] {
  %0 = exp(%x)
  %z = sub(%0, %y) @"head/minus"
  return %z
}
)";

TEST(ExplanationTest, AWrongRuleIsCaught) {
  const auto explained = ExplainRules(ParsedGraph(kDifference), R"(
// x - y = y - x
rule turned exact { sub(%a, %b) -> sub(%b, %a) }
)");
  ASSERT_TRUE(explained.ok()) << explained.status();
  ASSERT_EQ(explained->steps.size(), 1);
  EXPECT_EQ(explained->steps[0].place, "head/minus");
  // The engine applied the rule as it is.
  EXPECT_TRUE(explained->proof.ok()) << explained->proof;
  const Status fault = FirstFault({&*explained, 1});
  EXPECT_EQ(fault.code(), StatusCode::kDataLoss);
  for (const std::string_view part :
       {"step 1 of g, the rule turned: element 0 is ", "sub(%v0, %y)",
        "sub(%y, %v0)"}) {
    EXPECT_NE(Message(fault).find(part), std::string::npos) << fault;
  }
}

TEST(ExplanationTest, ARuleThatRoundsIsNotExact) {
  const std::string text = R"(
// (a + b) + c = a + (b + c)
rule join $0 { add(add(%a, %b), %c) -> add(%a, add(%b, %c)) }
)";
  const Graph graph = ParsedGraph(R"(
graph g(%x: f32[31], %y: f32[31], %z: f32[31]) -> f32[31] {
  %0 = exp(%x)
  %1 = add(%0, %y)
  %2 = add(%1, %z)
  return %2
}
)");
  for (const std::string_view tag : {"exact", "reassociating"}) {
    std::string rule = text;
    rule.replace(rule.find("$0"), 2, tag);
    const auto explained = ExplainRules(graph, rule);
    ASSERT_TRUE(explained.ok()) << explained.status();
    ASSERT_FALSE(explained->steps.empty());
    EXPECT_EQ(FirstFault({&*explained, 1}).ok(), tag == "reassociating");
  }
}

// The sides are right only for equal arguments, which these are.
TEST(ExplanationTest, WhatAnApplicationTookAsEqualIsShown) {
  const auto explained = ExplainRules(ParsedGraph(R"(
graph g(%x: f32[3]) -> f32[3] {
  %0 = neg(%x)
  %1 = neg(%0)
  %2 = sub(%1, %x)
  %3 = exp(%2)
  return %3
}
)"),
                                      R"(
// --a = a
rule twice exact { neg(neg(%a)) -> %a }
// exp(a - b) = exp(b - a), here
rule here exact { exp(sub(%a, %a)) -> exp(sub(%a, neg(neg(%a)))) }
)");
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_TRUE(FirstFault({&*explained, 1}).ok())
      << FirstFault({&*explained, 1});
}

TEST(ExplanationTest, BlocksOfModelsAreExplained) {
  for (const std::string_view text : {kResidualBlock, kAttentionBlock}) {
    const Graph graph = ParsedGraph(text);
    int taken = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const RandomCosts random(seed);
      ChoiceExplainer explainer({.check = true, .seed = seed});
      ImproveOptions options;
      options.level = RewriteLevel::kReassociate;
      if (seed > 0) options.costs = &random;
      options.observer = &explainer;
      ASSERT_TRUE(Improve(graph, options).ok());
      const Explanation& explanation = explainer.explanations().back();
      EXPECT_TRUE(FirstFault({&explanation, 1}).ok())
          << FirstFault({&explanation, 1});
      taken += explanation.taken && explanation.steps.size() > 1;
      for (const ExplainedStep& step : explanation.steps) {
        EXPECT_GT(step.compared, 0) << step.before << step.after;
        EXPECT_NE(step.place, "") << step.rule;
      }
    }
    EXPECT_GT(taken, 0);
  }
}

// Random graphs at every level: reasons change nothing, and all steps hold.
TEST(ExplanationTest, RandomGraphsAreExplained) {
  int steps = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph =
        RandomGraph(seed, MovementAndProducts(14, seed % 3 == 0));
    const RandomCosts costs(seed);
    ImproveOptions options;
    options.costs = &costs;
    if (seed % 5 == 0) {  // in parts
      options.limits.parts = {
          .whole_nodes = 0,
          .most_whole_nodes = 0,
          .divide = {.least = 3, .radius = 4, .most = 12},
      };
    }
    options.level = seed % 2 == 0 ? RewriteLevel::kFast : RewriteLevel::kExact;
    const std::string plain = TextOf(Improve(graph, options));
    ChoiceExplainer explainer({.check = true, .seed = seed});
    options.observer = &explainer;
    ASSERT_EQ(TextOf(Improve(graph, options)), plain) << "seed " << seed;
    EXPECT_TRUE(FirstFault(explainer.explanations()).ok())
        << "seed " << seed << ": " << FirstFault(explainer.explanations());
    for (const Explanation& explanation : explainer.explanations()) {
      steps += static_cast<int>(explanation.steps.size());
    }
  }
  EXPECT_GT(steps, 60);
}

}  // namespace
}  // namespace encore::opt
