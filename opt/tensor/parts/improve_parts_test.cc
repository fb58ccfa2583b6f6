// Graphs that are improved part by part compute the same, and as much better.
#include "encore/opt/tensor/parts/improve_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/testing/improve_and_check.h"
#include "encore/opt/tensor/testing/rewritten_graphs.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// Small graphs in small parts.
ImproveOptions InParts(RewriteLevel level) {
  ImproveOptions options;
  options.level = level;
  options.limits.parts = {
      .whole_nodes = 0,
      .most_whole_nodes = 0,
      .divide = {.least = 3, .radius = 4, .most = 12},
  };
  return options;
}

TEST(ImprovePartsTest, RandomGraphsGiveTheSameBits) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomGraphOptions random;
    random.nodes = 40;
    random.symbolic = seed % 2 == 1;
    Graph graph = RandomGraph(seed, random);
    if (seed % 3 == 0) {
      auto primitives = DecomposeAll(graph);
      ASSERT_TRUE(primitives.ok());
      graph = *std::move(primitives);
    }
    changed += ImproveAndCheck(graph, InParts(RewriteLevel::kExact), seed);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(changed, 1);
}

TEST(ImprovePartsTest, RandomGraphsOfMovementAndProductsGiveTheSame) {
  for (const RewriteLevel level :
       {RewriteLevel::kExact, RewriteLevel::kReassociate}) {
    int changed = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      changed += ImproveAndCheck(
          RandomGraph(seed, MovementAndProducts(40, seed % 2 == 1)),
          InParts(level), seed);
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GE(changed, 10);
  }
}

// Layers that each do in three steps what two would do, in a row.
std::string Layers(int count) {
  std::string text = "graph g(%x0: f32[64,64]";
  for (int i = 0; i < count; ++i) {
    StrAppend(&text, ", %w", i, ": param f32[64,64], %v", i,
              ": param f32[64,64]");
  }
  text += ") -> f32[64,64] {\n";
  for (int i = 0; i < count; ++i) {
    // (x w + x v), transposed back and forth.
    StrAppend(&text, "  %a", i, " = dot_general(%x", i, ", %w", i,
              ") {contract = [1]x[0]} @\"first ", i, "\"\n");
    StrAppend(&text, "  %b", i, " = dot_general(%x", i, ", %v", i,
              ") {contract = [1]x[0]} @\"second ", i, "\"\n");
    StrAppend(&text, "  %c", i, "_0 = add(%a", i, ", %b", i, ") @\"sum ", i,
              "\"\n");
    for (int j = 0; j < 15; ++j) {
      StrAppend(&text, "  %c", i, "_", j + 1, " = ",
                j % 2 == 0 ? "sin" : "tanh", "(%c", i, "_", j, ") @\"step ", i,
                "\"\n");
    }
    StrAppend(&text, "  %x", i + 1, " = add(%x", i, ", %c", i, "_15) @\"end ",
              i, "\"\n");
  }
  StrAppend(&text, "  return %x", count, " as y\n}\n");
  return text;
}

int CountOf(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

TEST(ImprovePartsTest, EqualLayersAreImprovedOnceAndKeepTheirOrigins) {
  for (const int layers : {40, 120}) {
    const Graph graph = ParsedGraph(Layers(layers));
    ImproveReport report;
    ImproveOptions options;
    options.level = RewriteLevel::kReassociate;
    options.report = &report;
    const auto improved = Improve(graph, options);
    ASSERT_TRUE(improved.ok()) << improved.status();
    ASSERT_TRUE(improved->has_value());
    const std::string text = Print(**improved);
    // One product a layer, of both weights' sum.
    EXPECT_EQ(CountOf(text, "dot_general("), layers);
    for (int i = 0; i < layers; ++i) {
      // Of each layer its 15 steps, what the rule made for the first, the end.
      EXPECT_EQ(CountOf(text, StrCat("@\"step ", i, "\"")), 17) << i;
      EXPECT_EQ(CountOf(text, StrCat("@\"end ", i, "\"")), 1) << i;
    }
    EXPECT_GT(report.parts, layers / 4);
    EXPECT_LE(report.distinct_parts, 6);
    EXPECT_LT(report.cost_after, report.cost_before);
  }
}

TEST(ImprovePartsTest, IsAsGoodAsTheWhole) {
  const Graph graph = ParsedGraph(Layers(40));
  ImproveReport parts, whole;
  ImproveOptions options;
  options.level = RewriteLevel::kReassociate;
  options.report = &parts;
  ASSERT_TRUE(Improve(graph, options).ok());
  options.report = &whole;
  options.limits.parts.whole_nodes = 1 << 20;
  ASSERT_TRUE(Improve(graph, options).ok());
  EXPECT_GT(parts.parts, 0);
  EXPECT_EQ(whole.parts, 0);
  EXPECT_LE(parts.cost_after, whole.cost_after * 1.0001);
}

// A choice that repeats itself in all parts may not add up to more weights.
TEST(ImprovePartsTest, SharedWeightsAreNotCopiedIntoEachPart) {
  std::string text = Layers(40);
  // All layers use one pair of weights.
  for (int i = 39; i >= 1; --i) {
    for (const char* weight : {"w", "v"}) {
      const std::string declared =
          StrCat(", %", weight, i, ": param f32[64,64]");
      text.erase(text.find(declared), declared.size());
      const std::string used = StrCat("%", weight, i, ")");
      text.replace(text.find(used), used.size(), StrCat("%", weight, "0)"));
    }
  }
  const Graph graph = ParsedGraph(text);
  ImproveOptions options;
  options.level = RewriteLevel::kReassociate;
  const auto improved = Improve(graph, options);
  ASSERT_TRUE(improved.ok()) << improved.status();
  // What layers with weights of their own gain would copy these.
  EXPECT_FALSE(improved->has_value());
  const auto apart = Improve(ParsedGraph(Layers(40)), options);
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_TRUE(apart->has_value());
}

// The most bytes that values hold at once where nodes run in their order and
// arguments are held by others.
double LiveBytes(const Graph& graph) {
  std::vector<uint32_t> last(graph.value_count());
  for (const NodeId node : Nodes(graph)) {
    for (const ValueId operand : graph.operands(node)) {
      last[operand.value()] = node.value();
    }
  }
  for (const Graph::Output& output : graph.outputs()) {
    last[output.value.value()] = graph.node_count();
  }
  std::vector<double> freed(graph.node_count() + 1);
  double live = 0, most = 0;
  const std::vector<bool> weights = WeightOnlyValues(graph);
  for (const NodeId node : Nodes(graph)) {
    const ValueId value = graph.result(node);
    if (graph.argument(value) == nullptr && !weights[value.value()]) {
      const double bytes = TypicalBytes(graph.type(value), graph.symbols());
      live += bytes;
      freed[std::max(last[value.value()], node.value())] += bytes;
    }
    most = std::max(most, live);
    live -= freed[node.value()];
  }
  return most;
}

// Rates, and what values hold beside outputs, as lowering says it.
class CostsOfLiveBytes : public RooflineCosts {
 public:
  std::optional<GraphCost> CostOf(const Graph& graph) const override {
    auto cost = RooflineCosts::CostOf(graph);
    double outputs = 0;
    for (const Graph::Output& output : graph.outputs()) {
      outputs += TypicalBytes(graph.type(output.value), graph.symbols());
    }
    if (cost) cost->live_bytes = LiveBytes(graph) - outputs;
    return cost;
  }
};

// Layers in a row, each of which multiplies its state by a product, or
// the sum of two, of one value that all share.
std::string CrossLayers(int count, bool sum) {
  std::string text = "graph g(%x0: f32[128,128], %s: f32[128,128]";
  for (int i = 0; i < count; ++i) {
    StrAppend(&text, ", %a", i, ": param f32[128,128], %b", i,
              ": param f32[128,128], %c", i, ": param f32[128,128]");
  }
  text += ") -> f32[128,128] {\n  %e = tanh(%s)\n";
  for (int i = 0; i < count; ++i) {
    StrAppend(&text, "  %p", i, " = dot_general(%e, %a", i,
              ") {contract = [1]x[0]}\n");
    if (sum) {
      StrAppend(&text, "  %q", i, " = dot_general(%e, %b", i,
                ") {contract = [1]x[0]}\n  %k", i, " = add(%p", i, ", %q", i,
                ")\n");
    }
    StrAppend(&text, "  %t", i, "_0 = mul(%x", i, sum ? ", %k" : ", %p", i,
              ")\n");
    for (int j = 0; j < 22; ++j) {
      StrAppend(&text, "  %t", i, "_", j + 1, " = ",
                j % 3 == 0   ? "sin"
                : j % 3 == 1 ? "tanh"
                             : "cos",
                "(%t", i, "_", j, ")\n");
    }
    StrAppend(&text, "  %x", i + 1, " = dot_general(%t", i, "_22, %c", i,
              ") {contract = [1]x[0]}\n");
  }
  StrAppend(&text, "  return %x", count, " as y\n}\n");
  return text;
}

// What layers make of a value that they share is a part of its own; each of its
// results is computed where its layer is.
TEST(ImprovePartsTest, WhatLayersShareDoesNotLiveThroughAllOfThem) {
  const Graph graph = ParsedGraph(CrossLayers(60, /*sum=*/true));
  for (const bool by_rates : {true, false}) {
    const RooflineCosts rates;
    const CostsOfLiveBytes live;
    ImproveOptions options;
    options.level = RewriteLevel::kReassociate;
    options.costs = by_rates ? &rates : &live;
    const auto improved = Improve(graph, options);
    ASSERT_TRUE(improved.ok()) << improved.status();
    ASSERT_TRUE(improved->has_value());
    // Of each layer the two products of the shared value are one.
    EXPECT_EQ(CountOf(Print(**improved), "dot_general("), 120);
    EXPECT_LE(LiveBytes(**improved), 1.05 * LiveBytes(graph));
  }
}

int CountOf(const Graph& graph, Op op) {
  int count = 0;
  for (const NodeId node : Nodes(graph)) count += graph.op(node) == op;
  return count;
}

// The part with other operators; it computes something else, which nobody here
// looks at.
StatusOr<Improved> WithOtherOps(const Graph& part) {
  const std::map<Op, Op> others = {{Op::kSin, Op::kExp}, {Op::kTanh, Op::kCos}};
  bool changed = false;
  auto graph = RewriteGraph(part,
                            [&](GraphBuilder& builder, const Graph& from,
                                NodeId node, std::span<const Value> operands)
                                -> std::optional<std::vector<Value>> {
                              const auto other = others.find(from.op(node));
                              if (other == others.end()) return std::nullopt;
                              changed = true;
                              return builder.Node(other->second, operands,
                                                  from.attributes(node));
                            });
  if (!graph.ok()) return graph.status();
  Improved improved;
  if (changed) improved.graph = *std::move(graph);
  return improved;
}

// Kinds of parts that break a limit of the whole are left out, and no others:
// here a whole may have so many of an operator that parts make.
TEST(ImprovePartsTest, KindsThatBreakALimitOfTheWholeStay) {
  std::string text = "graph g(%x: f32[4]) -> f32[4] {\n  %v0 = neg(%x)\n";
  const auto op = [](int i) {
    return i < 100 ? "sin" : i < 200 ? "tanh" : i < 300 ? "log" : "sin";
  };
  for (int i = 0; i < 400; ++i) {
    StrAppend(&text, "  %v", i + 1, " = ", i % 7 == 0 ? "sqrt" : op(i), "(%v",
              i, ")\n");
  }
  const Graph graph = ParsedGraph(text + "  return %v400 as y\n}\n");
  const PartsLimits limits = {.whole_nodes = 0,
                              .most_whole_nodes = 0,
                              .divide = {.least = 3, .radius = 4, .most = 12}};
  const BodiesOf no_bodies = [](NodeId, const Graph&) {
    return std::vector<Graph>();
  };
  const ImprovePart improve = [](const Graph& part, const std::vector<bool>&) {
    return WithOtherOps(part);
  };
  const RooflineCosts costs;
  for (const auto& [exps, coses] : {std::pair(1000, 1000), std::pair(1000, 0),
                                    std::pair(0, 1000), std::pair(0, 0)}) {
    int judged = 0;
    const GraphFits fits = [&](const Graph& before, const Graph& after, bool) {
      EXPECT_EQ(&before, &graph);
      ++judged;
      return CountOf(after, Op::kExp) <= exps &&
             CountOf(after, Op::kCos) <= coses;
    };
    PartsImprover parts(costs, limits, improve, fits);
    const auto improved = parts.Improve(graph, no_bodies, false, Graph("g"));
    ASSERT_TRUE(improved.ok() && improved->has_value());
    EXPECT_LE(judged, 25);
    Deadline passed(0);
    PartsImprover late(costs, limits, improve, fits, &passed);
    const auto stays = late.Improve(graph, no_bodies, false, Graph("g"));
    ASSERT_TRUE(stays.ok() && stays->has_value());
    const bool all_fit = exps > 0 && coses > 0;
    EXPECT_EQ((*stays)->graph.has_value(), all_fit);
    EXPECT_EQ(passed.cut_short(), !all_fit);
    if (exps == 0 && coses == 0) {
      EXPECT_FALSE((*improved)->graph.has_value());
      continue;
    }
    const Graph& is = *(*improved)->graph;
    EXPECT_EQ(CountOf(is, Op::kExp) > 0, exps > 0);
    EXPECT_EQ(CountOf(is, Op::kCos) > 0, coses > 0);
    // Most of what may be changed is.
    if (exps > 0)
      EXPECT_LT(CountOf(is, Op::kSin), CountOf(graph, Op::kSin) / 4);
    if (coses > 0) {
      EXPECT_LT(CountOf(is, Op::kTanh), CountOf(graph, Op::kTanh) / 4);
    }
  }
}

// What layers share stands among them, parts of a row do not.
TEST(ImprovePartsTest, SaysWhetherChangedPartsStandAmongOthers) {
  const BodiesOf no_bodies = [](NodeId, const Graph&) {
    return std::vector<Graph>();
  };
  const RooflineCosts costs;
  for (const bool shared : {false, true}) {
    const Graph graph =
        ParsedGraph(shared ? CrossLayers(60, /*sum=*/true) : Layers(40));
    const ImprovePart improve =
        [&](const Graph& part, const std::vector<bool>&) -> StatusOr<Improved> {
      Improved improved;
      if (shared && CountOf(part, Op::kDotGeneral) < 100) return improved;
      auto copy = CopyGraph(part, part.NewBody(""));
      if (!copy.ok()) return copy.status();
      improved.graph = *std::move(copy);
      return improved;
    };
    std::optional<bool> told;
    const GraphFits fits = [&](const Graph&, const Graph&, bool among_others) {
      told = among_others;
      return true;
    };
    PartsImprover parts(costs, {}, improve, fits);
    ASSERT_TRUE(parts.Improve(graph, no_bodies, false, Graph("g")).ok());
    EXPECT_EQ(told, shared);
  }
}

}  // namespace
}  // namespace encore::opt
