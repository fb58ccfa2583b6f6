// Strings, sequences and optionals on each backend, against the evaluator.

#include <string>
#include <vector>

#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/conformance/target_test.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using Values = std::vector<Value>;

constexpr TensorType kIndex{DType::kI64, Shape(), ValueKind::kTensor};

class HostObjects : public TargetTest {
 protected:
  // The error of a replay; it names the operator.
  std::string Failure(const StatusOr<Graph>& graph,
                      const std::vector<Literal>& arguments) {
    const auto compiled = CompileHere(*graph);
    if (!compiled.ok()) return StrCat(compiled.status());
    const auto actual =
        Replay(*graph, *compiled, BackendsUnderTest(), arguments);
    EXPECT_EQ(actual.status().code(), StatusCode::kInvalidArgument);
    EXPECT_FALSE(Evaluate(*graph, arguments).ok());
    return StrCat(actual.status());
  }
};

Literal Floats(std::vector<float> values) {
  return Literal::Vector<float>(values);
}
Literal Index(int64_t i) { return Literal::Scalar<int64_t>(i); }
Literal SequenceOf(std::vector<Literal> elements) {
  return Literal::Sequence(DType::kF32, std::move(elements));
}

constexpr TensorType kSequence{DType::kF32, Shape(), ValueKind::kSequence};

// What is taken out has a size of its own in each call.
TEST_P(HostObjects, TakesElementsOfSizesFoundOut) {
  GraphBuilder g;
  const Value sequence = g.Input("s", kSequence);
  const Value index = g.Input("i", kIndex);
  const Dim size = g.Symbol("size", 0, 64, /*at_run_time=*/true);
  const Value element =
      g.Node1(Op::kSequenceAt, {sequence, index}, ElementAttrs{{size}});
  const Value length = g.Node1(Op::kSequenceLength, {sequence});
  const auto graph = g.Build({{"twice", g.Add(element, element)},
                              {"size", g.DimValues({size})},
                              {"length", length}});
  const Literal given =
      SequenceOf({Floats({1}), Floats({2, 3, 4}), Floats({})});
  ExpectEqual(graph, {{given, Index(0)},
                      {given, Index(1)},
                      {given, Index(-1)},
                      {given, Index(-2)}});
  EXPECT_NE(
      Failure(graph, {given, Index(3)}).find("index 3 of a sequence of 3"),
      std::string::npos);
  EXPECT_NE(Failure(graph, {given, Index(INT64_MIN)}).find("sequence_at"),
            std::string::npos);
  EXPECT_NE(
      Failure(graph, {SequenceOf({Literal(DType::kF32, {2, 2})}), Index(0)}),
      "");
}

// Only the size of what is taken out is used, not the tensor.
TEST_P(HostObjects, DefinesSymbolsThatNothingElseNeeds) {
  GraphBuilder g;
  const Value sequence = g.Input("s", kSequence);
  const Dim size = g.Symbol("size", 0, 64, /*at_run_time=*/true);
  g.Node1(Op::kSequenceAt, {sequence, g.Scalar(DType::kI64, int64_t{0})},
          ElementAttrs{{size}});
  const auto graph = g.Build({{"size", g.DimValues({size, size})}});
  ExpectEqual(graph, {{SequenceOf({Floats({1, 2})})},
                      {SequenceOf({Floats({}), Floats({1})})}});
}

// A loop that appends a tensor per trip; the plan serves every trip count.
TEST_P(HostObjects, LoopsCarrySequences) {
  GraphBuilder g;
  const Value trips = g.Input("trips", kIndex);
  const Value start = g.Input("s", kSequence);
  const Value x = g.Input("x", {DType::kF32, {2}});
  const Value operands[] = {start, x, x};
  const Values results =
      g.Loop(trips, g.Constant(Literal::Scalar(true)), operands,
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value next = body.Add(in[3], in[4]);
               const Value end = body.Node1(Op::kSequenceLength, {in[2]});
               const Value longer =
                   body.Node1(Op::kSequenceInsert, {in[2], next, end});
               return Values{in[1], longer, next};
             },
             {.carried = 2});
  const auto graph = g.Build({{"all", results[0]}, {"last", results[1]}});
  std::vector<std::vector<Literal>> calls;
  for (const int64_t count : {0, 1, 300}) {
    calls.push_back({Index(count), SequenceOf({}), Floats({1, 2})});
    calls.push_back({Index(count), SequenceOf({Floats({7})}), Floats({1, 2})});
  }
  ExpectEqual(graph, calls);
}

TEST_P(HostObjects, BranchesGiveSequences) {
  GraphBuilder g;
  const Value condition = g.Input("c", {DType::kBool, {}});
  const Value operands[] = {g.Input("s", kSequence),
                            g.Input("x", {DType::kF32, {2}})};
  const Values results = g.If(
      condition, operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        const Value at = body.Scalar(DType::kI64, int64_t{0});
        return Values{body.Node1(Op::kSequenceInsert, {in[0], in[1], at})};
      },
      [](GraphBuilder& body, std::span<const Value> in) {
        const Value at = body.Scalar(DType::kI64, int64_t{-1});
        return Values{body.Node1(Op::kSequenceErase, {in[0], at})};
      });
  // The operand is read again after the branch has made another of it.
  const Value length = g.Node1(Op::kSequenceLength, {operands[0]});
  const auto graph = g.Build({{"s", results[0]}, {"length", length}});
  const Literal given = SequenceOf({Floats({1}), Floats({2})});
  ExpectEqual(graph, {{Literal::Scalar(true), given, Floats({3, 4})},
                      {Literal::Scalar(false), given, Floats({3, 4})}});
  EXPECT_NE(
      Failure(graph, {Literal::Scalar(false), SequenceOf({}), Floats({3, 4})})
          .find("sequence_erase"),
      std::string::npos);
}

TEST_P(HostObjects, OptionalsMayHaveNoValue) {
  GraphBuilder g;
  const Value tensor =
      g.Input("t", {DType::kF32, Shape(), ValueKind::kOptional});
  const Value sequence =
      g.Input("s", {DType::kF32, Shape(), ValueKind::kOptionalSequence});
  const Value has = g.Node1(Op::kOptionalHas, {sequence});
  const Value value = g.Node1(Op::kOptionalGet, {tensor}, ElementAttrs{{2}});
  const auto graph =
      g.Build({{"has", has}, {"negated", g.Neg(value)}, {"same", sequence}});
  const Literal absent = Literal::Absent(DType::kF32, ValueKind::kOptional);
  const Literal none =
      Literal::Absent(DType::kF32, ValueKind::kOptionalSequence);
  const Literal two = Literal::Optional(Floats({1, 2}));
  ExpectEqual(graph, {{two, none},
                      {two, Literal::Optional(SequenceOf({}))},
                      {two, Literal::Optional(SequenceOf({Floats({3})}))}});
  EXPECT_NE(Failure(graph, {absent, none}).find("has no value"),
            std::string::npos);
  EXPECT_NE(
      Failure(graph, {Literal::Optional(Floats({1})), none}).find("expected"),
      std::string::npos);
}

// Every operator that only moves elements moves strings.
TEST_P(HostObjects, MovesStrings) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kString, {2, 3}});
  const Value y = g.Input("y", {DType::kString, {3}});
  const Value joined = g.Concat({x, g.Reshape(y, {1, 3})}, 0);
  const Value moved = g.Slice(g.Transpose(joined, {1, 0}), {0, 1}, {3, 3});
  const Value taken = g.Take(moved, g.Input("i", {DType::kI64, {2}}), 0);
  const Value equal = g.Node1(Op::kStringEqual, {x, g.BroadcastTo(y, {2, 3})});
  const Value both = g.Node1(Op::kStringConcat, {taken, g.Reverse(taken, {1})});
  const auto graph = g.Build({{"both", both}, {"equal", equal}});
  const Literal a =
      Literal::Strings({2, 3}, {"a", "b", "c", "d", "e", "\xc3\xa9"});
  const Literal b = Literal::Strings({3}, {"a", "", "c"});
  ExpectEqual(graph,
              {{a, b, Literal::Vector<int64_t>(std::vector<int64_t>{2, 0})}});
}

TEST_P(HostObjects, SplitsAndNormalizesStrings) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kString, {2}});
  const Dim pieces = g.Symbol("pieces", 0, 64, /*at_run_time=*/true);
  const Dim left = g.Symbol("left", 0, 64, /*at_run_time=*/true);
  const Values split =
      g.Node(Op::kStringSplit, Values{x}, StringSplitAttrs{"", -1, {pieces}});
  const Value words = g.Node1(
      Op::kStringNormalize, {x},
      StringNormalizeAttrs{
          CaseChange::kUpper, false, Literal::Strings({1}, {"THE"}), {left}});
  const auto graph =
      g.Build({{"pieces", split[0]}, {"counts", split[1]}, {"words", words}});
  ExpectEqual(graph, {{Literal::Strings({2}, {"one two", " three "})},
                      {Literal::Strings({2}, {"the", "The"})},
                      {Literal::Strings({2}, {"", " "})}});
}

// Scanned backward along the last dim and stacked in both directions, beside
// numbers.
TEST_P(HostObjects, ScansStrings) {
  GraphBuilder g;
  const Value operands[] = {g.Input("start", {DType::kString, {2}}),
                            g.Input("x", {DType::kString, {2, 3}}),
                            g.Input("n", {DType::kI32, {3}}),
                            g.Input("end", {DType::kString, {2}})};
  const Values results =
      g.Scan(operands,
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value next = body.Node1(Op::kStringConcat, {in[0], in[1]});
               const Value ended = body.Node1(Op::kStringConcat, {next, in[3]});
               return Values{next, next, body.Mul(in[2], 2), ended};
             },
             {.carried = 1,
              .captures = 1,
              .scan_axes = {1, 0, 1, 0, 0},
              .directions = {1, 0, 1, 0, 0}});
  const auto graph = g.Build({{"last", results[0]},
                              {"backward", results[1]},
                              {"numbers", results[2]},
                              {"forward", results[3]}});
  ExpectEqual(graph, {{Literal::Strings({2}, {"<", "["}),
                       Literal::Strings({2, 3}, {"a", "b", "c", "d", "", "f"}),
                       Literal::FromValues<int32_t>({3}, {1, 2, 3}),
                       Literal::Strings({2}, {">", "]"})}});
}

TEST_P(HostObjects, LoopsStackStrings) {
  GraphBuilder g;
  const Value trips = g.Input("trips", {DType::kI64, {}});
  const Value x = g.Input("x", {DType::kString, {2}});
  const Dim count = g.Symbol("count", 0, 64, /*at_run_time=*/true);
  const Values results = g.Loop(
      trips, g.Constant(Literal::Scalar(true)), {&x, 1},
      [](GraphBuilder& body, std::span<const Value> in) {
        const Value twice = body.Node1(Op::kStringConcat, {in[2], in[2]});
        return Values{in[1], twice, in[2], in[0]};
      },
      {.carried = 1, .trips = {count}});
  const auto graph = g.Build(
      {{"last", results[0]}, {"strings", results[1]}, {"numbers", results[2]}});
  const Literal strings = Literal::Strings({2}, {"a", ""});
  ExpectEqual(graph, {{Index(3), strings}, {Index(0), strings}});
}

TEST_P(HostObjects, NumbersAreWrittenAndRead) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kString, {3}});
  const Value numbers =
      g.Node1(Op::kStringParse, {x}, ElementTypeAttrs{DType::kF32});
  const Value texts = g.Node1(Op::kStringFormat, {g.Mul(numbers, 2)});
  const auto graph = g.Build({{"texts", texts}});
  ExpectEqual(graph, {{Literal::Strings({3}, {"1.5", "-INF", "1e-3"})}});
  EXPECT_NE(
      Failure(graph, {Literal::Strings({3}, {"1", "x", "2"})}).find("\"x\""),
      std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Backends, HostObjects,
                         testing::ValuesIn(TargetsUnderTest()), TargetName);

}  // namespace
}  // namespace encore::backends
