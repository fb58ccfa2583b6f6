// Indices of gathers and scatters: what onnx.reference and ONNX Runtime give
// for those in range, and that the others are errors
// (testdata/index_goldens.txt).
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

constexpr int kInt32 = 6;

struct Golden {
  std::string op;
  std::vector<Proto> attributes;
  std::vector<std::pair<std::string, Literal>> inputs;
  std::optional<Literal> expected;
};

// "2 3 : 1 2 3 4 5 6" as a tensor.
Literal ReadTensor(std::istream& in, DType dtype) {
  std::vector<int64_t> dims;
  std::string word;
  while (in >> word && word != ":") dims.push_back(std::stoll(word));
  Literal literal(dtype, dims);
  for (int64_t i = 0; in >> word; ++i) {
    if (IsFloat(dtype)) {
      literal.SetDouble(i, std::stod(word));
    } else {
      literal.SetInt(i, std::stoll(word));
    }
  }
  return literal;
}

std::vector<Golden> ReadGoldens() {
  std::ifstream file("ir/import/onnx/testdata/index_goldens.txt");
  std::vector<Golden> goldens;
  std::string line, word, index_dtype;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    in >> word;
    if (word == "case") {
      Golden& golden = goldens.emplace_back();
      in >> golden.op >> index_dtype;
      while (in >> word) {
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const std::string value = word.substr(equals + 1);
        golden.attributes.push_back(
            name == "reduction" ? StringAttribute(name, value)
                                : IntAttribute(name, std::stoll(value)));
      }
    } else if (word == "expect") {
      goldens.back().expected = ReadTensor(in, DType::kF32);
    } else if (word != "#" && word != "error") {
      const DType dtype = word != "indices"      ? DType::kF32
                          : index_dtype == "i32" ? DType::kI32
                                                 : DType::kI64;
      goldens.back().inputs.emplace_back(word, ReadTensor(in, dtype));
    }
  }
  return goldens;
}

int TypeOf(DType dtype) {
  if (dtype == DType::kI32) return kInt32;
  return dtype == DType::kI64 ? kInt64 : kFloat;
}

Proto Initializer(std::string_view name, const Literal& value) {
  Proto tensor;
  for (const int64_t dim : value.dims()) tensor.Int(1, dim);
  const auto bytes = value.bytes();
  return tensor.Int(2, TypeOf(value.dtype()))
      .Bytes(8, name)
      .Bytes(9, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The model of a golden; `constant`: its indices are part of it.
ModelText ModelOf(const Golden& golden, bool constant,
                  std::vector<Literal>* arguments) {
  ModelText text;
  text.inputs.clear();
  std::vector<std::string_view> names;
  for (const auto& [name, value] : golden.inputs) {
    names.push_back(name);
    if (constant && name == "indices") {
      text.initializers.push_back(Initializer(name, value));
      continue;
    }
    std::vector<std::string> dims;
    for (const int64_t dim : value.dims()) dims.push_back(StrCat(dim));
    text.inputs.push_back(TensorInput(name, dims, TypeOf(value.dtype())));
    arguments->push_back(value);
  }
  text.nodes = {Node(golden.op, names, {"y"}, golden.attributes)};
  return text;
}

void ExpectSame(const Literal& actual, const Literal& expected) {
  ASSERT_EQ(actual.dims(), expected.dims());
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    EXPECT_EQ(actual.AsDouble(i), expected.AsDouble(i)) << "element " << i;
  }
}

// Whether some node of the graph, bodies apart, may end the run.
bool AnyMayFail(const encore::Graph& graph) {
  for (const NodeId node : Nodes(graph)) {
    if (MayFail(graph.op(node), graph.attributes(node))) return true;
  }
  return false;
}

TEST(IndexRange, IndicesAtRunTime) {
  const std::vector<Golden> goldens = ReadGoldens();
  ASSERT_GE(goldens.size(), 300u);
  int errors = 0;
  for (const Golden& golden : goldens) {
    std::vector<Literal> arguments;
    const auto graph =
        ImportText(ModelOf(golden, /*constant=*/false, &arguments));
    ASSERT_TRUE(graph.ok()) << golden.op << ": " << graph.status();
    const auto results = Evaluate(*graph, arguments);
    if (golden.expected) {
      ASSERT_TRUE(results.ok()) << golden.op << ": " << results.status();
      ExpectSame((*results)[0], *golden.expected);
    } else {
      ++errors;
      EXPECT_EQ(results.status().code(), StatusCode::kOutOfRange) << golden.op;
      EXPECT_THAT(Message(results.status()),
                  HasSubstr(StrCat(golden.op, "_node")));
      EXPECT_THAT(Message(results.status()), HasSubstr("of the indices"));
    }
  }
  EXPECT_GE(errors, 200);
}

// Constants are checked once: the graph then has nothing to check.
TEST(IndexRange, ConstantIndices) {
  for (const Golden& golden : ReadGoldens()) {
    std::vector<Literal> arguments;
    const auto graph =
        ImportText(ModelOf(golden, /*constant=*/true, &arguments));
    if (!golden.expected) {
      EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(Message(graph.status()), HasSubstr("input indices has"));
      EXPECT_THAT(Message(graph.status()),
                  HasSubstr(StrCat(golden.op, "_node")));
      continue;
    }
    ASSERT_TRUE(graph.ok()) << golden.op << ": " << graph.status();
    EXPECT_FALSE(AnyMayFail(*graph)) << golden.op;
    const auto results = Evaluate(*graph, arguments);
    ASSERT_TRUE(results.ok()) << golden.op << ": " << results.status();
    ExpectSame((*results)[0], *golden.expected);
  }
}

Literal I64(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return Literal::FromValues<int64_t>(std::move(dims), values);
}

// What the graph itself shows to be in range costs nothing.
TEST(IndexRange, IndicesThatAreSurelyInRange) {
  ModelText text;
  text.inputs = {TensorInput("x", {"N", "5"}), TensorInput("i", {"2"}, kInt64)};
  text.nodes = {
      Node("ArgMax", {"x"}, {"at"}, {IntAttribute("axis", 1)}),
      Node("GatherElements", {"x", "at"}, {"y"}, {IntAttribute("axis", 1)})};
  auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_FALSE(AnyMayFail(*graph));
  // Along another axis it is not.
  text.nodes[1] = Node("Gather", {"x", "at"}, {"y"}, {IntAttribute("axis", 0)});
  graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(AnyMayFail(*graph));
}

TEST(IndexRange, SymbolicExtents) {
  ModelText text;
  text.inputs = {TensorInput("x", {"N", "2"})};
  text.initializers = {Initializer("i", I64({2}, {-1, 3}))};
  text.nodes = {Node("Gather", {"x", "i"}, {"y"})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto x = [](int64_t n) { return Literal(DType::kF32, {n, 2}); };
  for (const int64_t n : {4, 7}) {
    EXPECT_TRUE(Evaluate(*graph, {{x(n)}}).ok());
  }
  EXPECT_THAT(
      Message(Evaluate(*graph, {{x(3)}}).status()),
      HasSubstr("index 3 at position 1 of the indices, expected [0, 3)"));
}

// A branch that is not taken and a loop without trips say nothing, though their
// indices are constants.
TEST(IndexRange, WhatDoesNotRunDoesNotFail) {
  ModelText text;
  text.inputs = {TensorInput("x", {"3", "2"}), TensorInput("c", {}, kBool)};
  text.initializers = {Initializer("i", I64({1}, {3}))};
  text.nodes = {Node(
      "If", {"c"}, {"y"},
      {GraphAttribute("then_branch", {Node("Gather", {"x", "i"}, {"t"})},
                      {"t"}),
       GraphAttribute(
           "else_branch",
           {Node("Identity", {"x"}, {"e"}), Node("ReduceSum", {"e"}, {"f"})},
           {"f"})})};
  auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal x(DType::kF32, {3, 2});
  EXPECT_TRUE(Evaluate(*graph, {{x, Literal::Scalar(false)}}).ok());
  EXPECT_THAT(Message(Evaluate(*graph, {{x, Literal::Scalar(true)}}).status()),
              HasSubstr("Gather_node"));

  text.inputs = {TensorInput("x", {"3", "2"}), TensorInput("n", {}, kInt64)};
  text.nodes = {
      Node("Loop", {"n", "", "x"}, {"y"},
           {GraphAttribute("body",
                           {Node("Gather", {"state", "i"}, {"row"}),
                            Node("Add", {"state", "row"}, {"next"}),
                            Node("Identity", {"going"}, {"on"})},
                           {"on", "next"}, {"trip", "going", "state"})})};
  graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(Evaluate(*graph, {{x, Literal::Scalar<int64_t>(0)}}).ok());
  EXPECT_THAT(
      Message(Evaluate(*graph, {{x, Literal::Scalar<int64_t>(1)}}).status()),
      HasSubstr("Gather_node"));
}

}  // namespace
}  // namespace encore::onnx
