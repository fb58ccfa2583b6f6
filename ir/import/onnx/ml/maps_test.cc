// Maps as pairs of tensors: what the operators that read and give them refuse,
// here and in a run, and what the cases of tests/onnx/ml/maps cannot say.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

constexpr int kString = 8;

Proto Texts(std::string_view name, std::vector<std::string_view> values) {
  Proto attribute;
  attribute.Bytes(1, name);
  for (const auto value : values) attribute.Bytes(9, value);
  return attribute.Int(20, 8);
}

// TypeProtos.
Proto TensorType(int element) {
  return Proto().Sub(1, Proto().Int(1, element));
}
Proto MapType(int key, int element) {
  return Proto().Sub(5, Proto().Int(1, key).Sub(2, TensorType(element)));
}
Proto SequenceType(const Proto& of) {
  return Proto().Sub(4, Proto().Sub(1, of));
}

Proto Declared(std::string_view name, const Proto& type) {
  return Proto().Bytes(1, name).Sub(2, type);
}

Proto MlNode(std::string_view op, std::string_view input,
             std::string_view output, const std::vector<Proto>& attributes) {
  return onnx::Node(op, {input}, {output}, attributes).Bytes(7, "ai.onnx.ml");
}

struct MapModel {
  std::vector<Proto> nodes;
  std::vector<Proto> inputs;
  std::vector<Proto> outputs = {Proto().Bytes(1, "y")};
  std::vector<Proto> initializers = {};
};

StatusOr<encore::Graph> ImportMaps(const MapModel& text) {
  Proto graph;
  for (const Proto& node : text.nodes) graph.Sub(1, node);
  graph.Bytes(2, "g");
  for (const Proto& tensor : text.initializers) graph.Sub(5, tensor);
  for (const Proto& input : text.inputs) graph.Sub(11, input);
  for (const Proto& output : text.outputs) graph.Sub(12, output);
  Proto model;
  model.Int(1, 8).Sub(8, Proto().Bytes(1, "").Int(2, 17));
  model.Sub(8, Proto().Bytes(1, "ai.onnx.ml").Int(2, 3)).Sub(7, graph);
  auto bytes = std::make_shared<const std::string>(model.bytes());
  return Import(std::as_bytes(std::span(*bytes)), bytes, {}, {});
}

std::string ErrorOf(const MapModel& text) {
  const auto graph = ImportMaps(text);
  return graph.ok() ? "no error" : encore::Message(graph.status());
}

// The operator on a map x of `key` to `element`.
MapModel Reader(std::string_view op, const std::vector<Proto>& attributes,
                int key = kInt64, int element = kFloat) {
  return {.nodes = {MlNode(op, "x", "y", attributes)},
          .inputs = {Declared("x", MapType(key, element))}};
}

StatusOr<std::vector<Literal>> RunModel(const MapModel& text,
                                        const std::vector<Literal>& inputs) {
  const auto graph = ImportMaps(text);
  if (!graph.ok()) return graph.status();
  return Evaluate(*graph, inputs);
}

Literal Keys(std::vector<int64_t> keys) {
  return Literal::Vector<int64_t>(keys);
}
Literal Values(std::vector<float> values) {
  return Literal::Vector<float>(values);
}
Literal Words(std::vector<std::string> words) {
  const auto count = static_cast<int64_t>(words.size());
  return Literal::Strings({count}, std::move(words));
}

TEST(Maps, AreTwoTensorsAtTheBoundary) {
  const auto graph = ImportMaps(
      {.nodes = {MlNode("ZipMap", "x", "y",
                        {IntsAttribute("classlabels_int64s", {4, 2})})},
       .inputs = {TensorInput("x", {"N", "2"}),
                  Declared("unused", MapType(kString, 11))},
       .outputs = {Declared("y", SequenceType(MapType(kInt64, kFloat)))}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->arguments().size(), 3u);
  EXPECT_EQ(graph->arguments()[1].name, "unused.keys");
  EXPECT_EQ(graph->arguments()[2].name, "unused.values");
  EXPECT_EQ(graph->type(graph->arguments()[1].value).dtype, DType::kString);
  EXPECT_EQ(graph->type(graph->arguments()[2].value).dtype, DType::kF64);
  ASSERT_EQ(graph->outputs().size(), 2u);
  EXPECT_EQ(graph->outputs()[0].name, "y.keys");
  EXPECT_EQ(graph->outputs()[1].name, "y.values");
  const std::vector<Literal> inputs = {
      Literal::FromValues<float>({1, 2}, {0.25f, 0.75f}), Words({}),
      Literal(DType::kF64, {0})};
  const auto outputs = Evaluate(*graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0], Keys({2, 4}));
  EXPECT_EQ((*outputs)[1], Literal::FromValues<float>({1, 2}, {0.75f, 0.25f}));
}

TEST(Maps, GoThroughAsTheyAre) {
  const auto graph =
      ImportMaps({.nodes = {}, .inputs = {Declared("y", MapType(7, 1))}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto outputs =
      Evaluate(*graph, std::vector<Literal>{Keys({3, 1}), Values({5, 6})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0], Keys({3, 1}));
}

TEST(Maps, BadLabelsAreNamed) {
  const auto zip = [](const std::vector<Proto>& attributes) {
    return ErrorOf({.nodes = {MlNode("ZipMap", "x", "y", attributes)},
                    .inputs = {TensorInput("x", {"N", "2"})}});
  };
  EXPECT_THAT(zip({}), HasSubstr("node \"ZipMap_node\""));
  EXPECT_THAT(zip({}), HasSubstr("are both empty"));
  EXPECT_THAT(zip({IntsAttribute("classlabels_int64s", {1, 2}),
                   Texts("classlabels_strings", {"a", "b"})}),
              HasSubstr("are both given"));
  EXPECT_THAT(zip({IntsAttribute("classlabels_int64s", {2, 2})}),
              HasSubstr("attribute classlabels_int64s lists 2 twice"));
  EXPECT_THAT(zip({Texts("classlabels_strings", {"a", "a"})}),
              HasSubstr("attribute classlabels_strings lists \"a\" twice"));
  EXPECT_THAT(zip({IntsAttribute("classlabels_int64s", {1, 2, 3})}),
              HasSubstr("expected 3 features"));
}

TEST(Maps, WhatTakesNoMapIsNamed) {
  const Proto map = Declared("x", MapType(kInt64, kFloat));
  EXPECT_THAT(
      ErrorOf({.nodes = {onnx::Node("Abs", {"x"}, {"y"})}, .inputs = {map}}),
      HasSubstr("node \"Abs_node\" (Abs): input X (\"x\") is of type "
                "map of int64 to float"));
  EXPECT_THAT(ErrorOf({.nodes = {MlNode("CastMap", "x", "y", {})},
                       .inputs = {TensorInput("x", {"2"})}}),
              HasSubstr("node \"CastMap_node\" (CastMap): input X (\"x\") is "
                        "of type float"));
  EXPECT_THAT(ErrorOf(Reader("CastMap", {}, kString)),
              HasSubstr("map of string to float, which the operator"));
  EXPECT_THAT(
      ErrorOf({.nodes = {MlNode("ZipMap", "a", "x",
                                {IntsAttribute("classlabels_int64s", {1})}),
                         MlNode("DictVectorizer", "x", "y",
                                {IntsAttribute("int64_vocabulary", {1})})},
               .inputs = {TensorInput("a", {"N", "1"})}}),
      HasSubstr("sequence of maps of int64 to float"));
}

TEST(Maps, BadTypesAreNamed) {
  const auto declared = [](const Proto& type) {
    return ErrorOf({.nodes = {MlNode("CastMap", "x", "y", {})},
                    .inputs = {Declared("x", type)}});
  };
  EXPECT_THAT(declared(MapType(6, kFloat)),
              HasSubstr("value \"x\" is declared map(int32,tensor(float)), "
                        "which is not supported"));
  const Proto nested =
      Proto().Sub(5, Proto().Int(1, 7).Sub(2, MapType(kInt64, kFloat)));
  EXPECT_THAT(declared(nested),
              HasSubstr("map(int64,map(int64,tensor(float)))"));
  EXPECT_THAT(declared(MapType(kInt64, 14)),
              HasSubstr("map of int64 to complex64"));
  EXPECT_THAT(
      ErrorOf({.nodes = {MlNode("ZipMap", "x", "y",
                                {Texts("classlabels_strings", {"a"})})},
               .inputs = {TensorInput("x", {"N", "1"})},
               .outputs = {Declared("y", SequenceType(MapType(7, 1)))}}),
      HasSubstr("value \"y\" is declared seq(map(int64,tensor(float))) but is "
                "seq(map(string,tensor(float)))"));
  EXPECT_THAT(ErrorOf({.nodes = {onnx::Node("Abs", {"x"}, {"y"})},
                       .inputs = {TensorInput("x", {"N"})},
                       .outputs = {Declared("y", MapType(kInt64, kFloat))}}),
              HasSubstr("value \"y\" is declared map(int64,tensor(float))"));
}

TEST(Maps, NamesOfTheirTensorsAreTheirs) {
  EXPECT_THAT(ErrorOf({.nodes = {MlNode("CastMap", "x", "y", {})},
                       .inputs = {Declared("x", MapType(kInt64, kFloat)),
                                  TensorInput("x.keys", {"2"})}}),
              HasSubstr("the name \"x.keys\" is given to more than one value"));
  const Proto x = Proto().Int(1, 1).Int(2, 1).Float(4, 0).Bytes(8, "x");
  MapModel initialized = Reader("CastMap", {});
  initialized.initializers = {x};
  EXPECT_THAT(ErrorOf(initialized),
              HasSubstr("value \"x\" is map(int64,tensor(float)), which no "
                        "initializer can be"));
}

TEST(Maps, SubgraphsReadThem) {
  const Proto reader = MlNode("DictVectorizer", "m", "z",
                              {IntsAttribute("int64_vocabulary", {1, 2})});
  const Proto zeros = onnx::Node("Sub", {"other", "other"}, {"w"});
  const MapModel model = {
      .nodes = {onnx::Node("If", {"c"}, {"y"},
                           {GraphAttribute("then_branch", {reader}, {"z"}),
                            GraphAttribute("else_branch", {zeros}, {"w"})})},
      .inputs = {TensorInput("c", {}, kBool),
                 Declared("m", MapType(kInt64, kFloat)),
                 TensorInput("other", {"1", "2"})}};
  const auto run = [&](bool condition) {
    return RunModel(model, {Literal::Scalar(condition), Keys({2}), Values({7}),
                            Literal::FromValues<float>({1, 2}, {3, 3})});
  };
  const auto read = run(true), other = run(false);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)[0], Literal::FromValues<float>({1, 2}, {0, 7}));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*other)[0], Literal::FromValues<float>({1, 2}, {0, 0}));
}

TEST(Maps, SubgraphsDoNotGiveThem) {
  const Proto maps =
      MlNode("ZipMap", "x", "z", {IntsAttribute("classlabels_int64s", {1})});
  EXPECT_THAT(
      ErrorOf({.nodes = {onnx::Node(
                   "If", {"c"}, {"y"},
                   {GraphAttribute("then_branch", {maps}, {"z"}),
                    GraphAttribute("else_branch", {maps}, {"z"})})},
               .inputs = {TensorInput("c", {}, kBool),
                          TensorInput("x", {"N", "1"})}}),
      HasSubstr("node \"If_node\" (If): attribute then_branch: output \"z\" is "
                "seq(map(int64,tensor(float)))"));
}

// What ONNX Runtime cannot be given from Python.
TEST(Maps, OfStrings) {
  const MapModel model =
      Reader("DictVectorizer", {IntsAttribute("int64_vocabulary", {5, 3, 4})},
             kInt64, kString);
  const auto y = RunModel(model, {Keys({4, 5}), Words({"a", "b"})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0], Literal::Strings({1, 3}, {"b", "", "a"}));
  const auto cast = [](std::string_view to, std::string_view form) {
    return RunModel(
        Reader("CastMap",
               {StringAttribute("cast_to", to),
                StringAttribute("map_form", form), IntAttribute("max_map", 4)},
               kInt64, kString),
        {Keys({3, 1}), Words({"-2", "7"})});
  };
  const auto floats = cast("TO_FLOAT", "DENSE");
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_EQ((*floats)[0], Literal::FromValues<float>({1, 2}, {7, -2}));
  const auto integers = cast("TO_INT64", "SPARSE");
  ASSERT_TRUE(integers.ok()) << integers.status();
  EXPECT_EQ((*integers)[0],
            Literal::FromValues<int64_t>({1, 4}, {0, 7, 0, -2}));
  const auto strings = cast("TO_STRING", "SPARSE");
  ASSERT_TRUE(strings.ok()) << strings.status();
  EXPECT_EQ((*strings)[0], Literal::Strings({1, 4}, {"0", "7", "0", "-2"}));
}

TEST(Maps, OfNumbersToStrings) {
  const auto y =
      RunModel(Reader("CastMap", {StringAttribute("cast_to", "TO_STRING")}),
               {Keys({3, 1}), Values({1.5, -2})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0], Literal::Strings({1, 2}, {"-2", "1.5"}));
}

TEST(Maps, EmptyOnes) {
  const auto dense = RunModel(Reader("CastMap", {}), {Keys({}), Values({})});
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ((*dense)[0], Literal(DType::kF32, {1, 0}));
  const auto row = RunModel(
      Reader("DictVectorizer", {IntsAttribute("int64_vocabulary", {5, 3})}),
      {Keys({}), Values({})});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ((*row)[0], Literal(DType::kF32, {1, 2}));
}

TEST(Maps, BadAttributesAreNamed) {
  EXPECT_THAT(ErrorOf(Reader("CastMap", {StringAttribute("cast_to", "FLOAT")})),
              HasSubstr("attribute cast_to is \"FLOAT\", expected one of"));
  EXPECT_THAT(ErrorOf(Reader("CastMap", {StringAttribute("map_form", "")})),
              HasSubstr("attribute map_form is \"\""));
  for (const int64_t most : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    EXPECT_THAT(
        ErrorOf(Reader("CastMap", {StringAttribute("map_form", "SPARSE"),
                                   IntAttribute("max_map", most)})),
        HasSubstr("attribute max_map is "));
  }
  EXPECT_THAT(ErrorOf(Reader("DictVectorizer", {})),
              HasSubstr("int64_vocabulary and string_vocabulary are both "
                        "empty"));
  EXPECT_THAT(
      ErrorOf(Reader("DictVectorizer", {Texts("string_vocabulary", {"a"})})),
      HasSubstr("input X has keys of i64, but the attributes list string"));
}

TEST(Maps, BadKeysEndTheRun) {
  const auto error = [](const MapModel& model, std::vector<int64_t> keys) {
    std::vector<float> values(keys.size(), 1);
    const auto y = RunModel(model, {Keys(std::move(keys)), Values(values)});
    return y.ok() ? "no error" : encore::Message(y.status());
  };
  const std::string twice = "the map of input X has a key twice";
  EXPECT_THAT(error(Reader("CastMap", {}), {4, 5, 4}), HasSubstr(twice));
  EXPECT_EQ(error(Reader("CastMap", {}), {INT64_MIN, 5}), "no error");
  const MapModel sparse = Reader(
      "CastMap",
      {StringAttribute("map_form", "SPARSE"), IntAttribute("max_map", 6)});
  EXPECT_EQ(error(sparse, {4, 5, 0}), "no error");
  EXPECT_THAT(error(sparse, {4, 5, 4}), HasSubstr(twice));
  for (const int64_t key : {int64_t{6}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(error(sparse, {4, key}), HasSubstr("not below attribute max"));
  }
  const MapModel row =
      Reader("DictVectorizer", {IntsAttribute("int64_vocabulary", {4, 5})});
  EXPECT_EQ(error(row, {5, 9, 9}), "no error");
  EXPECT_THAT(error(row, {4, 4}), HasSubstr(twice));
}

}  // namespace
}  // namespace encore::onnx
