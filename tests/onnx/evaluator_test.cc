// ONNX's own cases through the importer and the reference evaluator.

#include "encore/ir/eval/evaluator.h"

#include <map>
#include <string>
#include <vector>

#include "encore/tests/onnx/case.h"
#include "encore/tests/skips.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

StatusOr<std::vector<Literal>> ByEvaluator(const Graph& graph,
                                           std::span<const Literal> inputs) {
  return Evaluate(graph, inputs);
}

// Runs a case, or skips it where tests/skips.txt lists it under `suite`.
void CheckCase(const std::string& suite, const std::string& root,
               const std::string& name) {
  const std::map<std::string, std::string> skips = ReadSkips(suite);
  const Status status = RunCase(root + "/" + name, ByEvaluator);
  const auto skip = skips.find(name);
  if (skip == skips.end()) {
    EXPECT_TRUE(status.ok()) << status;
    return;
  }
  ASSERT_FALSE(status.ok()) << "passes now: take it out of tests/skips.txt";
  GTEST_SKIP() << skip->second;
}

class OnnxCase : public testing::TestWithParam<std::string> {};

TEST_P(OnnxCase, EvaluatesToTheExpectedOutputs) {
  CheckCase("onnx", kDebianRoot, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Debian, OnnxCase,
                         testing::ValuesIn(FindCases(kDebianRoot)),
                         CaseTestName);

class NewerOnnxCase : public testing::TestWithParam<std::string> {};

TEST_P(NewerOnnxCase, EvaluatesToTheExpectedOutputs) {
  CheckCase("onnx-1.16", NewerRoot(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Wheel, NewerOnnxCase, testing::ValuesIn(NewerCases()),
                         CaseTestName);

// The data are a package of the set-up; without them nothing would be tested.
TEST(OnnxCases, AreInstalled) {
  EXPECT_GE(FindCases(kDebianRoot).size(), 1000u);
  EXPECT_GE(NewerCases().size(), 500u);
}

}  // namespace
}  // namespace encore::tests
