// ONNX's own cases through the importer and the reference evaluator.

#include "encore/ir/evaluator.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "encore/ir/import/mapped_file.h"
#include "encore/ir/import/onnx/model.h"
#include "encore/ir/support/strings.h"
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
  CheckCase("onnx", kRoot, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Debian, OnnxCase, testing::ValuesIn(FindCases(kRoot)),
                         CaseTestName);

// Debian's data stop at opset 17; a wheel of onnx has those of later ones.
std::string NewerRoot() {
  const char* deps = std::getenv("ENCORE_DEPS");
  return StrCat(deps == nullptr ? "" : deps,
                "/onnx/onnx==1.16.2/onnx/backend/test/data");
}

int64_t OpsetOf(const std::string& model) {
  const auto file = MappedFile::Open(model);
  if (!file.ok()) return 0;
  const auto parsed = onnx::ReadModel((*file)->bytes());
  if (!parsed.ok()) return 0;
  for (const onnx::OpsetImport& opset : parsed->opsets) {
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  }
  return 0;
}

std::vector<std::string> NewerCases() {
  std::vector<std::string> cases = FindCases(NewerRoot());
  std::erase_if(cases, [](const std::string& name) {
    return OpsetOf(StrCat(NewerRoot(), "/", name, "/model.onnx")) < 18;
  });
  return cases;
}

class NewerOnnxCase : public testing::TestWithParam<std::string> {};

TEST_P(NewerOnnxCase, EvaluatesToTheExpectedOutputs) {
  CheckCase("onnx-1.16", NewerRoot(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Wheel, NewerOnnxCase, testing::ValuesIn(NewerCases()),
                         CaseTestName);

// The data are a package of the set-up; without them nothing would be tested.
TEST(OnnxCases, AreInstalled) {
  EXPECT_GE(FindCases(kRoot).size(), 1000u);
  EXPECT_GE(NewerCases().size(), 500u);
}

}  // namespace
}  // namespace encore::tests
