#include "encore/backends/lowering/explain_fusion.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/lowering/choose_partition.h"
#include "encore/backends/lowering/fusion.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// A kernel takes 11 us, and 3 us for each stage behind the first.
FusionContext ContextOf(const Graph& graph) {
  FusionContext context;
  for (const NodeId node : Nodes(graph)) {
    context.sites.push_back(HasRegion(graph, node) ? std::optional(KernelSite{})
                                                   : std::nullopt);
  }
  context.seconds = [](const BuiltRegion& built, KernelSite) {
    return std::optional(8e-6 + 3e-6 * built.region.stages.size());
  };
  return context;
}

// Of the graph's greedy partition.
std::string Explained(std::string_view text, FusionContext* context = nullptr) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const FusionContext plain = ContextOf(*graph);
  GroupGraph groups(*graph, context == nullptr ? plain : *context);
  FusionTextOptions options;
  options.name = [&](NodeId node) { return graph->origin(node); };
  options.backend = [](int number) {
    return std::string(number == 0 ? "one" : "other");
  };
  const std::vector<Group> partition = GreedyPartition(&groups);
  const std::string explained = ExplainFusion(partition, &groups, options);
  EXPECT_EQ(ExplainFusion(partition, &groups, options), explained);
  return explained;
}

TEST(ExplainFusionTest, NamesTheRuleAndTheTrait) {
  EXPECT_EQ(Explained("graph g(%x: f32[4,8], %z: f32[4,8]) -> f32[4,16] {\n"
                      "  %0 = concat(%x, %z) {axis = 1} @\"join\"\n"
                      "  %y = neg(%0) @\"turn\"\n"
                      "  return %y\n}"),
            "kernel 0 on one, 14 us: concat join\n"
            "kernel 1 on one, 11 us: neg turn\n"
            "  with 0, which makes concat join: not one kernel, as concat ends "
            "its kernel (kEndsKernel)\n");
}

TEST(ExplainFusionTest, ComputingBeforeAProductIsNamed) {
  const std::string text = Explained(
      "graph g(%x: f32[4,8], %w: f32[8,8]) -> f32[4,8] {\n"
      "  %0 = exp(%x) @\"e\"\n"
      "  %y = dot_general(%0, %w) {contract = [1]x[0]} @\"p\"\n"
      "  return %y\n}");
  EXPECT_NE(text.find("with 0, which makes exp e: not one kernel, as exp would "
                      "be computed each time that it is read (kRereads)"),
            std::string::npos)
      << text;
}

TEST(ExplainFusionTest, SaysWhatTheLargerKernelWouldCost) {
  // Two rows' reductions of one value, which the greedy partition leaves apart.
  const std::string text = Explained(
      "graph g(%x: f32[4,8]) -> (f32[4], f32[4]) {\n"
      "  %a = reduce(%x) {axes = [1]} @\"sum\"\n"
      "  %b = reduce(%x) {axes = [1], combiner = max} @\"max\"\n"
      "  return %a, %b\n}");
  EXPECT_EQ(text.find("beside 0, which reads input"), text.find("beside"))
      << text;
  EXPECT_NE(text.find(" too: together "), std::string::npos) << text;
  EXPECT_NE(text.find(", apart "), std::string::npos) << text;
}

TEST(ExplainFusionTest, NamesTheKernelBetween) {
  const std::string text = Explained(
      "graph g(%x: f32[8,8], %w: f32[8,8]) -> f32[8,8] {\n"
      "  %a = dot_general(%x, %w) {contract = [1]x[0]} @\"a\"\n"
      "  %s = reduce(%a) {axes = [0]} @\"s\"\n"
      "  %t = reduce(%s) {axes = [0]} @\"t\"\n"
      "  %u = broadcast(%t) {shape = [8,8], axes = []} @\"u\"\n"
      "  %y = mul(%a, %u) @\"y\"\n"
      "  return %y\n}");
  EXPECT_NE(text.find("stands between them"), std::string::npos) << text;
}

TEST(ExplainFusionTest, NamesTheOtherBackend) {
  const char* text =
      "graph g(%x: f32[4]) -> f32[4] {\n"
      "  %a = neg(%x) @\"a\"\n"
      "  %y = exp(%a) @\"y\"\n"
      "  return %y\n}";
  const auto graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  FusionContext context = ContextOf(*graph);
  context.sites.back() = KernelSite{.backend = 1};
  EXPECT_EQ(Explained(text, &context),
            "kernel 0 on one, 11 us: neg a\n"
            "kernel 1 on other, 11 us: exp y\n"
            "  with 0, which makes neg a: it runs on one\n");
}

}  // namespace
}  // namespace encore::backends
