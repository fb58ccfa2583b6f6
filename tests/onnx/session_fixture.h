// Graphs from the importer to the replay, compiled by one session and recalled
// by another.
#ifndef ENCORE_TESTS_ONNX_SESSION_FIXTURE_H_
#define ENCORE_TESTS_ONNX_SESSION_FIXTURE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::tests {

// Arguments and what they must give: no outputs where the call must fail.
struct SessionCall {
  std::vector<Literal> arguments, outputs;
};

// The parameter is a target.
class SessionFixture : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }

  // Makes every call in a session that compiles the graph, then in one that
  // finds it on disk: one entry for all of them. Floats within 1e-5.
  void Expect(const Graph& graph, const std::vector<SessionCall>& calls);

  // The calls with what the reference evaluator gives.
  static std::vector<SessionCall> Evaluated(
      const Graph& graph, const std::vector<std::vector<Literal>>& arguments);

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("session_" + GetParam());
  runtime::ThreadPool threads_{2};
};

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_SESSION_FIXTURE_H_
