// TargetTest: a fixture for graphs that each target must compute as the
// evaluator does. The parameter is a target, as in CompileOptions.
#ifndef ENCORE_BACKENDS_CONFORMANCE_TARGET_TEST_H_
#define ENCORE_BACKENDS_CONFORMANCE_TARGET_TEST_H_

#include <string>
#include <vector>

#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {

// The targets that such tests run on: cpu and ref, both with devices that do
// everything late, and CUDA's on a driver that executes; where the environment
// names one in this variable, that alone.
inline constexpr char kTargetVariable[] = "ENCORE_TARGET_UNDER_TEST";
std::vector<std::string> TargetsUnderTest();
// Of a test's name, which has letters, digits and underscores alone.
std::string TargetName(const testing::TestParamInfo<std::string>& info);

class TargetTest : public testing::TestWithParam<std::string> {
 protected:
  StatusOr<runtime::CompiledGraph> CompileHere(const Graph& graph,
                                               Ports ports = Ports::kHost);

  // Compiles once with ports on the host and once on devices, writes and reads
  // what that gave, and replays it for the arguments of each call. Outputs are
  // those of the evaluator, bit for bit.
  void ExpectEqual(const StatusOr<Graph>& graph,
                   const std::vector<std::vector<Literal>>& calls);
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_TARGET_TEST_H_
