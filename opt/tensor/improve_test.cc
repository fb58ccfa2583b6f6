// Improved graphs compute the same, keep their signature and their effects, and
// are the same every time.
#include "encore/opt/tensor/improve.h"

#include <cmath>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/verifier.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/literal_compare.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// Any choice may be the cheapest, so that every rule is taken at its word.
class RandomCosts : public Costs {
 public:
  explicit RandomCosts(uint64_t seed) : seed_(seed) {}
  std::optional<double> NodeSeconds(const CostedNode& node) const override {
    uint64_t bits = Fingerprint(node.attributes) ^ seed_;
    bits += static_cast<uint64_t>(node.op) * 0x9E3779B97F4A7C15u;
    bits *= 0xBF58476D1CE4E5B9u;
    return 1e-6 + static_cast<double>(bits >> 44);
  }

 private:
  uint64_t seed_;
};

bool SameBitsButNan(const Literal& a, const Literal& b) {
  if (!(a.type() == b.type())) return false;
  if (a.kind() != ValueKind::kTensor || IsString(a.dtype()) ||
      !IsFloat(a.dtype())) {
    return CompareLiterals(a, b, {}).ok;
  }
  for (int64_t i = 0; i < a.element_count(); ++i) {
    const double x = a.AsDouble(i), y = b.AsDouble(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!SameBits(x, y)) return false;
  }
  return true;
}

// Both give the same, or neither gives anything.
void CompareResults(const Graph& before, const Graph& after, bool exact,
                    uint64_t seed) {
  const std::vector<Literal> arguments = RandomArguments(before, seed);
  const auto expected = Evaluate(before, arguments);
  const auto got = Evaluate(after, arguments);
  ASSERT_EQ(expected.ok(), got.ok()) << expected.status() << got.status();
  if (!got.ok()) return;
  ASSERT_EQ(expected->size(), got->size());
  for (size_t i = 0; i < got->size(); ++i) {
    if (exact) {
      EXPECT_TRUE(SameBitsButNan((*got)[i], (*expected)[i])) << "output " << i;
      continue;
    }
    const LiteralDifference difference =
        CompareLiterals((*got)[i], (*expected)[i], {1e-4, 1e-4});
    EXPECT_TRUE(difference.ok) << "output " << i << ": " << difference.text;
  }
}

void CheckSignature(const Graph& before, const Graph& after) {
  EXPECT_EQ(before.name(), after.name());
  ASSERT_EQ(before.arguments().size(), after.arguments().size());
  for (size_t i = 0; i < before.arguments().size(); ++i) {
    EXPECT_EQ(before.arguments()[i].name, after.arguments()[i].name);
    EXPECT_EQ(before.type(before.arguments()[i].value),
              after.type(after.arguments()[i].value));
  }
  ASSERT_EQ(before.outputs().size(), after.outputs().size());
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    EXPECT_EQ(before.outputs()[i].name, after.outputs()[i].name);
    EXPECT_EQ(before.type(before.outputs()[i].value),
              after.type(after.outputs()[i].value));
  }
  EXPECT_TRUE(Verify(after).ok()) << Verify(after);
}

// Returns whether the graph changed.
bool ImproveAndCheck(const Graph& graph, RewriteLevel level, uint64_t seed) {
  const RandomCosts costs(seed);
  ImproveReport report;
  const ImproveOptions options{.level = level,
                               .costs = &costs,
                               .filter = nullptr,
                               .limits = {},
                               .report = &report};
  const auto improved = Improve(graph, options);
  EXPECT_TRUE(improved.ok()) << improved.status() << Print(graph);
  EXPECT_TRUE(report.fault.ok()) << report.fault << Print(graph);
  if (!improved.ok() || !improved->has_value()) return false;
  SCOPED_TRACE(StrCat(Print(graph), "became\n", Print(**improved)));
  EXPECT_LT(report.cost_after, report.cost_before);
  CheckSignature(graph, **improved);
  CompareResults(graph, **improved, level == RewriteLevel::kExact, seed);
  return true;
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
      RandomGraphOptions options;
      options.nodes = 12;
      options.ops = {Op::kAdd,       Op::kSub,     Op::kMul,        Op::kNeg,
                     Op::kTranspose, Op::kReshape, Op::kBroadcast,  Op::kSlice,
                     Op::kConcat,    Op::kReduce,  Op::kDotGeneral, Op::kGather,
                     Op::kMax,       Op::kSelect,  Op::kIf};
      options.dtypes = {DType::kF32, DType::kF64, DType::kI32};
      options.symbolic = seed % 2 == 1;
      changed += ImproveAndCheck(RandomGraph(seed, options), level, seed);
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

TEST(ImproveTest, LimitsEndWhatWouldNotEnd) {
  ImproveReport report;
  Improved(ParsedGraph(ChainOfProducts(60)), &report);
  EXPECT_TRUE(report.stop == "nodes" || report.stop == "iterations")
      << report.stop;
  EXPECT_LT(report.enodes, 10000);
}

}  // namespace
}  // namespace encore::opt
