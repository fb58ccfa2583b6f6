// Parts are parts: disjoint, convex, bounded, alike where the graph is.
#include "encore/opt/tensor/parts/divide.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/parts/part_graph.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// By node: its part; constants, which may be in several, are in none.
std::vector<int> PartsOf(const Graph& graph, const std::vector<Part>& parts) {
  std::vector<int> result(graph.node_count(), -1);
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const NodeId node : parts[part].nodes) {
      if (graph.op(node) == Op::kConstant) continue;
      EXPECT_EQ(result[node.value()], -1);
      result[node.value()] = static_cast<int>(part);
    }
  }
  return result;
}

// Parts as nodes of a graph of parts: it must have no cycle.
void ExpectConvex(const Graph& graph, const std::vector<Part>& parts) {
  const std::vector<int> part_of = PartsOf(graph, parts);
  const auto unit = [&](NodeId node) {
    const int part = part_of[node.value()];
    return part >= 0 ? part : static_cast<int>(parts.size() + node.value());
  };
  std::map<int, std::set<int>> needs;
  std::vector<bool> live = LiveNodes(graph);
  for (const NodeId node : Nodes(graph)) {
    if (!live[node.value()]) continue;
    std::set<int>& of_node = needs[unit(node)];
    for (const ValueId operand : graph.operands(node)) {
      const int needed = unit(graph.producer(operand));
      if (needed != unit(node)) of_node.insert(needed);
    }
  }
  while (!needs.empty()) {
    const auto free = std::ranges::find_if(
        needs, [](const auto& entry) { return entry.second.empty(); });
    ASSERT_NE(free, needs.end()) << "parts need each other";
    const int done = free->first;
    needs.erase(free);
    for (auto& [other, of_other] : needs) of_other.erase(done);
  }
}

TEST(DivideTest, PartsOfRandomGraphsNeedNoPartThatNeedsThem) {
  size_t parts = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraphOptions options;
    options.nodes = 60;
    options.symbolic = seed % 2 == 1;
    const Graph graph = RandomGraph(seed, options);
    const Division division =
        Divide(graph, {.least = 3, .radius = 4, .most = 12});
    ExpectConvex(graph, division.parts);
    const Division around = DivideAroundCuts(graph, division.cut);
    ExpectConvex(graph, around.parts);
    for (const Part& part : division.parts) {
      EXPECT_TRUE(MakePartGraph(graph, part, RooflineCosts()).ok());
    }
    parts += division.parts.size() + around.parts.size();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(parts, 1500);
}

// `blocks` equal blocks in a row, each x + f(x), with a head and a tail; every
// block uses what `mask` makes of m, and a product of `memory`.
std::string Blocks(int blocks) {
  std::string text = "graph g(%x: f32[8,64], %m: f32[8,64], %memory: f32[8,64]";
  for (int i = 0; i < blocks; ++i) {
    StrAppend(&text, ", %w", i, ": param f32[64,64], %k", i,
              ": param f32[64,64]");
  }
  StrAppend(&text, ") -> f32[8,64] {\n  %h0 = exp(%x)\n");
  for (int i = 0; i < blocks; ++i) {
    StrAppend(&text, "  %mask", i, " = tanh(%m)\n");
    StrAppend(&text, "  %key", i, " = dot_general(%memory, %k", i,
              ") {contract = [1]x[0]}\n  %keys", i, " = neg(%key", i, ")\n");
    StrAppend(&text, "  %p", i, "_0 = dot_general(%h", i, ", %w", i,
              ") {contract = [1]x[0]} @\"product ", i, "\"\n");
    for (int j = 0; j < 20; ++j) {
      StrAppend(&text, "  %p", i, "_", j + 1, " = ",
                j % 3 == 0 ? "sin" : (j % 3 == 1 ? "cos" : "tanh"), "(%p", i,
                "_", j, ")\n");
    }
    StrAppend(&text, "  %q", i, " = mul(%p", i, "_20, %mask", i, ")\n");
    StrAppend(&text, "  %r", i, " = add(%q", i, ", %keys", i, ")\n");
    StrAppend(&text, "  %h", i + 1, " = add(%h", i, ", %r", i, ")\n");
  }
  StrAppend(&text, "  %y = neg(%h", blocks, ")\n  return %y\n}\n");
  return text;
}

std::map<std::string, int> Kinds(const Graph& graph, const Division& division) {
  std::map<std::string, int> kinds;
  for (const Part& part : division.parts) {
    const auto made = MakePartGraph(graph, part, RooflineCosts());
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) ++kinds[made->key];
  }
  return kinds;
}

TEST(DivideTest, EqualBlocksAreEqualParts) {
  const Graph some = ParsedGraph(Blocks(20));
  const Graph many = ParsedGraph(Blocks(60));
  const auto kinds = Kinds(some, Divide(some));
  EXPECT_LE(kinds.size(), 5);
  EXPECT_EQ(Kinds(many, Divide(many)).size(), kinds.size());
  // What lies around the cuts is alike too.
  const Division around = DivideAroundCuts(many, Divide(many).cut);
  EXPECT_GE(around.parts.size(), 15);
  EXPECT_LE(Kinds(many, around).size(), 2);
}

TEST(DivideTest, WhatBlocksShareIsAPartOfItsOwn) {
  const Graph graph = ParsedGraph(Blocks(30));
  const Division division = Divide(graph);
  const std::vector<int> part_of = PartsOf(graph, division.parts);
  std::set<int> masks, keys, products;
  for (const NodeId node : Nodes(graph)) {
    const auto operands = graph.operands(node);
    const Graph::Argument* const first =
        operands.empty() ? nullptr : graph.argument(operands[0]);
    if (first == nullptr) continue;
    if (first->name == "m") masks.insert(part_of[node.value()]);
    if (first->name == "memory") keys.insert(part_of[node.value()]);
  }
  EXPECT_EQ(masks.size(), 1);
  EXPECT_EQ(masks, keys);
  const Part& shared = division.parts[*keys.begin()];
  // Masks, keys, and what is made of keys alone.
  EXPECT_EQ(shared.nodes.size(), 90);
}

// Equal values are at equal numbers of the origins of equal parts.
TEST(DivideTest, OriginsOfEqualPartsCorrespond) {
  const Graph graph = ParsedGraph(Blocks(30));
  std::map<std::string, std::vector<std::string>> origins;
  int pairs = 0;
  for (const Part& part : Divide(graph).parts) {
    const auto made = MakePartGraph(graph, part, RooflineCosts());
    ASSERT_TRUE(made.ok());
    const auto [it, fresh] = origins.emplace(made->key, made->origins);
    if (fresh) continue;
    ASSERT_EQ(it->second.size(), made->origins.size());
    for (size_t i = 0; i < made->origins.size(); ++i) {
      EXPECT_EQ(it->second[i].substr(0, 8), made->origins[i].substr(0, 8));
      pairs += it->second[i] != made->origins[i];
    }
  }
  EXPECT_GE(pairs, 10);
}

TEST(DivideTest, ALongRowWithoutRepeatsIsCutIntoBoundedParts) {
  std::string text = "graph g(%x0: f32[4]) -> f32[4] {\n";
  uint32_t random = 1;
  for (int i = 0; i < 5000; ++i) {
    random = random * 1664525 + 1013904223;
    constexpr const char* kOps[] = {"neg", "abs", "sin", "cos", "exp", "tanh"};
    StrAppend(&text, "  %x", i + 1, " = ", kOps[(random >> 16) % 6], "(%x", i,
              ")\n");
  }
  text += "  return %x5000 as y\n}\n";
  const Graph graph = ParsedGraph(text);
  const Division division = Divide(graph);
  size_t nodes = 0;
  for (const Part& part : division.parts) {
    EXPECT_GE(part.nodes.size(), 48);
    EXPECT_LE(part.nodes.size(), 512);
    nodes += part.nodes.size();
  }
  EXPECT_EQ(nodes, 5000);
}

}  // namespace
}  // namespace encore::opt
