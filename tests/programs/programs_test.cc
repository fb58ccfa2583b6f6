// The pairs of programs: as people write one, and as an expert does. Both must
// compute the same, by the reference evaluator, and be different programs.
#include <cstdint>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal_compare.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

std::vector<TextCase> Cases() { return ReadTextCases("tests/programs"); }

class ProgramsTest : public testing::TestWithParam<TextCase> {};

TEST_P(ProgramsTest, BothComputeTheSame) {
  const StatusOr<Graph> written = GetParam().Parse();
  ASSERT_TRUE(written.ok()) << written.status();
  const StatusOr<Graph> expert = ParseGraph(GetParam().expected);
  ASSERT_TRUE(expert.ok()) << expert.status();
  EXPECT_NE(Print(*written), Print(*expert));
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Literal> arguments = RandomArguments(*written, seed);
    const auto expected = Evaluate(*written, arguments);
    const auto got = Evaluate(*expert, arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(expected->size(), got->size());
    for (size_t i = 0; i < got->size(); ++i) {
      const LiteralDifference difference =
          CompareLiterals((*got)[i], (*expected)[i], {1e-4, 1e-5});
      EXPECT_TRUE(difference.ok) << "output " << i << ": " << difference.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ProgramsTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(ProgramsTest, ThereAreAtLeastForty) { EXPECT_GE(Cases().size(), 40u); }

}  // namespace
}  // namespace encore
