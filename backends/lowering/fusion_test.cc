#include "encore/backends/lowering/fusion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// What the transpose moves once, the product reads again for each column.
constexpr char kMoved[] = R"(
graph moved(%x: f32[4,3], %w: f32[3,2]) -> f32[4,2] {
  %t = transpose(%x) {permutation = [1,0]}
  %y = dot_general(%t, %w) {contract = [0]x[0]}
  return %y
})";

// The groups of kMoved where a kernel of one node takes a second, and one of
// both `fused`; nothing: there is none.
size_t CountGroups(std::optional<double> fused) {
  const StatusOr<Graph> graph = ParseGraph(kMoved);
  EXPECT_TRUE(graph.ok()) << graph.status();
  FusionContext context;
  for (const NodeId node : Nodes(*graph)) {
    context.labels.push_back(graph->operands(node).empty() ? -1 : 0);
  }
  context.seconds = [&](const BuiltRegion& built, int) {
    // Of both, where the transpose's result is neither read nor written.
    const bool both =
        std::ranges::none_of(built.inputs,
                             [&](ValueId value) {
                               return graph->op(graph->producer(value)) ==
                                      Op::kTranspose;
                             }) &&
        graph->op(graph->producer(built.outputs[0])) == Op::kDotGeneral;
    return both ? fused : std::optional(1.0);
  };
  return GreedyPartition(*graph, context).size();
}

TEST(FusionTest, AMoveStaysApartWhereAContractionReadsItForLess) {
  EXPECT_EQ(CountGroups(1.5), 1);
  EXPECT_EQ(CountGroups(2.5), 2);
  EXPECT_EQ(CountGroups(std::nullopt), 2);
}

}  // namespace
}  // namespace encore::backends
