#include "encore/opt/passes/symbol_facts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/verifier.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

using Call = std::vector<int64_t>;

// A call that ends well before ends well after, with the same results; one that
// ends with an error still does.
void ExpectSameRuns(const std::string& text, const std::vector<Call>& good,
                    const std::vector<Call>& bad) {
  const Graph before = ParsedGraph(text);
  const StatusOr<std::optional<Graph>> after = ApplySymbolFacts(before);
  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_TRUE(after->has_value()) << "nothing was learned";
  ASSERT_TRUE(Verify(**after).ok()) << Verify(**after);
  const auto run = [](const Graph& graph, const Call& call) {
    std::vector<Literal> arguments;
    for (const int64_t number : call) {
      arguments.push_back(Literal::Scalar(number));
    }
    return Evaluate(graph, arguments);
  };
  for (const Call& call : good) {
    const auto expected = run(before, call), got = run(**after, call);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*expected, *got);
  }
  for (const Call& call : bad) {
    EXPECT_FALSE(run(before, call).ok());
    EXPECT_FALSE(run(**after, call).ok()) << call[0];
  }
}

void ExpectNoFacts(const std::string& text) {
  const StatusOr<std::optional<Graph>> after =
      ApplySymbolFacts(ParsedGraph(text));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_FALSE(after->has_value());
}

TEST(SymbolFacts, EqualSymbols) {
  ExpectSameRuns(R"(
symbols K at_run_time in [0, 12], L at_run_time in [0, 9]
graph g(%n: i64[], %m: i64[]) -> i64[K] {
  %k = define_symbols(%n) {dims = [K]}
  %i = iota() {shape = [K]}
  %l = define_symbols(%m) {dims = [L]}
  %d = dim_values() {dims = [K - L + 1, L - K + 1]}
  %least = reduce(%d) {combiner = min, axes = [0]}
  %j = iota() {shape = [L]}
  %a = assertion(%j, %least) {message = "the counts differ"}
  %r = reshape(%a) {shape = [K]}
  %y = add(%i, %r)
  return %y
})",
                 {{3, 3}, {0, 0}, {9, 9}},
                 {{3, 4}, {4, 3}, {10, 10}, {-1, -1}, {13, 13}});
}

// The divided value truncates: below 0 it is not the symbol's.
TEST(SymbolFacts, MultiplesBelowZeroAreErrors) {
  ExpectSameRuns(R"(
symbols K at_run_time in [0, 40]
graph g(%n: i64[]) -> i64[floor_div(K, 4),4] {
  %k = define_symbols(%n) {dims = [K]}
  %i = iota() {shape = [K]}
  %d = dim_values() {dims = [K - 4*floor_div(K, 4) + 1, 4*floor_div(K, 4) - K + 1]}
  %least = reduce(%d) {combiner = min, axes = [0]}
  %a = assertion(%i, %least) {message = "no rows of four"}
  %y = reshape(%a) {shape = [floor_div(K, 4),4]}
  return %y
})",
                 {{0}, {4}, {40}}, {{-1}, {-4}, {2}, {41}, {44}});
}

// Of several outputs each fails that relies on what was asserted.
TEST(SymbolFacts, OutputsKeepTheirChecks) {
  ExpectSameRuns(R"(
symbols K at_run_time in [0, 12], L at_run_time in [0, 12]
graph g(%n: i64[], %m: i64[]) -> (i64[K], i64[]) {
  %k = define_symbols(%n) {dims = [K]}
  %i = iota() {shape = [K]}
  %l = define_symbols(%m) {dims = [L]}
  %j = iota() {shape = [L]}
  %d = dim_values() {dims = [L - 2*K + 1, 2*K - L + 1]}
  %least = reduce(%d) {combiner = min, axes = [0]}
  %a = assertion(%j, %least) {message = "not twice as many"}
  %s = reduce(%a) {combiner = sum, axes = [0]}
  return %i, %s
})",
                 {{3, 6}, {0, 0}}, {{3, 5}, {6, 3}, {7, 14}});
}

// What holds in one branch does not in the other, which defines the symbol too.
TEST(SymbolFacts, BranchesThatDefineOneSymbol) {
  ExpectNoFacts(R"(
symbols K at_run_time in [0, 12]
graph g(%n: i64[], %m: i64[]) -> i64[] {
  %c = compare(%n, %m) {direction = lt}
  %y = if(%c, %n)
    graph then(%a: i64[]) -> i64[] {
      %k = define_symbols(%a) {dims = [K]}
      %d = dim_values() {dims = [K - 3, -K + 5]}
      %least = reduce(%d) {combiner = min, axes = [0]}
      %i = iota() {shape = [K]}
      %b = assertion(%i, %least) {message = "not four"}
      %s = reduce(%b) {combiner = sum, axes = [0]}
      return %s
    }
    graph else(%a: i64[]) -> i64[] {
      %k = define_symbols(%a) {dims = [K]}
      %i = iota() {shape = [K]}
      %s = reduce(%i) {combiner = sum, axes = [0]}
      return %s
    }
  return %y
})");
}

// Sequences take no assertion.
TEST(SymbolFacts, OutputsThatAreObjects) {
  ExpectNoFacts(R"(
symbols K at_run_time in [0, 12]
graph g(%n: i64[]) -> sequence<i64> {
  %k = define_symbols(%n) {dims = [K]}
  %d = dim_values() {dims = [K - 3, -K + 5]}
  %least = reduce(%d) {combiner = min, axes = [0]}
  %i = iota() {shape = [K]}
  %a = assertion(%i, %least) {message = "not four"}
  %y = sequence(%a) {dtype = i64}
  return %y
})");
}

// A definition of two, of which one stays.
TEST(SymbolFacts, VectorsOfSymbols) {
  ExpectSameRuns(R"(
symbols K at_run_time in [0, 12], L at_run_time in [1, 12]
graph g(%n: i64[], %m: i64[]) -> i64[K,L] {
  %a = reshape(%n) {shape = [1]}
  %b = reshape(%m) {shape = [1]}
  %v = concat(%a, %b) {axis = 0}
  %k = define_symbols(%v) {dims = [K, L]}
  %d = dim_values() {dims = [L - 3, -L + 5]}
  %least = reduce(%d) {combiner = min, axes = [0]}
  %i = iota() {shape = [K,L], axis = 1}
  %y = assertion(%i, %least) {message = "not four columns"}
  return %y
})",
                 {{2, 4}, {0, 4}}, {{2, 3}, {-1, 4}, {2, 5}});
}

// Loops come back with another value each time.
TEST(SymbolFacts, BodiesOfLoops) {
  ExpectSameRuns(R"(
symbols K at_run_time in [0, 9], L at_run_time in [0, 9]
graph g(%n: i64[], %m: i64[]) -> i64[] {
  %x, %y = while(%n, %m)
    graph condition(%a: i64[], %b: i64[]) -> bool[] {
      %zero = constant() {value = i64[] 0}
      %c = compare(%a, %zero) {direction = gt}
      return %c
    }
    graph step(%a: i64[], %b: i64[]) -> (i64[], i64[]) {
      %k = define_symbols(%a) {dims = [K]}
      %l = define_symbols(%b) {dims = [L]}
      %d = dim_values() {dims = [K - L + 1, L - K + 1]}
      %least = reduce(%d) {combiner = min, axes = [0]}
      %i = iota() {shape = [L]}
      %s = assertion(%i, %least) {message = "the counts differ"}
      %r = reshape(%s) {shape = [K]}
      %t = reduce(%r) {combiner = max, axes = [0]}
      %u = neg(%t)
      %w = neg(%u)
      return %t, %w
    }
  return %x
})",
                 {{3, 3}, {0, 5}, {9, 9}}, {{3, 4}, {10, 10}});
}

// More facts than are used: the rest stays as it was.
TEST(SymbolFacts, MoreThanTheLimit) {
  constexpr int kSymbols = kMaxSymbolFacts + 10;
  std::string symbols = "symbols N in [1, 9]", nodes, sum = "%zero";
  for (int i = 0; i < kSymbols; ++i) {
    symbols += StrCat(", K", i, " at_run_time in [0, 9]");
    nodes += StrCat("  %k", i, " = define_symbols(%n) {dims = [K", i, "]}\n",
                    "  %i", i, " = iota() {shape = [K", i, "]}\n",  //
                    "  %r", i, " = reduce(%i", i,
                    ") {combiner = sum, axes = [0]}\n",  //
                    "  %s", i, " = add(", sum, ", %r", i, ")\n");
    sum = StrCat("%s", i);
  }
  const Graph before = ParsedGraph(StrCat(
      symbols, "\ngraph g(%x: f32[N]) -> i64[] {\n",
      "  %zero = constant() {value = i64[] 0}\n",
      "  %v = dim_values() {dims = [N]}\n", "  %n = reshape(%v) {shape = []}\n",
      nodes, "  return ", sum, "\n}"));
  const StatusOr<std::optional<Graph>> after = ApplySymbolFacts(before);
  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_TRUE(after->has_value());
  ASSERT_TRUE(Verify(**after).ok()) << Verify(**after);
  const std::vector<Literal> arguments = {Literal(DType::kF32, {7})};
  const auto expected = Evaluate(before, arguments);
  const auto got = Evaluate(**after, arguments);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*expected, *got);
  int definitions = 0;
  for (const NodeId node : Nodes(**after)) {
    definitions += (*after)->op(node) == Op::kDefineSymbols;
  }
  EXPECT_EQ(definitions, kSymbols - kMaxSymbolFacts);
}

}  // namespace
}  // namespace encore::opt
