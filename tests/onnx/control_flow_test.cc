// If and Loop whose tensors change their extents from branch to branch or from
// trip to trip, from the importer to the replay, compiled and recalled.

#include <algorithm>
#include <string>
#include <vector>

#include "encore/ir/import/onnx/test_models.h"
#include "encore/tests/onnx/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

using onnx::ErrorOf;
using onnx::GraphAttribute;
using onnx::ImportText;
using onnx::IntAttribute;
using onnx::IntsAttribute;
using onnx::kBool;
using onnx::kFloat;
using onnx::kInt64;
using onnx::ModelText;
using onnx::Node;
using onnx::Proto;
using onnx::TensorInput;
using ::testing::HasSubstr;

using Strings = std::vector<std::string_view>;
using ControlFlow = SessionFixture;

Literal Floats(const std::vector<float>& values) {
  return Literal::Vector<float>(values);
}
Literal Bool(bool value) { return Literal::Scalar(value); }
Literal Count(int64_t value) { return Literal::Scalar(value); }

// Nodes that give the positive elements of `x` as `y`.
std::vector<Proto> Positive(std::string_view x, std::string_view y) {
  return {Node("Greater", {x, "nought"}, {"mask"}),
          Node("Compress", {x, "mask"}, {y}, {IntAttribute("axis", 0)})};
}

// A model of nodes over f32[6] x, whose constants are at hand.
ModelText Model(std::vector<Proto> nodes, std::vector<Proto> inputs) {
  ModelText text;
  text.inputs = std::move(inputs);
  text.inputs.insert(text.inputs.begin(), TensorInput("x", {"6"}));
  text.initializers = {
      Proto().Int(2, kFloat).Bytes(8, "nought").Bytes(9, std::string(4, '\0')),
      Proto().Int(2, kInt64).Int(7, 1).Bytes(8, "one")};
  text.nodes = std::move(nodes);
  return text;
}

Proto If(const std::vector<Proto>& then, const std::vector<Proto>& otherwise) {
  return Node("If", {"c"}, {"z"},
              {GraphAttribute("then_branch", then, {"t"}),
               GraphAttribute("else_branch", otherwise, {"e"})});
}

// A loop that carries `a`, which begins as `start` and ends as `last`.
Proto Loop(std::string_view trips, std::string_view condition,
           std::string_view start, std::vector<Proto> nodes, Strings given,
           Strings results) {
  return Node(
      "Loop", {trips, condition, start}, std::move(results),
      {GraphAttribute("body", nodes, std::move(given), {"i", "going", "a"})});
}

const std::vector<float> kX = {1, -2, 3, 4, -5, 6};

TEST_P(ControlFlow, BranchesThatFindOutTheirExtents) {
  const Proto minus = Node("Neg", {"x"}, {"m"});
  const auto graph =
      ImportText(Model({minus, If(Positive("x", "t"), Positive("m", "e")),
                        Node("Mul", {"z", "z"}, {"y"})},
                       {TensorInput("c", {}, kBool)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph, {{{Floats(kX), Bool(true)}, {Floats({1, 9, 16, 36})}},
                  {{Floats(kX), Bool(false)}, {Floats({4, 25})}},
                  {{Floats({1, 1, 1, 1, 1, 1}), Bool(false)}, {Floats({})}}});
}

TEST_P(ControlFlow, ABranchWithoutElements) {
  const Proto none = Proto().Int(1, 0).Int(2, kFloat).Bytes(8, "none");
  ModelText text =
      Model({If(Positive("x", "t"), {Node("Abs", {"none"}, {"e"})}),
             Node("Exp", {"z"}, {"y"})},
            {TensorInput("c", {}, kBool)});
  text.initializers.push_back(none);
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph,
         {{{Floats({0, 0, 0, 1, 0, 0}), Bool(true)}, {Floats({2.7182818f})}},
          {{Floats(kX), Bool(false)}, {Floats({})}}});
}

// Both known, so that they share a buffer.
TEST_P(ControlFlow, BranchesOfTwoKnownExtents) {
  const auto graph = ImportText(
      Model({If({Node("Identity", {"x"}, {"t"})},
                {Node("Concat", {"x", "x"}, {"e"}, {IntAttribute("axis", 0)})}),
             Node("Neg", {"z"}, {"y"})},
            {TensorInput("c", {}, kBool)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph, {{{Floats(kX), Bool(true)}, {Floats({-1, 2, -3, -4, 5, -6})}},
                  {{Floats(kX), Bool(false)},
                   {Floats({-1, 2, -3, -4, 5, -6, -1, 2, -3, -4, 5, -6})}}});
}

// While i + 1 < n, the tensor grows by x.
TEST_P(ControlFlow, ATensorThatGrowsWhileAConditionHolds) {
  const auto graph = ImportText(Model(
      {Node("Less", {"one", "n"}, {"begins"}),
       Loop("", "begins", "x",
            {Node("Add", {"i", "one"}, {"j"}), Node("Add", {"j", "one"}, {"k"}),
             Node("Less", {"k", "n"}, {"on"}),
             Node("Concat", {"a", "x"}, {"b"}, {IntAttribute("axis", 0)})},
            {"on", "b"}, {"last"}),
       Node("Neg", {"last"}, {"y"})},
      {TensorInput("n", {}, kInt64)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SessionCall> calls;
  for (const int64_t n : {1, 2, 5, 1000}) {
    std::vector<float> grown;
    for (int64_t i = 0; i < n; ++i) {
      for (const float v : kX) grown.push_back(-v);
    }
    calls.push_back({{Floats(kX), Count(n)}, {Floats(grown)}});
  }
  Expect(*graph, calls);
}

// Each trip keeps what is at least the mean.
TEST_P(ControlFlow, ATensorThatShrinks) {
  const auto graph = ImportText(Model(
      {Loop("n", "", "x",
            {Node("Identity", {"going"}, {"on"}),
             Node("ReduceMean", {"a"}, {"mean"}, {IntAttribute("keepdims", 0)}),
             Node("GreaterOrEqual", {"a", "mean"}, {"keep"}),
             Node("Compress", {"a", "keep"}, {"b"}, {IntAttribute("axis", 0)})},
            {"on", "b"}, {"last"}),
       Node("Identity", {"last"}, {"y"})},
      {TensorInput("n", {}, kInt64)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph, {{{Floats(kX), Count(0)}, {Floats(kX)}},
                  {{Floats(kX), Count(1)}, {Floats({3, 4, 6})}},
                  {{Floats(kX), Count(1000)}, {Floats({6})}}});
}

// Trip i doubles i times.
TEST_P(ControlFlow, LoopsInLoops) {
  const Proto inner =
      Node("Loop", {"i", "", "a"}, {"b"},
           {GraphAttribute("body",
                           {Node("Identity", {"inner"}, {"still"}),
                            Node("Concat", {"half", "half"}, {"whole"},
                                 {IntAttribute("axis", 0)})},
                           {"still", "whole"}, {"k", "inner", "half"})});
  const auto graph = ImportText(
      Model({Loop("n", "", "x", {Node("Identity", {"going"}, {"on"}), inner},
                  {"on", "b"}, {"last"}),
             Node("Identity", {"last"}, {"y"})},
            {TensorInput("n", {}, kInt64)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SessionCall> calls;
  for (const int64_t n : {0, 1, 2, 4}) {
    std::vector<float> values;
    for (int64_t i = 0; i < 1 << (n * (n - 1) / 2); ++i) {
      values.insert(values.end(), kX.begin(), kX.end());
    }
    calls.push_back({{Floats(kX), Count(n)}, {Floats(values)}});
  }
  Expect(*graph, calls);
}

// Trip i gives the positive elements times i.
TEST_P(ControlFlow, StackedTensorsWhoseExtentsATripFindsOut) {
  std::vector<Proto> nodes = Positive("x", "p");
  nodes.push_back(Node("Cast", {"i"}, {"f"}, {IntAttribute("to", kFloat)}));
  nodes.push_back(Node("Mul", {"p", "f"}, {"row"}));
  nodes.push_back(Node("Identity", {"going"}, {"on"}));
  nodes.push_back(Node("Sin", {"a"}, {"b"}));
  const auto graph = ImportText(
      Model({Loop("n", "", "x", nodes, {"on", "b", "row"}, {"last", "rows"}),
             Node("Identity", {"rows"}, {"y"})},
            {TensorInput("n", {}, kInt64)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SessionCall> calls;
  for (const int64_t n : {1, 3, 0, 1000}) {
    // No trip says how many there are.
    Literal rows(DType::kF32, {n, n > 0 ? 4 : 0});
    for (int64_t i = 0; i < n * 4; ++i) {
      const int64_t positive[] = {1, 3, 4, 6};
      rows.SetDouble(i, static_cast<double>(positive[i % 4] * (i / 4)));
    }
    calls.push_back({{Floats(kX), Count(n)}, {rows}});
  }
  Expect(*graph, calls);
}

// Of no trips the stack has the extents that are known: [0, 0, 2].
TEST_P(ControlFlow, StackedTensorsOfNoTrips) {
  std::vector<Proto> nodes = Positive("x", "p");
  nodes.push_back(Node("Unsqueeze", {"p", "ones"}, {"q"}));
  nodes.push_back(
      Node("Concat", {"q", "q"}, {"row"}, {IntAttribute("axis", 1)}));
  nodes.push_back(Node("Identity", {"going"}, {"on"}));
  nodes.push_back(Node("Neg", {"a"}, {"b"}));
  ModelText text = Model(
      {Loop("", "c", "x", nodes, {"no", "b", "row"}, {"last", "rows"}),
       Node("ReduceSum", {"rows"}, {"sum"}, {IntAttribute("keepdims", 0)}),
       Node("Shape", {"rows"}, {"extents"}),
       Node("Cast", {"extents"}, {"floats"}, {IntAttribute("to", kFloat)}),
       Node("Add", {"floats", "sum"}, {"y"})},
      {TensorInput("c", {}, kBool)});
  text.initializers.push_back(
      Proto().Int(1, 1).Int(2, kInt64).Int(7, 1).Bytes(8, "ones"));
  text.initializers.push_back(Proto().Int(2, kBool).Int(5, 0).Bytes(8, "no"));
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph,
         {{{Floats(kX), Bool(true)}, {Floats({29, 32, 30})}},
          {{Floats(kX), Bool(false)}, {Floats({0, 0, 2})}},
          {{Floats({1, 0, 0, 0, 0, 0}), Bool(true)}, {Floats({3, 3, 4})}}});
}

// The positive elements of each row, from the last row to the first, as
// columns; a row that has more than another ends the call.
TEST_P(ControlFlow, AScanWhoseExtentsATripFindsOut) {
  std::vector<Proto> nodes = Positive("row", "p");
  nodes.push_back(Node("Add", {"a", "row"}, {"b"}));
  ModelText text =
      Model({Node("Reshape", {"x", "extents"}, {"rows"}),
             Node("ReduceMax", {"rows"}, {"top"},
                  {IntsAttribute("axes", {0}), IntAttribute("keepdims", 0)}),
             Node("Scan", {"top", "rows"}, {"sum", "columns"},
                  {GraphAttribute("body", nodes, {"b", "p"}, {"a", "row"}),
                   IntAttribute("num_scan_inputs", 1),
                   IntsAttribute("scan_input_directions", {1}),
                   IntsAttribute("scan_output_axes", {-1})}),
             Node("Reshape", {"columns", "flat"}, {"all"}),
             Node("Concat", {"sum", "all"}, {"y"}, {IntAttribute("axis", 0)})},
            {});
  text.initializers.push_back(
      Proto().Int(1, 2).Int(2, kInt64).Int(7, 2).Int(7, 3).Bytes(8, "extents"));
  text.initializers.push_back(
      Proto().Int(1, 1).Int(2, kInt64).Int(7, -1).Bytes(8, "flat"));
  text.opset = 17;
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph, {{{Floats(kX)}, {Floats({9, -9, 15, 4, 1, 6, 3})}},
                  {{Floats({0, 0, 5, 7, 0, 0})}, {Floats({14, 0, 10, 7, 5})}},
                  {{Floats({-1, 0, 0, 0, 0, 0})}, {Floats({-1, 0, 0})}},
                  {{Floats({1, 0, 0, 1, 1, 0})}, {}}});
}

// The number of trips is an input: none, one and many from one entry.
TEST_P(ControlFlow, StackedScalars) {
  const auto graph = ImportText(Model(
      {Loop("n", "", "x",
            {Node("Identity", {"going"}, {"on"}),
             Node("Cast", {"i"}, {"f"}, {IntAttribute("to", kFloat)}),
             Node("Add", {"a", "f"}, {"b"})},
            {"on", "b", "f"}, {"last", "numbers"}),
       Node("Concat", {"last", "numbers"}, {"y"}, {IntAttribute("axis", 0)})},
      {TensorInput("n", {}, kInt64)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SessionCall> calls;
  for (const int64_t n : {0, 1, 1000}) {
    std::vector<float> values = kX;
    for (float& v : values) v += static_cast<float>(n * (n - 1) / 2);
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
    calls.push_back({{Floats(kX), Count(n)}, {Floats(values)}});
  }
  Expect(*graph, calls);
}

// What is computed from a value of two ranks has one, branch by branch; what
// does not depend on it is computed once, also where it comes later.
TEST_P(ControlFlow, BranchesOfTwoRanks) {
  const auto graph = ImportText(Model(
      {If(Positive("x", "t"),
          {Node("ReduceSum", {"x"}, {"e"}, {IntAttribute("keepdims", 0)})}),
       Node("Exp", {"z"}, {"powers"}), Node("Neg", {"x"}, {"minus"}),
       Node("ReduceMax", {"minus"}, {"least"}, {IntAttribute("keepdims", 0)}),
       Node("Mul", {"z", "least"}, {"scaled"}),
       Node("ReduceSum", {"scaled"}, {"sum"}, {IntAttribute("keepdims", 0)}),
       Node("Size", {"powers"}, {"size"}),
       Node("Cast", {"size"}, {"float"}, {IntAttribute("to", kFloat)}),
       Node("Add", {"sum", "float"}, {"scalar"}),
       Node("Add", {"scalar", "x"}, {"y"})},
      {TensorInput("c", {}, kBool)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto plus = [](float a) {
    std::vector<float> values = kX;
    for (float& v : values) v += a;
    return Floats(values);
  };
  Expect(*graph, {{{Floats(kX), Bool(true)}, {plus(14 * 5 + 4)}},
                  {{Floats(kX), Bool(false)}, {plus(7 * 5 + 1)}},
                  {{Floats({-1, -1, -1, -1, -1, -1}), Bool(true)},
                   {Floats({-1, -1, -1, -1, -1, -1})}}});
}

// Both in one node, and within another branch.
TEST_P(ControlFlow, TwoValuesOfTwoRanks) {
  const auto choose = [](std::string_view when, std::string_view from,
                         std::string_view to) {
    return Node("If", {when}, {to},
                {GraphAttribute("then_branch", Positive(from, "t"), {"t"}),
                 GraphAttribute("else_branch",
                                {Node("ReduceSum", {from}, {"e"},
                                      {IntAttribute("keepdims", 0)})},
                                {"e"})});
  };
  const auto graph = ImportText(Model(
      {choose("c", "x", "a"), Node("Neg", {"x"}, {"minus"}),
       choose("d", "minus", "b"), Node("ReduceMax", {"b"}, {"top"}),
       Node("ReduceMax", {"a"}, {"most"}), Node("Add", {"a", "top"}, {"s"}),
       Node("Sub", {"b", "most"}, {"r"}),
       Node("ReduceSum", {"s"}, {"p"}, {IntAttribute("keepdims", 0)}),
       Node("ReduceSum", {"r"}, {"q"}, {IntAttribute("keepdims", 0)}),
       Node("Add", {"p", "q"}, {"pq"}), Node("Mul", {"pq", "x"}, {"y"})},
      {TensorInput("c", {}, kBool), TensorInput("d", {}, kBool)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto times = [](float a) {
    std::vector<float> values = kX;
    for (float& v : values) v *= a;
    return Floats(values);
  };
  // a is 1, 3, 4, 6 or 7; b is 2, 5 or -7.
  Expect(*graph,
         {{{Floats(kX), Bool(true), Bool(true)}, {times(14 + 20 + 7 - 12)}},
          {{Floats(kX), Bool(true), Bool(false)}, {times(14 - 28 - 7 - 6)}},
          {{Floats(kX), Bool(false), Bool(true)}, {times(7 + 5 + 7 - 14)}},
          {{Floats(kX), Bool(false), Bool(false)}, {times(7 - 7 - 7 - 7)}}});
}

// The branch that gives it is in one of another If, whose condition is data or
// known.
TEST_P(ControlFlow, TwoRanksInABranch) {
  const Proto inner = Node(
      "If", {"d"}, {"w"},
      {GraphAttribute("then_branch", Positive("x", "t"), {"t"}),
       GraphAttribute(
           "else_branch",
           {Node("ReduceSum", {"x"}, {"e"}, {IntAttribute("keepdims", 0)})},
           {"e"})});
  for (const std::string_view when : {"c", "yes"}) {
    const Proto outer = Node(
        "If", {when}, {"z"},
        {GraphAttribute("then_branch", {inner}, {"w"}),
         GraphAttribute("else_branch", {Node("Neg", {"x"}, {"n"})}, {"n"})});
    ModelText text =
        Model({outer,
               Node("ReduceSum", {"z"}, {"sum"}, {IntAttribute("keepdims", 0)}),
               Node("Max", {"x", "sum"}, {"y"})},
              {TensorInput("c", {}, kBool), TensorInput("d", {}, kBool)});
    text.initializers.push_back(
        Proto().Int(2, kBool).Int(5, 1).Bytes(8, "yes"));
    const auto graph = ImportText(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto most = [](float sum) {
      std::vector<float> values = kX;
      for (float& v : values) v = std::max(v, sum);
      return Floats(values);
    };
    const float other = when == "c" ? -7 : 7;
    Expect(*graph, {{{Floats(kX), Bool(true), Bool(true)}, {most(14)}},
                    {{Floats(kX), Bool(true), Bool(false)}, {most(7)}},
                    {{Floats(kX), Bool(false), Bool(false)}, {most(other)}}});
  }
}

// The positive elements less one, as long as there are several.
TEST_P(ControlFlow, StacksUntilWhatATripFindsOutEndsTheLoop) {
  std::vector<Proto> nodes = Positive("a", "p");
  nodes.push_back(
      Node("Cast", {"one"}, {"unit"}, {IntAttribute("to", kFloat)}));
  nodes.push_back(Node("Sub", {"p", "unit"}, {"b"}));
  nodes.push_back(Node("Size", {"b"}, {"size"}));
  nodes.push_back(Node("Greater", {"size", "one"}, {"on"}));
  const auto graph = ImportText(Model(
      {Loop("n", "", "x", nodes, {"on", "b", "size"}, {"last", "sizes"}),
       Node("Cast", {"sizes"}, {"floats"}, {IntAttribute("to", kFloat)}),
       Node("Concat", {"last", "floats"}, {"y"}, {IntAttribute("axis", 0)})},
      {TensorInput("n", {}, kInt64)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Expect(*graph, {{{Floats(kX), Count(100)}, {Floats({1, 4, 3, 3, 2, 1})}},
                  {{Floats(kX), Count(0)}, {Floats(kX)}},
                  {{Floats(kX), Count(2)}, {Floats({1, 2, 4, 4, 3})}}});
}

TEST(ControlFlowErrors, BranchesOfTwoRanks) {
  const ModelText text =
      Model({If(Positive("x", "t"), {Node("Unsqueeze", {"x", "axes"}, {"e"})})},
            {TensorInput("c", {}, kBool), TensorInput("axes", {"1"}, kInt64)});
  EXPECT_NE(ErrorOf(text), "no error");
  const ModelText ranks = Model(
      {If(Positive("x", "t"),
          {Node("ReduceSum", {"x"}, {"e"}, {IntAttribute("keepdims", 0)})}),
       Node("Neg", {"z"}, {"y"})},
      {TensorInput("c", {}, kBool)});
  EXPECT_THAT(ErrorOf(ranks), HasSubstr("give output \"y\" in two ranks"));
}

// Each is in both branches of the one before: the limits hold.
TEST(ControlFlowErrors, ManyValuesOfTwoRanksEndInTime) {
  std::vector<std::string> names = {"x"};
  for (int i = 0; i < 3000; ++i) names.push_back("z" + std::to_string(i));
  std::vector<Proto> nodes;
  for (size_t i = 1; i < names.size(); ++i) {
    nodes.push_back(
        Node("If", {"c"}, {names[i]},
             {GraphAttribute("then_branch",
                             {Node("ReduceSum", {names[i - 1]}, {"t"},
                                   {IntAttribute("keepdims", 0)})},
                             {"t"}),
              GraphAttribute("else_branch",
                             {Node("Reshape", {names[i - 1], "flat"}, {"e"})},
                             {"e"})}));
  }
  nodes.push_back(Node("Shape", {names.back()}, {"y"}));
  ModelText text = Model(nodes, {TensorInput("c", {}, kBool)});
  text.initializers.push_back(
      Proto().Int(1, 1).Int(2, kInt64).Int(7, -1).Bytes(8, "flat"));
  EXPECT_NE(ErrorOf(text), "no error");
}

// Bodies are imported again where more is found out; together not for long.
TEST(ControlFlowErrors, DeeplyNestedLoopsThatGrowEndInTime) {
  constexpr int kDepth = 24;
  std::vector<std::string> names;
  for (int i = 0; i <= 4 * kDepth; ++i) names.push_back(std::to_string(i));
  Proto loop = Node("Concat", {"a0", "a0"}, {"b0"}, {IntAttribute("axis", 0)});
  for (int d = 1; d < kDepth; ++d) {
    const std::string in = "a" + names[d - 1], out = "b" + names[d - 1],
                      going = "g" + names[d], on = "o" + names[d],
                      trip = "i" + names[d];
    loop = Node("Loop", {"n", "", "a" + names[d]}, {"b" + names[d]},
                {GraphAttribute("body", {Node("Identity", {going}, {on}), loop},
                                {on, out}, {trip, going, in})});
  }
  const std::string start = "a" + names[kDepth - 1];
  const std::string end = "b" + names[kDepth - 1];
  const ModelText text =
      Model({Node("Neg", {"x"}, {start}), loop, Node("Neg", {end}, {"y"})},
            {TensorInput("n", {}, kInt64)});
  EXPECT_THAT(ErrorOf(text),
              HasSubstr("iterations of nested loops take more than"));
}

INSTANTIATE_TEST_SUITE_P(Backends, ControlFlow,
                         testing::Values("cpu", "ref", "late_cpu", "late_ref"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace encore::tests
