// Random graphs compute the same whatever partition is chosen: each region of a
// backend costs a number drawn by its bytes and a seed, so that any choice of
// fusion variants may be the cheapest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/conformance/wrapped_backend.h"
#include "encore/backends/options.h"
#include "encore/backends/region/codec.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

class DrawnCosts : public WrappedBackend {
 public:
  DrawnCosts(const Backend& inner, uint64_t seed)
      : WrappedBackend(inner), seed_(seed) {}

  std::vector<Candidate> Candidates(
      const KernelRequest& request,
      const CompileOptions& options) const override {
    std::vector<Candidate> candidates = inner().Candidates(request, options);
    uint64_t bits = 1469598103934665603u ^ seed_;
    for (const std::byte byte : EncodeRegion(*request.region)) {
      bits = (bits ^ static_cast<uint64_t>(byte)) * 1099511628211u;
    }
    bits ^= bits >> 29;
    for (Candidate& candidate : candidates) {
      candidate.seconds = 1 + static_cast<double>(bits % 64);
      candidate.load_seconds = 0;
    }
    return candidates;
  }

 private:
  uint64_t seed_;
};

size_t CountLaunches(const runtime::CompiledGraph& compiled) {
  const auto& steps = compiled.plan(compiled.run).steps;
  return std::ranges::count_if(steps, [](const runtime::Step& step) {
    return std::holds_alternative<runtime::Launch>(step.op);
  });
}

class PartitionTest : public testing::TestWithParam<std::string> {};

TEST_P(PartitionTest, AnyChoiceComputesTheSame) {
  const Backend& inner = **FindBackend(GetParam());
  int others = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    RandomGraphOptions drawn;
    drawn.nodes = 12;
    const Graph graph = RandomGraph(seed, drawn);
    SCOPED_TRACE(Print(graph));
    const DrawnCosts backend(inner, seed);
    const Backend* const backends[] = {&backend};
    const std::vector<Literal> arguments = RandomArguments(graph, seed);
    CompileOptions options;
    options.target = backend.name();
    options.cpu_kernels = CpuKernels::kGenerated;
    options.rewrites = Rewrites::kNone;
    const auto compiled = Compile(graph, options, backends);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    options.optimizer = Optimizer::kGreedy;
    const auto greedy = Compile(graph, options, backends);
    ASSERT_TRUE(greedy.ok()) << greedy.status();
    others += CountLaunches(*compiled) != CountLaunches(*greedy);
    const auto results = Replay(graph, *compiled, backends, arguments);
    ASSERT_TRUE(results.ok()) << results.status();
    const auto bounds = EvaluateBounds(graph, arguments);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    const auto difference = Difference(*results, *bounds);
    EXPECT_FALSE(difference.has_value()) << *difference;
  }
  std::cout << others << " of 120 graphs have another number of launches\n";
  EXPECT_GE(others, 40);
}

INSTANTIATE_TEST_SUITE_P(Backends, PartitionTest, testing::Values("ref", "cpu"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace encore::backends
