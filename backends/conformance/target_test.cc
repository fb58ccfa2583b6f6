#include "encore/backends/conformance/target_test.h"

#include <cstddef>
#include <memory>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/conformance/replay.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::backends {

StatusOr<runtime::CompiledGraph> TargetTest::CompileHere(const Graph& graph) {
  CompileOptions options;
  options.target = GetParam();
  return Compile(graph, options, BackendsUnderTest());
}

void TargetTest::ExpectEqual(const StatusOr<Graph>& graph,
                             const std::vector<std::vector<Literal>>& calls) {
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto bytes = std::make_shared<const std::vector<std::byte>>(
      runtime::SerializeCompiledGraph(*compiled));
  const auto read = runtime::ParseCompiledGraph(*bytes, bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  for (const std::vector<Literal>& arguments : calls) {
    const auto expected = Evaluate(*graph, arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto actual = Replay(*graph, *read, BackendsUnderTest(), arguments);
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      EXPECT_EQ((*actual)[i], (*expected)[i]) << "output " << i;
    }
  }
}

}  // namespace encore::backends
