#include "encore/ir/text/dot.h"

#include <set>
#include <string>

#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Dot, NodesEdgesAndBodies) {
  const auto graph = ParseGraph(R"(symbols N
graph "a \"graph\""(%c: bool[], %w: param f32[N]) {
  %y = leaky_relu(%w) {alpha = 0.5} @"a\\b"
  %dead = neg(%y)
  %z = if(%c, %y)
    graph t(%a: f32[N]) { return %a }
    graph e(%a: f32[N]) { %n = neg(%a) return %n }
  return %z
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Dot(*graph), R"(digraph "a \"graph\"" {
  n0 [label="c", shape=oval];
  n1 [label="param w", shape=oval];
  n2 [label="leaky_relu {alpha = 0.5}\na\\b", shape=box];
  n1 -> n2 [label="f32[N]"];
  n4 [label="if", shape=box];
  n0 -> n4 [label="bool[]"];
  n2 -> n4 [label="f32[N]"];
  subgraph cluster_n4b0 {
    label="t";
    n4b0 [shape=point];
    n4b0n0 [label="a", shape=oval];
    n4b0o0 [label="a", shape=oval];
    n4b0n0 -> n4b0o0 [label="f32[N]"];
  };
  n4 -> n4b0 [style=dashed];
  subgraph cluster_n4b1 {
    label="e";
    n4b1 [shape=point];
    n4b1n0 [label="a", shape=oval];
    n4b1n1 [label="neg", shape=box];
    n4b1n0 -> n4b1n1 [label="f32[N]"];
    n4b1o0 [label="n", shape=oval];
    n4b1n1 -> n4b1o0 [label="f32[N]"];
  };
  n4 -> n4b1 [style=dashed];
  o0 [label="z", shape=oval];
  n4 -> o0 [label="f32[N]"];
}
)");
}

// Reads DOT as far as this printer writes it: strings end, braces match, and an
// edge joins names that were declared before.
void CheckDot(const std::string& text) {
  std::set<std::string> declared;
  std::string word, previous;
  int depth = 0;
  bool edge = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        ASSERT_NE(text[i], '\n') << text;
        i += text[i] == '\\';
      }
      ASSERT_LT(i, text.size()) << text;
      continue;
    }
    depth += (text[i] == '{') - (text[i] == '}');
    ASSERT_GE(depth, 0) << text;
    if (isalnum(text[i]) || text[i] == '_') {
      word += text[i];
      continue;
    }
    if (word.empty()) {
      edge = edge || text[i] == '>';
      continue;
    }
    if (edge) {
      ASSERT_TRUE(declared.contains(previous)) << previous << text;
      ASSERT_TRUE(declared.contains(word)) << word << text;
    }
    edge = false;
    declared.insert(word);
    previous = std::exchange(word, "");
  }
  ASSERT_EQ(depth, 0) << text;
}

TEST(Dot, RandomGraphsAreWellFormed) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CheckDot(Dot(RandomGraph(seed, {.symbolic = seed % 2 == 1})));
  }
}

}  // namespace
}  // namespace encore
