// The files of testdata/PASS: a graph, and the graph that the pass gives. Both
// compute the same, by the reference evaluator.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/improve.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// At least so many say what a pass does.
constexpr int kLeastCases = 4;

std::vector<TextCase> Cases() { return ReadTextCases("opt/passes/testdata"); }

// A level of rewrites by its name.
RewriteLevel LevelOf(const std::string& name) {
  return name == "fast"          ? RewriteLevel::kFast
         : name == "reassociate" ? RewriteLevel::kReassociate
         : name == "exact"       ? RewriteLevel::kExact
                                 : RewriteLevel::kNone;
}

// Of "N=4, M=2".
StatusOr<PassOptions> OptionsOf(const std::string& bindings,
                                const Graph& graph) {
  SymbolBinding binding(graph.symbols());
  std::istringstream words(bindings);
  for (std::string word; words >> word;) {
    if (word.ends_with(',')) word.pop_back();
    const size_t equal = word.find('=');
    const auto symbol = std::ranges::find(graph.symbols(),
                                          word.substr(0, equal), &Symbol::name);
    const auto value = ParseNumber<int64_t>(word.substr(equal + 1));
    if (symbol == graph.symbols().end() || !value) {
      return InvalidArgumentError(StrCat("bind: ", word));
    }
    ENCORE_RETURN_IF_ERROR(binding.BindSymbol(
        static_cast<uint32_t>(symbol - graph.symbols().begin()), *value));
  }
  PassOptions options;
  options.replacements.assign(binding.replacements().begin(),
                              binding.replacements().end());
  return options;
}

// Both give the same, or neither gives anything.
void CompareResults(const Graph& before, const Graph& after, uint64_t seed) {
  const std::vector<Literal> arguments = RandomArguments(after, seed);
  const auto expected = Evaluate(before, arguments);
  const auto got = Evaluate(after, arguments);
  ASSERT_EQ(expected.ok(), got.ok()) << expected.status() << got.status();
  if (!got.ok()) return;
  ASSERT_EQ(expected->size(), got->size());
  for (size_t i = 0; i < got->size(); ++i) {
    const LiteralDifference difference =
        CompareLiterals((*got)[i], (*expected)[i], {1e-5, 1e-6});
    EXPECT_TRUE(difference.ok) << "output " << i << ": " << difference.text;
  }
}

class PassesTest : public testing::TestWithParam<TextCase> {};

TEST_P(PassesTest, GivesWhatTheFileSays) {
  const TextCase& text_case = GetParam();
  const StatusOr<Pass> pass = FindPass(text_case.folder);
  ASSERT_TRUE(pass.ok()) << pass.status();
  const StatusOr<Graph> graph = text_case.Parse();
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto options = OptionsOf(text_case.Option("bind"), *graph);
  ASSERT_TRUE(options.ok()) << options.status();
  options->rewrite.level = LevelOf(text_case.Option("rewrites"));
  const StatusOr<Graph> after = RunPasses({&*pass, 1}, *graph, *options);
  CheckTextCase(text_case,
                after.ok() ? StatusOr<std::string>(Print(*after))
                           : StatusOr<std::string>(after.status()),
                Print(*graph), {"bind", "rewrites"});
  if (!after.ok()) return;
  for (const uint64_t seed : {1, 2, 3}) CompareResults(*graph, *after, seed);
}

INSTANTIATE_TEST_SUITE_P(Testdata, PassesTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(PassListTest, EachHasCases) {
  std::map<std::string, int> cases;
  for (const TextCase& text_case : Cases()) ++cases[text_case.folder];
  for (const Pass& pass : AllPasses()) {
    EXPECT_GE(cases[std::string(pass.name)], kLeastCases) << pass.name;
  }
}

}  // namespace
}  // namespace encore::opt
