// The files of opt/rules/testdata/THEME: a graph, and the graph that the rules
// choose for it. Both compute the same, by the reference evaluator; and without
// the rule that the file names nothing, or something else, is chosen.
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/verifier.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_book.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

std::vector<TextCase> Cases() { return ReadTextCases("opt/rules/testdata"); }

// `without`: a rule that may not be used.
StatusOr<std::string> Chosen(const Graph& graph, RewriteLevel level,
                             const std::string& without, ImproveReport* report,
                             std::optional<Graph>* chosen) {
  ImproveOptions options;
  options.level = level;
  options.filter = [&](std::string_view rule) { return rule != without; };
  options.report = report;
  auto improved = Improve(graph, options);
  if (!improved.ok()) return improved.status();
  if (!report->fault.ok()) return report->fault;
  const std::string text = *improved ? Print(**improved) : Print(graph);
  *chosen = *std::move(improved);
  return text;
}

void CompareResults(const Graph& before, const Graph& after,
                    const Tolerance& tolerance, uint64_t seed) {
  const std::vector<Literal> arguments = RandomArguments(after, seed);
  const auto expected = Evaluate(before, arguments);
  const auto got = Evaluate(after, arguments);
  ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
  for (size_t i = 0; i < got->size(); ++i) {
    const LiteralDifference difference =
        CompareLiterals((*got)[i], (*expected)[i], tolerance);
    EXPECT_TRUE(difference.ok) << "output " << i << ": " << difference.text;
  }
}

class RuleCasesTest : public testing::TestWithParam<TextCase> {};

TEST_P(RuleCasesTest, GivesWhatTheFileSays) {
  const TextCase& text_case = GetParam();
  const StatusOr<Graph> graph = text_case.Parse();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string rule = text_case.Option("rule");
  const auto found = std::ranges::find(AllRules(), rule, &TextRule::name);
  const CodedRule* const coded = FindCodedRule(rule);
  ASSERT_TRUE(found != AllRules().end() || coded != nullptr)
      << "no rule is called " << rule;
  const RuleTag tag = coded != nullptr ? coded->tag : found->tag;
  // Definitions gain by rules that say something of the composite.
  RewriteLevel level = tag == RuleTag::kDefinition ? RewriteLevel::kReassociate
                                                   : RewriteLevel::kExact;
  while (!Allows(level, tag)) {
    level = static_cast<RewriteLevel>(static_cast<int>(level) + 1);
  }
  ImproveReport report, other_report;
  std::optional<Graph> chosen, other;
  const auto text = Chosen(*graph, level, "", &report, &chosen);
  CheckTextCase(text_case, text,
                Chosen(*graph, level, rule, &other_report, &other), {"rule"});
  if (!chosen) return;
  EXPECT_TRUE(Verify(*chosen).ok()) << Verify(*chosen);
  EXPECT_LT(report.cost_after, report.cost_before);
  const bool exact = level == RewriteLevel::kExact;
  for (const uint64_t seed : {1, 2, 3}) {
    CompareResults(*graph, *chosen, exact ? Tolerance{} : Tolerance{1e-4, 1e-4},
                   seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Testdata, RuleCasesTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace encore::opt
