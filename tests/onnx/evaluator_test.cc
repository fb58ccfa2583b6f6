// ONNX's own cases through the importer and the reference evaluator.

#include "encore/ir/evaluator.h"

#include <map>
#include <string>

#include "encore/tests/onnx/case.h"
#include "encore/tests/skips.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

constexpr char kRoot[] = "/usr/share/libonnx-testdata/data";

StatusOr<std::vector<Literal>> ByEvaluator(const Graph& graph,
                                           std::span<const Literal> inputs) {
  return Evaluate(graph, inputs);
}

class OnnxCase : public testing::TestWithParam<std::string> {};

TEST_P(OnnxCase, EvaluatesToTheExpectedOutputs) {
  static const std::map<std::string, std::string> skips = ReadSkips("onnx");
  const Status status =
      RunCase(std::string(kRoot) + "/" + GetParam(), ByEvaluator);
  const auto skip = skips.find(GetParam());
  if (skip == skips.end()) {
    EXPECT_TRUE(status.ok()) << status;
    return;
  }
  ASSERT_FALSE(status.ok()) << "passes now: take it out of tests/skips.txt";
  GTEST_SKIP() << skip->second;
}

INSTANTIATE_TEST_SUITE_P(Debian, OnnxCase, testing::ValuesIn(FindCases(kRoot)),
                         CaseTestName);

// The data are a package of the set-up; without them nothing would be tested.
TEST(OnnxCases, AreInstalled) { EXPECT_GE(FindCases(kRoot).size(), 1000u); }

}  // namespace
}  // namespace encore::tests
