#include "encore/ir/import/onnx/format/functions.h"

#include <span>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

struct FunctionText {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<Proto> nodes;
  std::vector<std::string> attributes = {};
  std::vector<Proto> defaults = {};
  int opset = 21;
};

// Of the domain "f".
Proto Function(const FunctionText& text) {
  Proto function;
  function.Bytes(1, text.name);
  for (const auto& input : text.inputs) function.Bytes(4, input);
  for (const auto& output : text.outputs) function.Bytes(5, output);
  for (const auto& attribute : text.attributes) function.Bytes(6, attribute);
  for (const Proto& node : text.nodes) function.Sub(7, node);
  function.Sub(9, Proto().Bytes(1, "").Int(2, text.opset));
  function.Sub(9, Proto().Bytes(1, "f").Int(2, 1)).Bytes(10, "f");
  for (const Proto& attribute : text.defaults) function.Sub(11, attribute);
  return function;
}

Proto CallOf(std::string_view name, std::vector<std::string_view> inputs,
             std::vector<std::string_view> outputs,
             const std::vector<Proto>& attributes = {}) {
  return Node(name, inputs, outputs, attributes).Bytes(7, "f");
}

Proto Reference(std::string_view name, std::string_view of, int type) {
  return Proto().Bytes(1, name).Bytes(21, of).Int(20, type);
}

// What the model makes of 1 to 6.
std::vector<double> ResultOf(const ModelText& text) {
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const Literal x = Literal::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto outputs = Evaluate(*graph, std::span(&x, 1));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> values;
  for (int64_t i = 0; i < (*outputs)[0].element_count(); ++i) {
    values.push_back((*outputs)[0].AsDouble(i));
  }
  return values;
}

TEST(Functions, CallsOfCallsAreInlined) {
  const Proto twice = Function({.name = "Twice",
                                .inputs = {"a"},
                                .outputs = {"b"},
                                .nodes = {Node("Add", {"a", "a"}, {"b"})}});
  const Proto four = Function({.name = "Four",
                               .inputs = {"x"},
                               .outputs = {"y"},
                               .nodes = {CallOf("Twice", {"x"}, {"b"}),
                                         CallOf("Twice", {"b"}, {"y"})}});
  EXPECT_THAT(ResultOf({.nodes = {CallOf("Four", {"x"}, {"a"}),
                                  CallOf("Twice", {"a"}, {"y"})},
                        .functions = {four, twice}}),
              testing::ElementsAre(8, 16, 24, 32, 40, 48));
}

TEST(Functions, AttributesAreTheCallersOrDefaults) {
  const Proto sum = Function(
      {.name = "Sum",
       .inputs = {"x"},
       .outputs = {"y"},
       .nodes = {Node("Concat", {"x", "x"}, {"c"},
                      {Reference("axis", "along", 2)}),
                 Node("Flatten", {"c"}, {"y"}, {Reference("axis", "at", 2)})},
       .attributes = {"at"},
       .defaults = {IntAttribute("along", 1)}});
  const auto dims = [&](const std::vector<Proto>& attributes) {
    const auto graph =
        ImportText({.nodes = {CallOf("Sum", {"x"}, {"y"}, attributes)},
                    .functions = {sum}});
    return graph.ok() ? graph->type(graph->outputs()[0].value).ToString()
                      : encore::Message(graph.status());
  };
  EXPECT_EQ(dims({}), "f32[2,6]");
  EXPECT_EQ(dims({IntAttribute("along", 0)}), "f32[4,3]");
  EXPECT_EQ(dims({IntAttribute("along", 0), IntAttribute("at", 0)}),
            "f32[1,12]");
  EXPECT_THAT(dims({IntAttribute("axis", 0)}),
              HasSubstr("attribute axis is not one of the function \"Sum\""));
  EXPECT_THAT(dims({IntAttribute("along", 5)}), HasSubstr("axis"));
}

// What is captured in a function's subgraph is the call's.
TEST(Functions, SubgraphsReadTheCallsValues) {
  const Proto pick = Function(
      {.name = "Pick",
       .inputs = {"a", "c"},
       .outputs = {"y"},
       .nodes = {
           Node("Neg", {"a"}, {"x"}),
           Node("If", {"c"}, {"y"},
                {GraphAttribute("then_branch", {Node("Abs", {"x"}, {"t"})},
                                {"t"}),
                 GraphAttribute("else_branch", {CallOf("Same", {"x"}, {"t"})},
                                {"t"})})}});
  const Proto same = Function({.name = "Same",
                               .inputs = {"x"},
                               .outputs = {"y"},
                               .nodes = {Node("Identity", {"x"}, {"y"})}});
  const auto result = ResultOf(
      {.nodes = {Node("ReduceMax", {"x"}, {"m"}, {IntAttribute("keepdims", 0)}),
                 Node("Cast", {"m"}, {"c"}, {IntAttribute("to", 9)}),
                 Node("Not", {"c"}, {"n"}), CallOf("Pick", {"x", "c"}, {"p"}),
                 CallOf("Pick", {"x", "n"}, {"q"}),
                 Node("Mul", {"p", "q"}, {"y"})},
       .functions = {pick, same}});
  EXPECT_THAT(result, testing::ElementsAre(-1, -4, -9, -16, -25, -36));
}

// An operator is of the opset that the function imports.
TEST(Functions, HaveOpsetsOfTheirOwn) {
  const Proto old = Function(
      {.name = "Old",
       .inputs = {"x"},
       .outputs = {"y"},
       .nodes = {Node("ReduceSum", {"x"}, {"y"}, {IntsAttribute("axes", {1})})},
       .opset = 11});
  EXPECT_THAT(
      ResultOf({.nodes = {CallOf("Old", {"x"}, {"y"})}, .functions = {old}}),
      testing::ElementsAre(6, 15));
}

TEST(Functions, AnInputIsPassedOn) {
  const Proto pass = Function(
      {.name = "Pass", .inputs = {"x"}, .outputs = {"x"}, .nodes = {}});
  EXPECT_THAT(
      ResultOf({.nodes = {CallOf("Pass", {"x"}, {"y"})}, .functions = {pass}}),
      testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Functions, RecursionIsRefused) {
  const auto calls = [](const std::string& name, const std::string& other) {
    return Function({.name = name,
                     .inputs = {"x"},
                     .outputs = {"y"},
                     .nodes = {CallOf(other, {"x"}, {"y"})}});
  };
  EXPECT_THAT(
      ErrorOf({.nodes = {CallOf("A", {"x"}, {"y"})},
               .functions = {calls("A", "A")}}),
      HasSubstr("function \"A\" of the domain \"f\" is called by itself"));
  EXPECT_THAT(ErrorOf({.nodes = {CallOf("A", {"x"}, {"y"})},
                       .functions = {calls("A", "B"), calls("B", "A")}}),
              HasSubstr("is called by itself"));
  EXPECT_THAT(ErrorOf({.nodes = {CallOf("A", {"x"}, {"y"})},
                       .functions = {calls("A", "B"), calls("A", "B")}}),
              HasSubstr("is defined twice"));
}

TEST(Functions, WrongCallsAreNamed) {
  const Proto one = Function({.name = "One",
                              .inputs = {"x"},
                              .outputs = {"y"},
                              .nodes = {Node("Relu", {"x"}, {"y"})}});
  EXPECT_THAT(ErrorOf({.nodes = {CallOf("One", {"x", "x"}, {"y"})},
                       .functions = {one}}),
              HasSubstr("node \"One_node\" (One): 2 inputs and 1 outputs"));
  const Proto broken = Function({.name = "Broken",
                                 .inputs = {"x"},
                                 .outputs = {"y"},
                                 .nodes = {Node("Frobnicate", {"x"}, {"y"})}});
  EXPECT_THAT(ErrorOf({.nodes = {CallOf("Broken", {"x"}, {"y"})},
                       .functions = {broken}}),
              HasSubstr("function \"Broken\": node \"Frobnicate_node\""));
}

// 30 functions that call the next one twice are 2^30 nodes.
TEST(Functions, WhatCallsAmountToIsBounded) {
  std::vector<Proto> functions;
  for (int i = 0; i < 30; ++i) {
    const std::string next = StrCat("F", i + 1);
    functions.push_back(Function(
        {.name = StrCat("F", i),
         .inputs = {"x"},
         .outputs = {"y"},
         .nodes = {CallOf(next, {"x"}, {"a"}), CallOf(next, {"a"}, {"y"})}}));
  }
  functions.push_back(Function({.name = "F30",
                                .inputs = {"x"},
                                .outputs = {"y"},
                                .nodes = {Node("Neg", {"x"}, {"y"})}}));
  EXPECT_THAT(
      ErrorOf({.nodes = {CallOf("F0", {"x"}, {"y"})}, .functions = functions}),
      HasSubstr("take more than 32 MiB"));
}

}  // namespace
}  // namespace encore::onnx
