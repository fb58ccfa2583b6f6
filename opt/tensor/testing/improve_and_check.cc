#include "encore/opt/tensor/testing/improve_and_check.h"

#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/verifier.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/opt/tensor/testing/random_costs.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// Both give the same, or neither gives anything.
void CompareResults(const Graph& before, const Graph& after, bool exact,
                    uint64_t seed) {
  const std::vector<Literal> arguments = RandomArguments(before, seed);
  const auto expected = Evaluate(before, arguments);
  const auto got = Evaluate(after, arguments);
  ASSERT_EQ(expected.ok(), got.ok()) << expected.status() << got.status();
  if (!got.ok()) return;
  ASSERT_EQ(expected->size(), got->size());
  for (size_t i = 0; i < got->size(); ++i) {
    if (exact) {
      EXPECT_TRUE(SameBitsButNan((*got)[i], (*expected)[i])) << "output " << i;
      continue;
    }
    const LiteralDifference difference =
        CompareLiterals((*got)[i], (*expected)[i], {1e-4, 1e-4});
    EXPECT_TRUE(difference.ok) << "output " << i << ": " << difference.text;
  }
}

void CheckSignature(const Graph& before, const Graph& after) {
  EXPECT_EQ(before.name(), after.name());
  ASSERT_EQ(before.arguments().size(), after.arguments().size());
  for (size_t i = 0; i < before.arguments().size(); ++i) {
    EXPECT_EQ(before.arguments()[i].name, after.arguments()[i].name);
    EXPECT_EQ(before.type(before.arguments()[i].value),
              after.type(after.arguments()[i].value));
  }
  ASSERT_EQ(before.outputs().size(), after.outputs().size());
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    EXPECT_EQ(before.outputs()[i].name, after.outputs()[i].name);
    EXPECT_EQ(before.type(before.outputs()[i].value),
              after.type(after.outputs()[i].value));
  }
  EXPECT_TRUE(Verify(after).ok()) << Verify(after);
}

}  // namespace

bool ImproveAndCheck(const Graph& graph, ImproveOptions options,
                     uint64_t seed) {
  const RandomCosts costs(seed);
  ImproveReport report;
  options.costs = &costs;
  options.report = &report;
  const auto improved = Improve(graph, options);
  EXPECT_TRUE(improved.ok()) << improved.status() << Print(graph);
  EXPECT_TRUE(report.fault.ok()) << report.fault << Print(graph);
  if (!improved.ok() || !improved->has_value()) return false;
  SCOPED_TRACE(StrCat(Print(graph), "became\n", Print(**improved)));
  EXPECT_LT(report.cost_after, report.cost_before);
  CheckSignature(graph, **improved);
  CompareResults(graph, **improved, options.level == RewriteLevel::kExact,
                 seed);
  return true;
}

}  // namespace encore::opt
