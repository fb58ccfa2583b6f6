#include "encore/backends/conformance/target_test.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/conformance/replay.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::backends {

std::vector<std::string> TargetsUnderTest() {
  const char* const one = std::getenv(kTargetVariable);
  if (one != nullptr) return {one};
  return {"cpu", "ref", "late_cpu", "late_ref", "cuda_emulated"};
}

std::string TargetName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

StatusOr<runtime::CompiledGraph> TargetTest::CompileHere(const Graph& graph,
                                                         Ports ports) {
  CompileOptions options;
  options.ports = ports;
  options.target = GetParam();
  return Compile(graph, options, BackendsUnderTest());
}

void TargetTest::ExpectEqual(const StatusOr<Graph>& graph,
                             const std::vector<std::vector<Literal>>& calls) {
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::vector<Literal>> expected;
  for (const std::vector<Literal>& arguments : calls) {
    auto outputs = Evaluate(*graph, arguments);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    expected.push_back(*std::move(outputs));
  }
  for (const Ports ports : {Ports::kHost, Ports::kDevice}) {
    const auto compiled = CompileHere(*graph, ports);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto bytes = std::make_shared<const std::vector<std::byte>>(
        runtime::SerializeCompiledGraph(*compiled));
    const auto read = runtime::ParseCompiledGraph(*bytes, bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    for (size_t call = 0; call < calls.size(); ++call) {
      const auto actual =
          Replay(*graph, *read, BackendsUnderTest(), calls[call]);
      ASSERT_TRUE(actual.ok()) << actual.status();
      ASSERT_EQ(actual->size(), expected[call].size());
      for (size_t i = 0; i < actual->size(); ++i) {
        EXPECT_EQ((*actual)[i], expected[call][i])
            << "output " << i << ", ports on " << Name(ports);
      }
    }
  }
}

}  // namespace encore::backends
