#include "encore/backends/lowering/fusion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
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
    if (graph->operands(node).empty()) {
      context.sites.emplace_back();
    } else {
      context.sites.emplace_back(KernelSite{});
    }
  }
  context.seconds = [&](const BuiltRegion& built, KernelSite) {
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

// The groups of a graph whose regions all have kernels that take a second, so
// that fusion takes whatever the op table allows.
size_t CountLegal(const std::string& text) {
  const StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  if (!graph.ok()) return 0;
  FusionContext context;
  for (const NodeId node : Nodes(*graph)) {
    context.sites.push_back(
        HasRegion(*graph, node) ? std::optional(KernelSite{}) : std::nullopt);
  }
  context.seconds = [](const BuiltRegion&, KernelSite) { return 1.0; };
  return GreedyPartition(*graph, context).size();
}

std::string Chain(const std::string& first, const std::string& second) {
  return "graph g(%x: f32[4,6], %w: f32[6,6], %i: i64[2,1]) {\n  %a = " +
         first + "\n  %y = " + second + "\n  return %y\n}";
}

TEST(FusionTest, TraitsOfTheTwoOpsDecide) {
  const std::string dot = "dot_general(%x, %w) {contract = [1]x[0]}";
  const std::string dot_of_a = "dot_general(%a, %w) {contract = [1]x[0]}";
  const std::string sum_of_a = "reduce(%a) {axes = [1], combiner = sum}";
  const std::string running = "cumulative(%a) {axis = 1, combiner = sum}";
  const struct {
    std::string first, second;
    size_t groups;
  } kCases[] = {
      {"neg(%x)", "exp(%a)", 1},
      {"neg(%x)", sum_of_a, 1},
      // Nothing follows what ends a kernel.
      {"concat(%x, %x) {axis = 0}", "neg(%a)", 2},
      // Products are read several times: moved, not computed again.
      {"neg(%x)", dot_of_a, 2},
      {"reverse(%x) {axes = [0]}", dot_of_a, 1},
      {dot, "neg(%a)", 1},
      {dot, sum_of_a, 2},
      {dot, dot_of_a, 2},
      {"neg(%x)", running, 2},
      {"reverse(%x) {axes = [0]}", running, 1},
      // A broadcast is made wherever it is read.
      {"broadcast(%x) {shape = [4,6], axes = [0,1]}", "neg(%a)", 1},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(CountLegal(Chain(c.first, c.second)), c.groups)
        << c.first << " -> " << c.second;
  }
}

// What is moved before a contraction and stored all the same is a kernel of its
// own, which may do it in place; not what is stored beside it or behind.
TEST(FusionTest, AContractionStoresNothingThatIsMovedBeforeIt) {
  const auto groups = [](const std::string& outputs) {
    return CountLegal(
        "graph g(%x: f32[4,4], %w: f32[4]) {\n"
        "  %a = reverse(%x) {axes = [0]}\n"
        "  %b = transpose(%a) {permutation = [1,0]}\n"
        "  %y = dot_general(%b, %w) {contract = [1]x[0]}\n"
        "  %z = neg(%y)\n"
        "  return " +
        outputs + "\n}");
  };
  EXPECT_EQ(groups("%z"), 1u);
  EXPECT_EQ(groups("%y, %z"), 1u);
  EXPECT_EQ(groups("%a, %z"), 2u);
  EXPECT_EQ(groups("%b, %z"), 2u);
}

// What was asked once is not asked again: the answers of `seconds` for the same
// nodes are one call.
TEST(FusionTest, EachSetOfNodesIsAskedForOnce) {
  const StatusOr<Graph> graph = ParseGraph(R"(
graph g(%x: f32[4,6], %w: f32[6,6]) {
  %t = transpose(%x) {permutation = [1,0]}
  %u = transpose(%w) {permutation = [1,0]}
  %d = dot_general(%t, %u) {contract = [0]x[0]}
  return %d
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  FusionContext context;
  for (const NodeId node : Nodes(*graph)) {
    context.sites.push_back(
        HasRegion(*graph, node) ? std::optional(KernelSite{}) : std::nullopt);
  }
  std::vector<std::pair<std::vector<ValueId>, std::vector<ValueId>>> asked;
  context.seconds = [&](const BuiltRegion& built, KernelSite) {
    asked.emplace_back(built.inputs, built.outputs);
    return 10.0 * static_cast<double>(asked.size());
  };
  GreedyPartition(*graph, context);
  std::ranges::sort(asked);
  EXPECT_EQ(std::ranges::adjacent_find(asked), asked.end());
}

// The broadcast is computed by the concatenation's group, which also makes what
// it reads, and by itself for another reader: neither waits for the other.
TEST(FusionTest, AGroupDoesNotWaitForWhatItMakesItself) {
  EXPECT_EQ(CountLegal(R"(
graph g(%x: f32[3,11], %z: f32[3,11]) {
  %a = add(%x, %z)
  %b = broadcast(%a) {shape = [3,11], axes = [0,1]}
  %c = concat(%b) {axis = 0}
  %d = broadcast(%b) {shape = [2,3,11], axes = [1,2]}
  return %a, %c, %d
})"),
            3);
}

}  // namespace
}  // namespace encore::backends
