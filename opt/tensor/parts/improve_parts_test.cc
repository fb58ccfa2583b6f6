// Graphs that are improved part by part compute the same, and as much better.
#include "encore/opt/tensor/parts/improve_parts.h"

#include <string>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/opt/tensor/costs.h"
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
  if (!improved->has_value()) return;
  EXPECT_LE(WeightBytes(**improved), 1.1 * WeightBytes(graph));
}

}  // namespace
}  // namespace encore::opt
