// What a whole graph costs, against sums by hand.
#include "encore/backends/lowering/graph_costs.h"

#include <string_view>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/options.h"
#include "encore/backends/ref/ref.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/opt/tensor/costs.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

double LiveBytes(std::string_view text) {
  const Graph graph = ParsedGraph(text);
  const Stencil stencil = MakeStencil(graph);
  CompileOptions options;
  options.target = "ref";
  const Backend* const backend = &ref::RefBackend();
  const auto placement =
      ResolvePlacement(graph, stencil, options, {&backend, 1});
  EXPECT_TRUE(placement.ok()) << placement.status();
  const auto read = ReadStencil(stencil.bytes, stencil.constants);
  EXPECT_TRUE(read.ok()) << read.status();
  const auto cost = GraphCosts(*placement, options).CostOf(*read);
  EXPECT_TRUE(cost.has_value());
  return cost ? cost->live_bytes : -1;
}

// c needs a and b; when y, an output, is made, a is gone.
TEST(GraphCostsTest, ValuesLiveFromTheirKernelToTheLastThatReadsThem) {
  EXPECT_EQ(LiveBytes(R"(
graph g(%x: f32[64,64]) -> f32[64,64] {
  %a = dot_general(%x, %x) {contract = [1]x[0]}
  %b = dot_general(%a, %x) {contract = [1]x[0]}
  %c = dot_general(%a, %b) {contract = [1]x[0]}
  %y = dot_general(%b, %c) {contract = [1]x[0]}
  return %y
}
)"),
            3 * 64 * 64 * 4);
}

// A view is what it views; what follows from weights is made at load.
TEST(GraphCostsTest, ViewsKeepTheirOperandAndWeightsTakeNothing) {
  EXPECT_EQ(LiveBytes(R"(
graph g(%x: f32[64,64], %v: param f32[64,64]) -> f32[64,64] {
  %w = dot_general(%v, %v) {contract = [1]x[0]}
  %a = dot_general(%x, %w) {contract = [1]x[0]}
  %r = reshape(%a) {shape = [16, 256]}
  %b = dot_general(%r, %r) {contract = [0]x[0]}
  %c = dot_general(%b, %r) {contract = [0]x[1]}
  %d = reshape(%c) {shape = [64, 64]}
  %y = dot_general(%d, %w) {contract = [1]x[0]}
  return %y
}
)"),
            64 * 64 * 4 + 256 * 256 * 4 + 256 * 16 * 4);
}

}  // namespace
}  // namespace encore::backends
