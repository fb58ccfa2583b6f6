#include "encore/backends/conformance/suite.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/conformance/tolerance.h"
#include "encore/ir/decompose.h"
#include "encore/ir/evaluator.h"
#include "encore/ir/random_graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/runtime/compiled_graph_io.h"

namespace encore::backends {
namespace {

constexpr uint64_t kSeedsPerOp = 3;

// Strings are the host's affair, whatever the backend.
bool Computes(const Backend& backend, DType dtype) {
  return IsHost(dtype) ||
         std::find(backend.dtypes().begin(), backend.dtypes().end(), dtype) !=
             backend.dtypes().end();
}

// Whether every value, of bodies too, has a dtype that the backend computes.
bool ComputesAll(const Backend& backend, const Graph& graph) {
  for (const NodeId node : Nodes(graph)) {
    for (int i = 0; i < graph.result_count(node); ++i) {
      const TensorType& type = graph.type(graph.result(node, i));
      if (!Computes(backend, type.dtype)) return false;
    }
    for (const Graph& body : graph.bodies(node)) {
      if (!ComputesAll(backend, body)) return false;
    }
  }
  return true;
}

// Saved and loaded, the compiled graph gives the same bits.
void CheckSaved(const Graph& graph, const std::vector<Literal>& arguments,
                const runtime::CompiledGraph& compiled,
                const std::vector<Literal>& outputs) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(
      runtime::SerializeCompiledGraph(compiled));
  StatusOr<runtime::CompiledGraph> loaded =
      runtime::ParseCompiledGraph(*bytes, bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status() << "\n" << Print(graph);
  StatusOr<std::vector<Literal>> again =
      Replay(graph, *loaded, AllBackends(), arguments);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << Print(graph);
  EXPECT_EQ(*again, outputs) << "saved and loaded\n" << Print(graph);
}

// Compiles, replays and compares with the evaluator; then once more, saved and
// loaded.
void Check(const Graph& graph, const std::vector<Literal>& arguments,
           const CompileOptions& options, const Tolerance& tolerance) {
  StatusOr<std::vector<Literal>> expected = Evaluate(graph, arguments);
  ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << Print(graph);
  StatusOr<runtime::CompiledGraph> compiled =
      Compile(graph, options, AllBackends());
  ASSERT_TRUE(compiled.ok()) << compiled.status() << "\n" << Print(graph);
  StatusOr<std::vector<Literal>> actual =
      Replay(graph, *compiled, AllBackends(), arguments);
  ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << Print(graph);
  for (size_t i = 0; i < expected->size(); ++i) {
    const std::optional<std::string> difference =
        Difference((*actual)[i], (*expected)[i], tolerance);
    EXPECT_FALSE(difference.has_value())
        << "output " << i << ": " << *difference << "\n"
        << Print(graph);
  }
  CheckSaved(graph, arguments, *compiled, *actual);
}

// Whether there is a product or convolution in what `op` is made of.
bool Contracts(Op op) {
  const std::optional<Graph> graph = RandomNode(op, DType::kF32, 0);
  if (!graph.has_value()) return false;
  const StatusOr<Graph> primitives = DecomposeAll(*graph);
  if (!primitives.ok()) return false;
  for (const NodeId node : Nodes(*primitives)) {
    if (primitives->info(node).has(kContraction)) return true;
  }
  return false;
}

}  // namespace

std::string OpName(const ::testing::TestParamInfo<OpCase>& info) {
  return std::string(Info(info.param.op).name);
}
std::string SeedName(const ::testing::TestParamInfo<SeedCase>& info) {
  return StrCat(info.param.seed);
}

::testing::internal::ParamGenerator<OpCase> OpsOf(std::string_view backend,
                                                  CpuKernels kernels) {
  std::vector<OpCase> cases;
  for (const OpInfo& info : AllOps()) {
    if (RandomNode(info.op, DType::kF32, 0).has_value() ||
        RandomNode(info.op, DType::kI32, 0).has_value() ||
        RandomNode(info.op, DType::kString, 0).has_value() ||
        RandomNode(info.op, DType::kBool, 0).has_value()) {
      if (kernels == CpuKernels::kVendor && !Contracts(info.op)) continue;
      cases.push_back({backend, info.op, kernels});
    }
  }
  return ::testing::ValuesIn(cases);
}

::testing::internal::ParamGenerator<SeedCase> SeedsOf(std::string_view backend,
                                                      uint64_t count,
                                                      CpuKernels kernels) {
  std::vector<SeedCase> cases;
  for (uint64_t seed = 0; seed < count; ++seed) {
    cases.push_back({backend, seed, kernels});
  }
  return ::testing::ValuesIn(cases);
}

TEST_P(ConformanceTest, AgreesWithTheEvaluator) {
  const Op op = GetParam().op;
  StatusOr<const Backend*> backend = FindBackend(GetParam().backend);
  ASSERT_TRUE(backend.ok()) << backend.status();
  CompileOptions options;
  options.target = GetParam().backend;
  options.cpu_kernels = GetParam().kernels;
  int cases = 0;
  for (const DType dtype : Info(op).dtypes) {
    if (!Computes(**backend, dtype)) continue;
    // Strings are not sliced by scans, nor stacked by loops.
    if (IsHost(dtype) && Info(op).bodies > 0) continue;
    for (uint64_t seed = 0; seed < kSeedsPerOp; ++seed) {
      const std::optional<Graph> graph = RandomNode(op, dtype, seed);
      if (!graph.has_value() || !ComputesAll(**backend, *graph)) continue;
      ++cases;
      Check(*graph, RandomArguments(*graph, seed), options, ToleranceOf(op));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(cases, 0);
}

TEST_P(DifferentialTest, RandomGraphsAgree) {
  StatusOr<const Backend*> backend = FindBackend(GetParam().backend);
  ASSERT_TRUE(backend.ok()) << backend.status();
  RandomGraphOptions random;
  random.dtypes = {DType::kBool, DType::kI32, DType::kI64, DType::kF32};
  const Graph graph = RandomGraph(GetParam().seed, random);
  if (!ComputesAll(**backend, graph)) return;
  const std::vector<Literal> arguments =
      RandomArguments(graph, GetParam().seed);
  const Tolerance tolerance = GraphTolerance(graph);
  CompileOptions options;
  options.target = GetParam().backend;
  options.cpu_kernels = GetParam().kernels;
  Check(graph, arguments, options, tolerance);
  options.fuse = false;
  Check(graph, arguments, options, tolerance);
  // Every other node on ref, whose memory is another pool.
  options.fuse = true;
  for (const NodeId node : Nodes(graph)) {
    if (node.value() % 2 == 0) continue;
    StrAppend(&options.placement, options.placement.empty() ? "" : ",", "#",
              node.value(), "=ref");
  }
  Check(graph, arguments, options, tolerance);
}

}  // namespace encore::backends
