#include "encore/backends/conformance/suite.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/cases.h"
#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/conformance/mutants.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/map_store.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::backends {
namespace {

// The host device computes strings, whatever the backend.
bool Computes(const Backend& backend, DType dtype) {
  return IsString(dtype) ||
         std::ranges::find(backend.dtypes(), dtype) != backend.dtypes().end();
}

bool ComputesAll(const Backend& backend, const Graph& graph) {
  return EveryValue(graph, [&backend](const TensorType& type) {
    return Computes(backend, type.dtype);
  });
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
      Replay(graph, *loaded, BackendsUnderTest(), arguments);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << Print(graph);
  EXPECT_EQ(*again, outputs) << "saved and loaded\n" << Print(graph);
}

// Where the compiler of CUDA's kernels is most of the time: the same kernels
// come again with other placements and ports. Others are compiled without.
ArtifactStore* KeptKernels(const CompileOptions& options) {
  static auto* const store = new MapStore;
  return options.target.starts_with("cuda") ? store : nullptr;
}

// Compiles, replays and compares with the bounds; then once more, saved and
// loaded. Gives the results where they are asked for.
void CheckCase(const Case& c, const CompileOptions& options,
               std::vector<Literal>* results = nullptr) {
  StatusOr<runtime::CompiledGraph> compiled =
      Compile(c.graph, options, BackendsUnderTest(), KeptKernels(options));
  ASSERT_TRUE(compiled.ok()) << compiled.status() << "\n" << Print(c.graph);
  StatusOr<std::vector<Literal>> actual =
      Replay(c.graph, *compiled, BackendsUnderTest(), c.arguments);
  ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << Print(c.graph);
  const std::optional<std::string> difference = Difference(*actual, c.bounds);
  EXPECT_FALSE(difference.has_value()) << *difference << "\n" << Print(c.graph);
  CheckSaved(c.graph, c.arguments, *compiled, *actual);
  if (results != nullptr) *results = *std::move(actual);
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
    if (info.op == Op::kCustom) continue;
    if (kernels == CpuKernels::kVendor && !Contracts(info.op)) continue;
    cases.push_back({backend, info.op, kernels});
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
  StatusOr<const Backend*> backend =
      FindBackend(GetParam().backend, BackendsUnderTest());
  ASSERT_TRUE(backend.ok()) << backend.status();
  CompileOptions options;
  options.target = GetParam().backend;
  options.cpu_kernels = GetParam().kernels;
  const auto computes = [&backend](DType dtype) {
    return Computes(**backend, dtype);
  };
  for (const DType dtype : Info(op).dtypes) {
    if (!computes(dtype) || !NeedsCases(op, dtype)) continue;
    const StatusOr<Cases> found = CasesOf(op, dtype, computes);
    ASSERT_TRUE(found.ok()) << dtype << ": " << found.status();
    EXPECT_GE(found->cases.size(), kCasesPerOp) << dtype << " lacks cases";
    std::vector<Mutant> survivors = found->mutants;
    for (const Case& c : found->cases) {
      std::vector<Literal> results;
      CheckCase(c, options, &results);
      if (HasFatalFailure()) return;
      RemoveFailing(c, results, &survivors);
    }
    for (const Mutant mutant : survivors) {
      ADD_FAILURE() << "a kernel that " << Name(mutant) << " passes in "
                    << dtype;
    }
  }
}

TEST_P(DifferentialTest, RandomGraphsAgree) {
  StatusOr<const Backend*> backend =
      FindBackend(GetParam().backend, BackendsUnderTest());
  ASSERT_TRUE(backend.ok()) << backend.status();
  RandomGraphOptions random;
  random.dtypes = {DType::kBool, DType::kI32, DType::kI64, DType::kF32};
  if (GetParam().seed % 2 == 1) {
    random.dtypes = {DType::kBool, DType::kI64, DType::kF16, DType::kBF16};
  }
  Case c;
  c.graph = RandomGraph(GetParam().seed, random);
  if (!ComputesAll(**backend, c.graph)) return;
  c.arguments = RandomArguments(c.graph, GetParam().seed);
  StatusOr<std::vector<Bounds>> bounds = EvaluateBounds(c.graph, c.arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status() << "\n" << Print(c.graph);
  c.bounds = *std::move(bounds);
  CompileOptions options;
  options.target = GetParam().backend;
  options.cpu_kernels = GetParam().kernels;
  CheckCase(c, options);
  options.fuse = false;
  if (GetParam().seed % 2 == 1) options.ports = Ports::kDevice;
  CheckCase(c, options);
  // Every other node on ref, whose memory is another pool; of devices with
  // queues all over.
  options.fuse = true;
  std::vector<std::string_view> others = {"ref"};
  if (GetParam().backend.starts_with("late_")) {
    others = {"ref", "late_ref", "cpu", "late_cpu"};
  } else if (GetParam().backend.starts_with("cuda")) {
    others = {"ref", GetParam().backend, "cpu", "late_ref"};
  }
  for (const NodeId node : Nodes(c.graph)) {
    if (node.value() % 2 == 0) continue;
    StrAppend(&options.placement, options.placement.empty() ? "" : ",", "#",
              node.value(), "=", others[node.value() / 2 % others.size()]);
  }
  for (const Ports ports : {Ports::kHost, Ports::kDevice}) {
    options.ports = ports;
    CheckCase(c, options);
  }
}

}  // namespace encore::backends
