#include "encore/backends/lowering/joins.h"

#include <optional>
#include <string>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// Whether the first `count` nodes of a graph that have kernels, which make the
// operand of the last ones, may be one kernel with these.
bool MayBeWhole(const std::string& nodes, const std::string& outputs,
                size_t count) {
  const Graph graph = ParsedGraph("graph g(%x: f32[4,4], %w: f32[4,4]) {\n" +
                                  nodes + "  return " + outputs + "\n}");
  FusionContext context;
  NodeList maker, reader;
  for (const NodeId node : Nodes(graph)) {
    const bool has_region = HasRegion(graph, node);
    context.sites.push_back(has_region ? std::optional(KernelSite{})
                                       : std::nullopt);
    if (!has_region) continue;
    (maker.size() < count ? maker : reader).push_back(node);
  }
  const GroupGraph groups(graph, context);
  const ValueId value = graph.operand(reader.front(), 0);
  const Join join = JoinGroups(groups, {reader, groups.OutputsOf(reader)}, {},
                               {maker, groups.OutputsOf(maker)}, value);
  EXPECT_FALSE(join.obstacle.has_value());
  return join.whole.has_value();
}

TEST(JoinsTest, AContractionStoresNothingThatIsMovedBeforeIt) {
  const std::string product =
      "  %a = reverse(%x) {axes = [0]}\n"
      "  %y = dot_general(%a, %w) {contract = [1]x[0]}\n";
  EXPECT_TRUE(MayBeWhole(product, "%y", 1));
  EXPECT_FALSE(MayBeWhole(product, "%a, %y", 1));
  // Nor by way of another input than the one that they are joined at.
  const std::string moved_twice =
      "  %a = reverse(%x) {axes = [0]}\n"
      "  %b = transpose(%x) {permutation = [1,0]}\n"
      "  %y = dot_general(%a, %b) {contract = [1]x[0]}\n";
  EXPECT_TRUE(MayBeWhole(moved_twice, "%y", 2));
  EXPECT_FALSE(MayBeWhole(moved_twice, "%b, %y", 2));
}

// What only stands beside the product, or is behind it, may be stored.
TEST(JoinsTest, AContractionStoresWhatItDoesNotRead) {
  EXPECT_TRUE(
      MayBeWhole("  %a = reverse(%x) {axes = [0]}\n"
                 "  %b = transpose(%a) {permutation = [1,0]}\n"
                 "  %c = reverse(%x) {axes = [1]}\n"
                 "  %y = dot_general(%b, %w) {contract = [1]x[0]}\n"
                 "  %z = neg(%y)\n",
                 "%c, %y, %z", 3));
}

}  // namespace
}  // namespace encore::backends
