#include "encore/backends/lowering/variants.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/lowering/fusion.h"
#include "encore/backends/lowering/fusion_rules.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// The variants of one family of a graph, by the ops of their nodes: "reverse
// dot_general". All regions have kernels, each node takes a second. Expects
// that no contraction stores what is moved before it.
std::vector<std::string> Variants(const std::string& text, unsigned families) {
  const Graph graph = ParsedGraph(text);
  FusionContext context;
  for (const NodeId node : Nodes(graph)) {
    context.sites.push_back(HasRegion(graph, node) ? std::optional(KernelSite{})
                                                   : std::nullopt);
  }
  context.seconds = [](const BuiltRegion&, KernelSite) { return 1e-6; };
  GroupGraph groups(graph, context);
  const std::vector<Group> partition = GreedyPartition(&groups);
  const VariantFinder finder(partition, families, &groups);
  std::vector<std::string> found;
  for (const Variant& variant : finder.variants()) {
    const Group& group = variant.group;
    EXPECT_FALSE(StoresBeforeContraction(groups, group.nodes, group.outputs));
    std::string& ops = found.emplace_back();
    for (const NodeId node : group.nodes) {
      ops += ops.empty() ? "" : " ";
      ops += graph.info(node).mnemonic;
    }
  }
  return found;
}

bool Has(const std::vector<std::string>& variants, const std::string& ops) {
  return std::ranges::count(variants, ops) > 0;
}

// A product with a vector, each of whose sums reads a row that is moved: one
// kernel of a row for each could store it.
std::string Product(const std::string& outputs) {
  return "graph g(%x: f32[4,4], %w: f32[4]) {\n"
         "  %a = reverse(%x) {axes = [0]}\n"
         "  %b = transpose(%a) {permutation = [1,0]}\n"
         "  %y = dot_general(%b, %w) {contract = [1]x[0]}\n"
         "  return " +
         outputs + "\n}";
}

TEST(VariantsTest, ACutBeforeAContractionHasAllThatIsMoved) {
  const auto found = Variants(Product("%y"), kCut);
  EXPECT_TRUE(Has(found, "reverse transpose dot_general"));
  EXPECT_TRUE(Has(found, "reverse transpose"));
}

TEST(VariantsTest, JoinsStoreNothingBeforeAContraction) {
  EXPECT_TRUE(Has(Variants(Product("%y"), kJoin), "transpose dot_general"));
  EXPECT_FALSE(
      Has(Variants(Product("%b, %y"), kJoin), "transpose dot_general"));
  // What is computed again is not stored.
  const auto again = Variants(Product("%b, %y"), kRecompute);
  EXPECT_TRUE(Has(again, "reverse transpose dot_general"));
}

// The sum reads what the product reads, which is stored.
TEST(VariantsTest, NeighborsOfAContractionStoreNothingBeforeIt) {
  const auto found = [](const std::string& outputs) {
    return Variants(
        "graph g(%x: f32[4,4], %w: f32[4]) {\n"
        "  %a = reverse(%x) {axes = [0]}\n"
        "  %y = dot_general(%a, %w) {contract = [1]x[0]}\n"
        "  %z = reduce(%a) {axes = [1]}\n"
        "  return " +
            outputs + "\n}",
        kJoin | kBesideContraction);
  };
  EXPECT_TRUE(Has(found("%y, %z"), "reverse dot_general reduce"));
  EXPECT_TRUE(Has(found("%a, %y, %z"), "dot_general reduce"));
  EXPECT_FALSE(Has(found("%a, %y, %z"), "reverse dot_general reduce"));
}

// Two products with combined rows in between, of one row: keys that are moved
// are part of the kernel, unless they are stored.
TEST(VariantsTest, ChainsStoreNothingBeforeAContraction) {
  const auto chains = [](const std::string& outputs) {
    return Variants(
        "graph g(%q: f32[1,8], %k: f32[8,8], %v: f32[8,8]) {\n"
        "  %t = transpose(%k) {permutation = [1,0]}\n"
        "  %s = dot_general(%q, %t) {contract = [1]x[0]}\n"
        "  %m = reduce(%s) {axes = [1], combiner = max}\n"
        "  %b = broadcast(%m) {shape = [1,8], axes = [0]}\n"
        "  %d = sub(%s, %b)\n"
        "  %e = exp(%d)\n"
        "  %y = dot_general(%e, %v) {contract = [1]x[0]}\n"
        "  return " +
            outputs + "\n}",
        kChain);
  };
  const std::string without =
      "dot_general reduce broadcast sub exp dot_general";
  const std::string with = "transpose " + without;
  EXPECT_TRUE(Has(chains("%y"), with));
  EXPECT_TRUE(Has(chains("%t, %y"), without));
  EXPECT_FALSE(Has(chains("%t, %y"), with));
}

}  // namespace
}  // namespace encore::backends
