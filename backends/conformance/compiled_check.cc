#include "encore/backends/conformance/compiled_check.h"

#include <optional>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::backends {

std::string BytesOf(const runtime::CompiledGraph& compiled) {
  const auto bytes = runtime::SerializeCompiledGraph(compiled);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ExpectRight(const Graph& graph, const runtime::CompiledGraph& compiled) {
  const std::vector<Literal> arguments = RandomArguments(graph, 7);
  const auto bounds = EvaluateBounds(graph, arguments);
  const auto actual = Replay(graph, compiled, AllBackends(), arguments);
  ASSERT_TRUE(bounds.ok() && actual.ok()) << actual.status();
  EXPECT_EQ(Difference(*actual, *bounds), std::nullopt);
}

}  // namespace encore::backends
