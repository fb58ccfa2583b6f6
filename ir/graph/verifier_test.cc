#include "encore/ir/graph/verifier.h"

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "encore/ir/graph/graph_test_peer.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

constexpr std::string_view kText = R"(symbols N in [1, 8], M
graph g(%c: bool[], %x: f32[N,2], %w: param f32[2] = f32[2] 1) {
  %y = relu(%x)
  %z = if(%c, %y)
    graph a(%a: f32[N,2]) { return %a }
    graph b(%a: f32[N,2]) { %n = neg(%a) return %n }
  return %y, %z
})";
const NodeId kRelu(3), kIf(4);

Graph Good() {
  auto graph = ParseGraph(kText);
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

using Break = std::function<void(GraphTestPeer&, Graph&)>;

// Ways to break each invariant.
const std::multimap<std::string, Break>& Breaks() {
  static const std::multimap<std::string, Break> breaks = {
      {"G1", [](auto& peer, auto&) { peer.op(kRelu) = static_cast<Op>(9999); }},
      {"G1", [](auto& peer, auto&) { peer.op(kRelu) = Op::kSoftmax; }},
      {"G2", [](auto& peer, auto&) { peer.operand(kRelu, 0) = ValueId(4); }},
      {"G2", [](auto& peer, auto&) { peer.operand(kRelu, 0) = ValueId(); }},
      {"G3", [](auto& peer, auto&) { peer.producer(ValueId(4)) = NodeId(0); }},
      {"G4", [](auto& peer, auto&) { peer.op(kRelu) = Op::kAdd; }},
      {"G4", [](auto& peer, auto&) { peer.op(kRelu) = Op::kIsNan; }},
      {"G4",
       [](auto& peer, auto&) { peer.type(ValueId(3)).dtype = DType::kF64; }},
      {"G5", [](auto& peer, auto&) { peer.op(kIf) = Op::kAdd; }},
      {"G5", [](auto& peer, auto&) { peer.body_depth() = 0; }},
      {"G6",
       [](auto& peer, auto&) {
         peer.arguments()[0].name = peer.arguments()[1].name;
       }},
      {"G6", [](auto& peer, auto&) { peer.arguments().pop_back(); }},
      {"G6",
       [](auto& peer, auto&) { peer.arguments()[0].is_parameter = true; }},
      {"G6", [](auto& peer, auto&) { peer.arguments()[0].value = ValueId(3); }},
      {"G7", [](auto& peer, auto&) { peer.arguments()[0].data = Literal(); }},
      {"G7", [](auto& peer, auto&) { peer.arguments()[2].data = Literal(); }},
      {"G8", [](auto& peer,
                auto&) { peer.outputs()[0].name = peer.outputs()[1].name; }},
      {"G8", [](auto& peer, auto&) { peer.outputs()[0].value = ValueId(99); }},
      {"G9", [](auto& peer, auto&) { peer.symbols()[1].name = "N"; }},
      {"G9", [](auto& peer, auto&) { peer.symbols()[0].lower = 9; }},
      {"G9", [](auto& peer, auto&) { peer.symbols()[0].lower = -1; }},
      {"G10",
       [](auto& peer, auto&) { peer.type(ValueId(1)).shape[0] = Dim(-1); }},
      {"G10", [](auto& peer,
                 auto&) { peer.type(ValueId(1)).shape[0] = Dim::OfSymbol(7); }},
      {"G10",
       [](auto& peer, auto&) {
         peer.type(ValueId(1)).shape = Shape({INT64_MAX, 3});
       }},
      {"G10",
       [](auto& peer, auto&) {
         peer.type(ValueId(1)) = {DType::kF32, Shape({INT64_MAX / 2})};
       }},
      {"G10",
       [](auto& peer, auto&) {
         peer.type(ValueId(1)).shape = Shape(std::vector<Dim>(kMaxRank + 1, 1));
       }},
      {"G11", [](auto& peer, auto&) { peer.symbols()[0].at_run_time = true; }},
  };
  return breaks;
}

TEST(Verifier, AGoodGraphPasses) {
  EXPECT_TRUE(Verify(Good()).ok()) << Verify(Good());
  EXPECT_TRUE(Verify(Graph()).ok());
}

TEST(Verifier, NamesTheInvariantThatIsBroken) {
  for (const auto& [invariant, damage] : Breaks()) {
    Graph graph = Good();
    GraphTestPeer peer(&graph);
    damage(peer, graph);
    const Status status = Verify(graph);
    EXPECT_TRUE(Message(status).starts_with(invariant + ": "))
        << invariant << ": " << status;
  }
}

TEST(Verifier, LooksIntoBodies) {
  Graph graph = Good();
  GraphTestPeer body(const_cast<Graph*>(&graph.bodies(kIf)[1]));
  body.op(NodeId(1)) = Op::kAdd;
  EXPECT_EQ(Message(Verify(graph)),
            "G4: node 1 (add): add: 1 operands, expected (T, T) -> T, in body "
            "b of node 4");
}

// Every invariant of the header has a graph that breaks it.
constexpr std::string_view kUsedBefore = R"(
symbols K at_run_time in [0, 9]
graph g(%n: i64[]) -> i64[K] {
  %i = iota() {shape = [K]}
  %k = define_symbols(%n) {dims = [K]}
  return %i
})";
constexpr std::string_view kDefinedTwice = R"(
symbols K at_run_time in [0, 9]
graph g(%n: i64[2]) -> i64[K] {
  %k = define_symbols(%n) {dims = [K, K]}
  %i = iota() {shape = [K]}
  return %i
})";
constexpr std::string_view kDefinedInBodyAgain = R"(
symbols K at_run_time in [0, 9]
graph g(%n: i64[], %c: bool[]) -> i64[] {
  %k = define_symbols(%n) {dims = [K]}
  %y = if(%c, %k)
    graph then(%m: i64[]) -> i64[] {
      %l = define_symbols(%m) {dims = [K]}
      return %l
    }
    graph else(%m: i64[]) -> i64[] {
      return %m
    }
  return %y
})";
constexpr std::string_view kDefinedInOneBranch = R"(
symbols K at_run_time in [0, 9]
graph g(%n: i64[], %c: bool[]) -> i64[K] {
  %y = if(%c, %n)
    graph then(%m: i64[]) -> i64[] {
      %l = define_symbols(%m) {dims = [K]}
      return %l
    }
    graph else(%m: i64[]) -> i64[] {
      return %m
    }
  %i = iota() {shape = [K]}
  return %i
})";

TEST(Verifier, SymbolsAreDefinedOnceAndBeforeTheirUse) {
  for (const std::string_view text :
       {kUsedBefore, kDefinedTwice, kDefinedInBodyAgain, kDefinedInOneBranch}) {
    const Status status = Verify(ParsedGraph(text));
    EXPECT_TRUE(Message(status).starts_with("G11: ")) << status;
  }
}

TEST(Verifier, EveryInvariantIsCovered) {
  std::ifstream header("ir/graph/verifier.h");
  std::set<std::string> invariants;
  for (std::string line; std::getline(header, line);) {
    if (!line.starts_with("//   G")) continue;
    invariants.insert(line.substr(5, line.find(' ', 5) - 5));
  }
  EXPECT_EQ(invariants.size(), 11u);
  for (const std::string& invariant : invariants) {
    EXPECT_GT(Breaks().count(invariant), 0u) << invariant;
  }
}

}  // namespace
}  // namespace encore
