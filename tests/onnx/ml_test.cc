// The domain ai.onnx.ml: ONNX's own cases, and what scikit-learn's models and
// nodes of every attribute give in ONNX Runtime (make_ml_cases.py), through the
// evaluator, and compiled, replayed and recalled from the cache.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tests/onnx/case.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

constexpr char kOwnCases[] = "tests/onnx/ml";

// The folders of all cases.
std::vector<std::string> MlCases() {
  std::vector<std::string> cases;
  for (const std::string& name : FindCases(NewerRoot())) {
    if (name.find("/test_ai_onnx_ml_") == std::string::npos) continue;
    cases.push_back(StrCat(NewerRoot(), "/", name));
  }
  for (const std::string& name : FindCases(kOwnCases)) {
    cases.push_back(StrCat(kOwnCases, "/", name));
  }
  return cases;
}

std::string FolderName(const testing::TestParamInfo<std::string>& info) {
  const std::filesystem::path folder = info.param;
  return StrCat(folder.parent_path().filename().string(), "_",
                folder.filename().string());
}

class MlCase : public testing::TestWithParam<std::string> {};

TEST_P(MlCase, EvaluatesToTheExpectedOutputs) {
  const Status status = RunCase(
      GetParam(), [](const Graph& graph, std::span<const Literal> inputs) {
        return Evaluate(graph, inputs);
      });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(MlCase, ReplaysToTheExpectedOutputs) {
  const auto cache = std::filesystem::path(testing::TempDir()) / "ml_cache";
  std::filesystem::remove_all(cache);
  backends::CompileOptions options;
  options.target = "cpu";
  options.threads = 1;
  runtime::ThreadPool threads(1);
  for (const auto found : {cache::FoundIn::kCompiled, cache::FoundIn::kDisk}) {
    cache::Session session(
        cache::StandardSessionOptions(options, cache.string()), &threads);
    const Status status = RunCase(
        GetParam(),
        [&](const Graph& graph,
            std::span<const Literal> inputs) -> StatusOr<std::vector<Literal>> {
          ENCORE_ASSIGN_OR_RETURN(const auto loaded, session.Load(graph));
          EXPECT_EQ(loaded->found_in(), found);
          return loaded->Run(inputs);
        });
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Ml, MlCase, testing::ValuesIn(MlCases()), FolderName);

TEST(MlCases, AreThere) { EXPECT_GE(MlCases().size(), 60u); }

}  // namespace
}  // namespace encore::tests
