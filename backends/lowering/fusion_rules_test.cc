#include "encore/backends/lowering/fusion_rules.h"

#include <optional>
#include <string>

#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// The nodes that may be in a kernel, and a context in which they may.
NodeList AllNodes(const Graph& graph, FusionContext* context) {
  NodeList nodes;
  for (const NodeId node : Nodes(graph)) {
    const bool has_region = HasRegion(graph, node);
    context->sites.push_back(has_region ? std::optional(KernelSite{})
                                        : std::nullopt);
    if (has_region) nodes.push_back(node);
  }
  return nodes;
}

// Of all nodes that may be in a kernel, between a product of [4,4] and another
// one.
bool Repeats(const std::string& between) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[4,4], %v: f32[4,4], %w: f32[4,4]) -> f32[4,4] {\n"
      "  %a = dot_general(%x, %v) {contract = [1]x[0]}\n" +
      between +
      "  %y = dot_general(%b, %w) {contract = [1]x[0]}\n"
      "  return %y\n}");
  FusionContext context;
  const NodeList nodes = AllNodes(graph, &context);
  return RepeatsContraction(GroupGraph(graph, context), nodes);
}

TEST(FusionRulesTest, AContractionBehindAnotherRepeatsIt) {
  EXPECT_TRUE(Repeats("  %b = tanh(%a)\n"));
  EXPECT_TRUE(Repeats("  %c = exp(%a)\n  %b = add(%c, %x)\n"));
  EXPECT_TRUE(Repeats("  %b = transpose(%a) {permutation = [1,0]}\n"));
  // Through views, and where only another input was combined.
  EXPECT_TRUE(
      Repeats("  %c = reshape(%a) {shape = [16]}\n"
              "  %b = reshape(%c) {shape = [4,4]}\n"));
  EXPECT_TRUE(
      Repeats("  %m = reduce(%x) {axes = [1]}\n"
              "  %c = broadcast(%m) {shape = [4,4], axes = [0]}\n"
              "  %b = add(%a, %c)\n"));
}

TEST(FusionRulesTest, CombinedRowsBetweenContractionsAreKept) {
  EXPECT_FALSE(
      Repeats("  %m = reduce(%a) {axes = [1], combiner = max}\n"
              "  %c = broadcast(%m) {shape = [4,4], axes = [0]}\n"
              "  %b = sub(%a, %c)\n"));
  // The second is behind the combined rows, a third one behind the second.
  EXPECT_TRUE(
      Repeats("  %m = reduce(%a) {axes = [1]}\n"
              "  %c = broadcast(%m) {shape = [4,4], axes = [0]}\n"
              "  %d = dot_general(%c, %v) {contract = [1]x[0]}\n"
              "  %b = neg(%d)\n"));
}

TEST(FusionRulesTest, ContractionsBesideOneAnotherRepeatNothing) {
  EXPECT_FALSE(Repeats("  %b = neg(%x)\n"));
}

// Why what makes %b of %x may not go before a product of f32.
std::string ObstacleBefore(const std::string& type, const std::string& before) {
  const Graph graph = ParsedGraph(
      "graph g(%x: " + type + "[4,4], %w: f32[4,4]) -> f32[4,4] {\n" + before +
      "  %y = dot_general(%b, %w) {contract = "
      "[1]x[0]}\n  return %y\n}");
  FusionContext context;
  NodeList from = AllNodes(graph, &context);
  const NodeList into = {from.back()};
  from.pop_back();
  const GroupGraph groups(graph, context);
  const auto obstacle = FindObstacle(
      groups, from, into, [&](ValueId value) { return graph.producer(value); });
  return obstacle ? ToText(graph, *obstacle) : "";
}

// Only what keeps elements goes before a product: movement, and casts to wider
// floats, since kernels read the narrow ones.
TEST(FusionRulesTest, WhatKeepsElementsGoesBeforeAContraction) {
  const std::string cast = "  %b = cast(%x) {dtype = f32}\n";
  for (const char* const type : {"f16", "bf16"}) {
    EXPECT_EQ(ObstacleBefore(type, cast), "") << type;
  }
  EXPECT_EQ(ObstacleBefore("f16",
                           "  %t = transpose(%x) {permutation = [1,0]}\n"
                           "  %b = cast(%t) {dtype = f32}\n"),
            "");
  for (const char* const type : {"f64", "f8e4m3", "i8", "i32"}) {
    EXPECT_NE(ObstacleBefore(type, cast), "") << type;
  }
  EXPECT_NE(ObstacleBefore("f32", "  %b = tanh(%x)\n"), "");
}

// Of a product with what `before` makes of an input, that and the product's
// outputs.
bool Stores(const std::string& before, const std::string& stored) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[4,4], %w: f32[4,4]) -> f32[4,4], f32[4,4] {\n" + before +
      "  %y = dot_general(%b, %w) {contract = [1]x[0]}\n"
      "  %z = neg(%y)\n"
      "  return %" +
      stored + ", %z\n}");
  FusionContext context;
  const NodeList nodes = AllNodes(graph, &context);
  const GroupGraph groups(graph, context);
  return StoresBeforeContraction(groups, nodes, groups.OutputsOf(nodes));
}

TEST(FusionRulesTest, WhatAContractionReadsIsNotStoredByIt) {
  const std::string moved =
      "  %a = reverse(%x) {axes = [0]}\n"
      "  %b = transpose(%a) {permutation = [1,0]}\n";
  EXPECT_TRUE(Stores(moved, "a"));
  EXPECT_TRUE(Stores(moved, "b"));
  EXPECT_TRUE(
      Stores("  %a = reverse(%x) {axes = [0]}\n"
             "  %c = reshape(%a) {shape = [16]}\n"
             "  %b = reshape(%c) {shape = [4,4]}\n",
             "a"));
  EXPECT_FALSE(Stores(moved, "y"));
}

}  // namespace
}  // namespace encore::backends
