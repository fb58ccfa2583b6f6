// Improved graphs compute the same, keep their signature and their effects, and
// are the same every time.
#include "encore/opt/tensor/improve.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/testing/improve_and_check.h"
#include "encore/opt/tensor/testing/rewritten_graphs.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

bool ImproveAndCheck(const Graph& graph, RewriteLevel level, uint64_t seed) {
  ImproveOptions options;
  options.level = level;
  return ImproveAndCheck(graph, std::move(options), seed);
}

TEST(ImproveTest, RandomGraphsGiveTheSameBits) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomGraphOptions options;
    options.nodes = 12;
    options.symbolic = seed % 2 == 1;
    Graph graph = RandomGraph(seed, options);
    if (seed % 3 == 0) {
      auto primitives = DecomposeAll(graph);
      ASSERT_TRUE(primitives.ok());
      graph = *std::move(primitives);
    }
    changed += ImproveAndCheck(graph, RewriteLevel::kExact, seed);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(changed, 3);
}

// Graphs of what rules are about.
TEST(ImproveTest, RandomGraphsOfMovementAndProductsGiveTheSame) {
  for (const RewriteLevel level :
       {RewriteLevel::kExact, RewriteLevel::kReassociate,
        RewriteLevel::kFast}) {
    int changed = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      changed += ImproveAndCheck(
          RandomGraph(seed, MovementAndProducts(12, seed % 2 == 1)), level,
          seed);
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GE(changed, 30);
  }
}

std::string Improved(const Graph& graph, ImproveReport* report = nullptr,
                     RewriteLevel level = RewriteLevel::kReassociate) {
  ImproveOptions options;
  options.level = level;
  options.report = report;
  const auto improved = Improve(graph, options);
  EXPECT_TRUE(improved.ok()) << improved.status();
  return improved.ok() && improved->has_value() ? Print(**improved) : "";
}

TEST(ImproveTest, IsTheSameEveryTime) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomGraphOptions options;
    options.nodes = 20;
    const Graph graph = RandomGraph(seed, options);
    EXPECT_EQ(Improved(graph), Improved(graph));
  }
}

// A row of products whose first is large unless they come in another order.
TEST(ImproveTest, NarrowFloatsRoundAsWrittenUnlessAllMay) {
  const auto chain = [](const char* dtype) {
    std::string text = R"(
graph g(%a: T[256,1], %b: T[1,256], %c: T[256,1]) -> T[256,1] {
  %0 = dot_general(%a, %b) {contract = [1]x[0]}
  %y = dot_general(%0, %c) {contract = [1]x[0]}
  return %y
}
)";
    for (size_t at; (at = text.find('T')) != std::string::npos;) {
      text.replace(at, 1, dtype);
    }
    return ParsedGraph(text);
  };
  for (const char* narrow : {"f16", "bf16", "f8e4m3"}) {
    const Graph graph = chain(narrow);
    EXPECT_EQ(Improved(graph), "");
    EXPECT_NE(Improved(graph, nullptr, RewriteLevel::kFast), "");
  }
  for (const char* wide : {"f32", "f64", "i32"}) {
    EXPECT_NE(Improved(chain(wide)), "");
  }
}

TEST(ImproveTest, ALevelOfNoneChangesNothing) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[8]) -> f32[8] {\n"
      "  %0 = neg(%x)\n  %y = abs(%0)\n  return %y\n}\n");
  const auto improved = Improve(graph, {});
  ASSERT_TRUE(improved.ok());
  EXPECT_FALSE(improved->has_value());
}

// What may fail stays, in its order; what it is given gets better.
TEST(ImproveTest, EffectsStayInOrder) {
  const Graph graph = ParsedGraph(R"(
graph g(%x: f32[8], %i: i64[], %j: i64[]) -> f32[8] {
  %0 = neg(%x)
  %1 = assertion(%0, %i) {message = "first"}
  %2 = neg(%1)
  %3 = assertion(%2, %j) {message = "second"}
  %4 = neg(%3)
  %y = abs(%4)
  return %y
}
)");
  EXPECT_EQ(Improved(graph),
            R"(graph g(%x: f32[8], %i: i64[], %j: i64[]) -> f32[8] {
  %0 = neg(%x)
  %1 = assertion(%0, %i) {message = "first"}
  %2 = neg(%1)
  %3 = assertion(%2, %j) {message = "second"}
  %y = abs(%3)
  return %y
}
)");
}

// As exporters write a loop over a batch out.
TEST(ImproveTest, ManyOperandsAreJoined) {
  constexpr int kParts = 300;
  std::string text =
      StrCat("graph g(%x: f32[", kParts, ",2]) -> f32[", kParts, ",2] {\n");
  std::string parts;
  for (int i = 0; i < kParts; ++i) {
    text += StrCat("  %", i, " = slice(%x) {starts = [", i, ", 0], limits = [",
                   i + 1, ", 2], strides = [1, 1]}\n  %n", i, " = neg(%", i,
                   ")\n  %m", i, " = neg(%n", i, ")\n");
    parts += StrCat(i > 0 ? ", " : "", "%m", i);
  }
  const Graph graph =
      ParsedGraph(text + "  %all = concat(" + parts +
                  ") {axis = 0}\n  %y = abs(%all)\n  return %y\n}\n");
  EXPECT_TRUE(ImproveAndCheck(graph, RewriteLevel::kExact, 1));
}

TEST(ImproveTest, BodiesAreImprovedByThemselves) {
  const Graph graph = ParsedGraph(R"(
graph g(%c: bool[], %x: f32[64,64]) -> f32[64,64] {
  %y = if(%c, %x) @"choice" graph then(%a: f32[64,64]) -> f32[64,64] {
    %0 = neg(%a) @"neg"
    %y = abs(%0) @"abs"
    return %y
  } graph else(%a: f32[64,64]) -> f32[64,64] {
    return %a
  }
  return %y
}
)");
  const std::string text = Improved(graph);
  EXPECT_EQ(text.find("neg("), std::string::npos) << text;
  EXPECT_NE(text.find("abs(%a) @\"abs\""), std::string::npos) << text;
  EXPECT_NE(text.find("@\"choice\""), std::string::npos) << text;
}

// The product of two weights that others need as well is a third one; what else
// there is to gain is gained.
TEST(ImproveTest, MoreWeightsAreNotMadeAndTheRestIsImproved) {
  const Graph graph = ParsedGraph(R"(
graph g(%x: f32[1,64], %z: f32[64,64], %u: f32[64,64], %v: param f32[64,64], %w: param f32[64,64], %h: f32[64,64]) -> (f32[1,64], f32[64,64], f32[64,64], f32[64,64]) {
  %0 = dot_general(%x, %v) {contract = [1]x[0]}
  %1 = dot_general(%0, %w) {contract = [1]x[0]}
  %2 = mul(%z, %w)
  %3 = add(%u, %v)
  %4 = transpose(%h) {permutation = [1,0]}
  %5 = tanh(%4)
  %6 = transpose(%5) {permutation = [1,0]}
  return %1, %2, %3, %6
}
)");
  const std::string text = Improved(graph);
  ASSERT_NE(text, "");
  EXPECT_EQ(text.find("transpose("), std::string::npos) << text;
  EXPECT_LE(WeightBytes(ParsedGraph(text)), 1.1 * WeightBytes(graph)) << text;
}

// Congruence makes one of a node of the graph and one that a rule made, and the
// latter stays: the graph's own choice is still there to be compared with.
TEST(ImproveTest, NodesOfTheGraphMayBecomeThoseOfRules) {
  const Graph graph = ParsedGraph(R"(
graph g(%a: f32[64,64], %b: f32[64,64], %x: f32[64,64]) -> f32[64,64] {
  %0 = transpose(%b) {permutation = [1, 0]}
  %1 = dot_general(%0, %x) {contract = [0]x[0]}
  %2 = neg(%a)
  %3 = transpose(%2) {permutation = [1, 0]}
  %4 = dot_general(%3, %x) {contract = [0]x[0]}
  %5 = neg(%4)
  %y = add(%1, %5)
  return %y
}
)");
  const std::string text = Improved(graph);
  EXPECT_NE(text.find("add("), std::string::npos) << text;
  EXPECT_EQ(text.find("dot_general("), text.rfind("dot_general(")) << text;
}

// Whatever does not follow from weights is in memory to the end, a hundred
// times.
class CostsWithMemory : public RooflineCosts {
 public:
  std::optional<GraphCost> CostOf(const Graph& graph) const override {
    auto cost = RooflineCosts::CostOf(graph);
    const std::vector<bool> weights = WeightOnlyValues(graph);
    for (uint32_t v = 0; cost && v < graph.value_count(); ++v) {
      if (weights[v]) continue;
      cost->live_bytes +=
          100 * TypicalBytes(graph.type(ValueId(v)), graph.symbols());
    }
    return cost;
  }
};

int ProductsIn(const std::string& text) {
  int count = 0;
  for (size_t at = text.find("dot_general("); at != std::string::npos;
       at = text.find("dot_general(", at + 1)) {
    ++count;
  }
  return count;
}

// The four products as one need it beside its parts; that alone is left, and
// what else there is to gain is gained.
TEST(ImproveTest, WhatTakesMoreMemoryIsNotTaken) {
  const Graph graph = ParsedGraph(R"(
graph cell(%x: f32[64,2], %"0": param f32[64,64], %"1": param f32[64,64], %"2": param f32[64,64], %"3": param f32[64,64], %h: f32[16,8]) -> (f32[64,2], f32[64,2], f32[64,2], f32[64,2], f32[16,8]) {
  %a = dot_general(%"0", %x) {contract = [1]x[0]}
  %b = dot_general(%"1", %x) {contract = [1]x[0]}
  %c = dot_general(%"2", %x) {contract = [1]x[0]}
  %d = dot_general(%"3", %x) {contract = [1]x[0]}
  %4 = transpose(%h) {permutation = [1,0]}
  %5 = tanh(%4)
  %6 = transpose(%5) {permutation = [1,0]}
  return %a, %b, %c, %d, %6
}
)");
  EXPECT_EQ(ProductsIn(Improved(graph)), 1);
  const CostsWithMemory costs;
  ImproveOptions options;
  options.level = RewriteLevel::kReassociate;
  options.costs = &costs;
  const auto improved = Improve(graph, options);
  ASSERT_TRUE(improved.ok() && improved->has_value()) << improved.status();
  const std::string text = Print(**improved);
  EXPECT_EQ(ProductsIn(text), 4) << text;
  EXPECT_EQ(text.find("transpose("), std::string::npos) << text;
}

// One kernel for all by the fast method; as it is compiled, some gain or none.
class CostsOfOneKernel : public RooflineCosts {
 public:
  explicit CostsOfOneKernel(double fast, double compiled)
      : fast_(fast), compiled_(compiled) {}
  std::optional<GraphCost> CostOf(const Graph& graph) const override {
    return GraphCost{.seconds = IsWritten(graph) ? 1 : fast_};
  }
  std::optional<GraphCost> CostAsCompiled(const Graph& graph) const override {
    return GraphCost{.seconds = IsWritten(graph) ? 1 : compiled_};
  }

 private:
  static bool IsWritten(const Graph& graph) {
    return Print(graph).find("exp(%x)") == std::string::npos;
  }
  const double fast_, compiled_;
};

// What the fast method sees no gain of, or some loss, is looked at again.
TEST(ImproveTest, AGainOfWhatIsCompiledIsTaken) {
  const Graph graph = ParsedGraph(R"(
graph rows(%x: f32[256]) -> f32[512,256] {
  %0 = broadcast(%x) {shape = [512,256], axes = [1]}
  %1 = exp(%0)
  return %1
}
)");
  const auto is_taken = [&](double fast, double compiled) {
    const CostsOfOneKernel costs(fast, compiled);
    ImproveOptions options;
    options.level = RewriteLevel::kExact;
    options.costs = &costs;
    const auto improved = Improve(graph, options);
    EXPECT_TRUE(improved.ok()) << improved.status();
    return improved->has_value();
  };
  EXPECT_TRUE(is_taken(0.9, 1));
  EXPECT_FALSE(is_taken(1, 1));
  EXPECT_TRUE(is_taken(1, 0.79));
  EXPECT_TRUE(is_taken(1.09, 0.79));
  EXPECT_FALSE(is_taken(1, 0.81));
  EXPECT_FALSE(is_taken(1.11, 0.79));
}

// Of graphs with more than 64 nodes only the fast method is asked.
TEST(ImproveTest, LargeGraphsAreNotLookedAtAsCompiled) {
  const auto is_taken = [](int nodes) {
    std::string text =
        "graph rows(%x: f32[256], %z: f32[2]) -> (f32[512,256], f32[2]) {\n"
        "  %0 = broadcast(%x) {shape = [512,256], axes = [1]}\n"
        "  %1 = exp(%0)\n";
    // Arguments are nodes, too.
    for (int i = 4; i < nodes; ++i) {
      StrAppend(&text, "  %", i, " = sin(", i == 4 ? "%z" : StrCat("%", i - 1),
                ")\n");
    }
    StrAppend(&text, "  return %1, %", nodes - 1, "\n}\n");
    const Graph graph = ParsedGraph(text);
    EXPECT_EQ(graph.node_count(), nodes);
    const CostsOfOneKernel costs(1, 0.5);
    ImproveOptions options;
    options.level = RewriteLevel::kExact;
    options.costs = &costs;
    const auto improved = Improve(graph, options);
    EXPECT_TRUE(improved.ok()) << improved.status();
    return improved->has_value();
  };
  EXPECT_TRUE(is_taken(64));
  EXPECT_FALSE(is_taken(65));
}

// Products take the same time each, whatever their size: of one alone this
// share of the whole.
class CostsOfLaunches : public RooflineCosts {
 public:
  explicit CostsOfLaunches(double share = 1) : share_(share) {}
  std::optional<GraphCost> CostOf(const Graph& graph) const override {
    const int products = ProductsIn(Print(graph));
    return GraphCost{.seconds = 1 - share_ + share_ * products};
  }

 private:
  const double share_;
};

// Sums over nodes prefer three products, as slices cost something by them.
TEST(ImproveTest, WhatKernelsPreferBesideTheCheapestIsTaken) {
  const auto products = [](const Costs& costs, int more) {
    std::string text =
        "graph three(%x: f32[64,64], %w0: param f32[64,64], %w1: param "
        "f32[64,64], %w2: param f32[64,64], %z: f32[2]) -> (f32[64,64], "
        "f32[64,64], f32[64,64], f32[2]) {\n";
    for (int i = 0; i < 3; ++i) {
      StrAppend(&text, "  %y", i, " = dot_general(%x, %w", i,
                ") {contract = [1]x[0]}\n");
    }
    StrAppend(&text, "  %0 = sin(%z)\n");
    for (int i = 1; i <= more; ++i) {
      StrAppend(&text, "  %", i, " = sin(%", i - 1, ")\n");
    }
    StrAppend(&text, "  return %y0, %y1, %y2, %", more, "\n}\n");
    const Graph graph = ParsedGraph(text);
    EXPECT_EQ(graph.node_count(), 9 + more);
    ImproveOptions options;
    options.level = RewriteLevel::kReassociate;
    options.costs = &costs;
    const auto improved = Improve(graph, options);
    EXPECT_TRUE(improved.ok()) << improved.status();
    return ProductsIn(improved->has_value() ? Print(**improved) : text);
  };
  EXPECT_EQ(products(RooflineCosts(), 0), 3);
  EXPECT_EQ(products(CostsOfLaunches(), 0), 1);
  // Two less of three gain a twentieth or not.
  EXPECT_EQ(products(CostsOfLaunches(0.029), 0), 1);
  EXPECT_EQ(products(CostsOfLaunches(0.025), 0), 3);
  EXPECT_EQ(products(CostsOfLaunches(), 55), 1);
  EXPECT_EQ(products(CostsOfLaunches(), 56), 3);
}

// Values take so many bytes at once, and some more where there is one product.
class CostsOfOneProduct : public RooflineCosts {
 public:
  CostsOfOneProduct(double before, double more)
      : before_(before), more_(more) {}
  std::optional<GraphCost> CostOf(const Graph& graph) const override {
    auto cost = RooflineCosts::CostOf(graph);
    if (!cost) return cost;
    const bool is_one = ProductsIn(Print(graph)) == 1;
    cost->live_bytes = before_ + (is_one ? more_ : 0);
    return cost;
  }

 private:
  const double before_, more_;
};

// A twentieth of what lives at once, inputs and outputs included, may be added,
// and no byte more, but for what a cache of the first level holds.
TEST(ImproveTest, WhatTakesATwentiethMoreMemoryIsTaken) {
  const Graph graph = ParsedGraph(R"(
graph cell(%x: f32[64,2], %"0": param f32[64,64], %"1": param f32[64,64], %"2": param f32[64,64], %"3": param f32[64,64]) -> (f32[64,2], f32[64,2], f32[64,2], f32[64,2]) {
  %a = dot_general(%"0", %x) {contract = [1]x[0]}
  %b = dot_general(%"1", %x) {contract = [1]x[0]}
  %c = dot_general(%"2", %x) {contract = [1]x[0]}
  %d = dot_general(%"3", %x) {contract = [1]x[0]}
  return %a, %b, %c, %d
}
)");
  constexpr double kSignature = (1 + 4) * 64 * 2 * sizeof(float);
  const auto products = [&](double before, double more) {
    const CostsOfOneProduct costs(before, more);
    ImproveOptions options;
    options.level = RewriteLevel::kReassociate;
    options.costs = &costs;
    const auto improved = Improve(graph, options);
    EXPECT_TRUE(improved.ok()) << improved.status();
    return improved->has_value() ? ProductsIn(Print(**improved)) : 4;
  };
  constexpr double kCache = 32768;
  for (const double before : {0.0, 1e3, 32000.0, 1e5}) {
    const double most = std::max((before + kSignature) / 20, kCache - before);
    EXPECT_EQ(products(before, most - 1), 1) << before;
    EXPECT_EQ(products(before, most + 1), 4) << before;
  }
}

std::string ChainOfProducts(int count) {
  std::string text = "graph g(%x: f32[8,8]";
  for (int i = 0; i < count; ++i) StrAppend(&text, ", %w", i, ": f32[8,8]");
  text += ") -> f32[8,8] {\n";
  for (int i = 0; i < count; ++i) {
    StrAppend(&text, "  %", i, " = dot_general(", i == 0 ? "%x" : "%",
              i == 0 ? "" : StrCat(i - 1), ", %w", i,
              ") {contract = [1]x[0]}\n");
  }
  StrAppend(&text, "  return %", count - 1, " as y\n}\n");
  return text;
}

TEST(ImproveTest, TheClockEndsTheSearchAndSaysSo) {
  const Graph graph = ParsedGraph(ChainOfProducts(12));
  const std::string whole = Improved(graph);
  for (const double seconds : {0.0, 1e9}) {
    Deadline deadline(seconds);
    ImproveReport report;
    ImproveOptions options;
    options.level = RewriteLevel::kReassociate;
    options.report = &report;
    options.deadline = &deadline;
    const auto improved = Improve(graph, options);
    ASSERT_TRUE(improved.ok()) << improved.status();
    EXPECT_EQ(deadline.cut_short(), seconds == 0);
    if (seconds == 0) {
      EXPECT_FALSE(improved->has_value());
      EXPECT_EQ(report.stop, "time");
    } else {
      EXPECT_EQ(improved->has_value() ? Print(**improved) : "", whole);
    }
  }
}

TEST(ImproveTest, LimitsEndWhatWouldNotEnd) {
  ImproveReport report;
  Improved(ParsedGraph(ChainOfProducts(60)), &report);
  EXPECT_TRUE(report.stop == "nodes" || report.stop == "iterations")
      << report.stop;
  EXPECT_LT(report.enodes, 10000);
}

}  // namespace
}  // namespace encore::opt
