#include "encore/ir/import/onnx/importer.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

TEST(OnnxImporter, NamesTypesAndOriginsAreTheModels) {
  const auto graph = ImportText({.nodes = {Node("Relu", {"x"}, {"y"})}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->arguments()[0].name, "x");
  EXPECT_EQ(graph->outputs()[0].name, "y");
  const ValueId y = graph->outputs()[0].value;
  EXPECT_EQ(graph->type(y).ToString(), "f32[2,3]");
  EXPECT_EQ(graph->origin(graph->producer(y)), "Relu_node");
}

TEST(OnnxImporter, UnknownOperatorIsNamed) {
  const std::string error =
      ErrorOf({.nodes = {Node("Frobnicate", {"x"}, {"y"})}});
  EXPECT_THAT(error, HasSubstr("Frobnicate_node"));
  EXPECT_THAT(error, HasSubstr("Frobnicate of opset 21"));
}

TEST(OnnxImporter, WrongAttributesAreNamed) {
  EXPECT_THAT(ErrorOf({.nodes = {Node("Softmax", {"x"}, {"y"},
                                      {IntsAttribute("axis", {1})})}}),
              HasSubstr("attribute axis is of type ints, expected int"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Softmax", {"x"}, {"y"},
                                      {IntAttribute("axis", 7)})}}),
              HasSubstr("attribute axis 7 is outside of rank 2"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Relu", {"x"}, {"y"},
                                      {IntAttribute("slope", 7)})}}),
              HasSubstr("attribute slope is not one of the operator"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Concat", {"x", "x"}, {"y"})}}),
              HasSubstr("attribute axis is missing"));
}

TEST(OnnxImporter, BrokenGraphsAreRefused) {
  EXPECT_THAT(ErrorOf({.nodes = {Node("Add", {"x", "b"}, {"a"}),
                                 Node("Relu", {"a"}, {"b"})},
                       .output = "a"}),
              HasSubstr("depends on itself"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Add", {"x", "w"}, {"y"})}}),
              HasSubstr("input \"w\" is not an input, an initializer"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Relu", {"x"}, {"z"})}}),
              HasSubstr("output \"y\" is not produced"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Relu", {"x"}, {"y"}),
                                 Node("Abs", {"x"}, {"y"})}}),
              HasSubstr("produced more than once"));
  EXPECT_THAT(ErrorOf({.nodes = {Node("Relu", {"x", "x"}, {"y"})}}),
              HasSubstr("2 inputs, expected 1"));
}

Proto Ints(std::string_view name, std::vector<int64_t> values) {
  return Node("Constant", {}, {name}, {IntsAttribute("value_ints", values)});
}

// Shape arithmetic is folded, but only where the axes are right.
TEST(OnnxImporter, AxesOfShapeArithmeticCount) {
  const auto model = [](const Proto& last) {
    return ModelText{.nodes = {Ints("zero", {0}), Ints("one", {1}),
                               Ints("seven", {7}), Node("Shape", {"x"}, {"s"}),
                               Node("Gather", {"s", "zero"}, {"d"}), last},
                     .inputs = {TensorInput("x", {"N", "3"})}};
  };
  const auto unsqueezed =
      ImportText(model(Node("Unsqueeze", {"d", "zero"}, {"y"})));
  ASSERT_TRUE(unsqueezed.ok()) << unsqueezed.status();
  EXPECT_EQ(unsqueezed->shape(unsqueezed->outputs()[0].value),
            Shape(Dims{Dim(1), Dim(1)}));
  for (const Proto& wrong :
       {Node("Squeeze", {"d", "one"}, {"y"}),
        Node("Unsqueeze", {"d", "seven"}, {"y"}),
        Node("Slice", {"s", "zero", "one", "one"}, {"y"}),
        Node("Concat", {"d", "d"}, {"y"}, {IntAttribute("axis", 1)})}) {
    const auto graph = ImportText(model(wrong));
    EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(graph.status()), HasSubstr("ax"));
  }
}

// Bodies say of what types their inputs are.
TEST(OnnxImporter, InputsOfBodiesAreAsDeclared) {
  Proto body;
  body.Sub(1, Node("Identity", {"go"}, {"on"})).Bytes(2, "body");
  body.Sub(11, TensorInput("i", {}, kInt64));
  body.Sub(11, TensorInput("go", {}, kBool));
  body.Sub(11, TensorInput("v", {"2", "3", "4"}));
  for (const char* output : {"on", "v"}) {
    body.Sub(12, Proto().Bytes(1, output));
  }
  EXPECT_THAT(
      ErrorOf({.nodes = {Node(
                   "Loop", {"", "", "x"}, {"y"},
                   {Proto().Bytes(1, "body").Sub(6, body).Int(20, 5)})}}),
      HasSubstr("(Loop): a subgraph's input: value \"v\" is declared "
                "[2,3,4] but is f32[2,3]"));
}

TEST(OnnxImporter, NodesOutOfOrderAreNamed) {
  EXPECT_THAT(
      ErrorOf(
          {.nodes = {Node("Relu", {"a"}, {"y"}), Node("Abs", {"x"}, {"a"})}}),
      HasSubstr("\"Relu_node\" (Relu) comes before a node that it reads"));
}

TEST(OnnxImporter, AnnouncedSizesAreNotBelieved) {
  // 2 GiB of floats announced, four bytes there.
  const Proto tensor = Proto()
                           .Int(1, uint64_t{1} << 29)
                           .Int(2, 1)
                           .Bytes(8, "w")
                           .Bytes(9, "abcd");
  EXPECT_THAT(ErrorOf({.nodes = {Node("Add", {"x", "w"}, {"y"})},
                       .initializers = {tensor}}),
              HasSubstr("has 2147483648 bytes, not 4"));
  const Proto negative =
      Proto().Int(1, static_cast<uint64_t>(-4)).Int(2, 1).Bytes(8, "w");
  EXPECT_THAT(ErrorOf({.nodes = {Node("Add", {"x", "w"}, {"y"})},
                       .initializers = {negative}}),
              HasSubstr("invalid dims [-4]"));
}

// What a small file can announce in ways other than sizes of tensors.
TEST(OnnxImporter, FoldingIsBounded) {
  const auto int64s = [](std::string_view name, std::vector<int64_t> values) {
    std::string bytes;
    for (const int64_t value : values) {
      for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i);
    }
    return Proto()
        .Int(1, values.size())
        .Int(2, 7)
        .Bytes(8, name)
        .Bytes(9, bytes);
  };
  for (const char* op : {"ConstantOfShape", "Expand", "Tile"}) {
    std::vector<std::string_view> inputs = {"v", "n"};
    if (std::string_view(op) == "ConstantOfShape") inputs = {"n"};
    const auto begin = std::chrono::steady_clock::now();
    const auto graph = ImportText(
        {.nodes = {Node(op, inputs, {"a"}), Node("ReduceSum", {"a"}, {"y"})},
         .initializers = {int64s("n", {int64_t{1} << 40}), int64s("v", {3})}});
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 5) << op;
  }
}

TEST(OnnxImporter, EveryTruncationIsAnErrorOrAModel) {
  Proto graph;
  graph.Sub(1, Node("Softmax", {"x"}, {"y"}, {IntAttribute("axis", 1)}));
  graph.Sub(11, TensorInput("x", {"2", "3"})).Sub(12, Proto().Bytes(1, "y"));
  const std::string bytes = Proto()
                                .Int(1, 8)
                                .Sub(8, Proto().Bytes(1, "").Int(2, 13))
                                .Sub(7, graph)
                                .bytes();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    auto part = std::make_shared<const std::string>(bytes.substr(0, size));
    const auto result = Import(std::as_bytes(std::span(*part)), part, {}, {});
    EXPECT_EQ(result.ok(), size == bytes.size()) << size;
  }
}

// Of a file whose graph is `graph`.
std::string ErrorOfGraph(const Proto& graph, std::string* bytes) {
  *bytes = Proto()
               .Int(1, 8)
               .Sub(8, Proto().Bytes(1, "").Int(2, 13))
               .Sub(7, graph)
               .bytes();
  auto owner = std::make_shared<const std::string>(*bytes);
  const auto result = Import(std::as_bytes(std::span(*owner)), owner, {}, {});
  return result.ok() ? "no error" : encore::Message(result.status());
}

TEST(OnnxImporter, BrokenFieldsAreNamedWithTheirByte) {
  const Proto good = Proto().Bytes(1, "x").Bytes(2, "y").Bytes(4, "Relu");
  std::string bytes;
  const std::string of_node = ErrorOfGraph(
      Proto().Sub(1, good).Sub(1, Proto().Bytes(1, "y").Bytes(4, "\xff")),
      &bytes);
  EXPECT_EQ(of_node,
            StrCat("node #1: field 4: a string that is no UTF-8 (byte ",
                   bytes.find("\x22\x01\xff"), ")"));
  // The name comes after what is broken.
  const std::string of_type = ErrorOfGraph(
      Proto().Sub(12, Proto().Sub(2, Proto().Int(1, 77)).Bytes(1, "z")),
      &bytes);
  EXPECT_EQ(of_type,
            StrCat("output \"z\": field 1: wire type 0, expected 2 (byte ",
                   bytes.find("\x08\x4d"), ")"));
  const std::string of_tensor =
      ErrorOfGraph(Proto().Sub(5, Proto().Bytes(8, "\xff")), &bytes);
  EXPECT_EQ(of_tensor,
            StrCat("initializer \"\\xff\": field 8: a string that is "
                   "no UTF-8 (byte ",
                   bytes.find("\x42\x01\xff"), ")"));
}

TEST(OnnxImporter, NodesWithoutNamesHaveTitles) {
  const Proto good = Proto().Bytes(1, "x").Bytes(2, "z").Bytes(4, "Relu");
  EXPECT_THAT(ErrorOf({.nodes = {good, Proto().Bytes(2, "").Bytes(2, "y").Bytes(
                                           4, "Frobnicate")}}),
              HasSubstr("node \"y\" (Frobnicate): "));
  EXPECT_THAT(ErrorOf({.nodes = {good, Proto().Bytes(4, "Frobnicate")}}),
              HasSubstr("node #1 (Frobnicate): "));
}

TEST(OnnxImporter, SymbolicDimsAreSymbolsUnlessBound) {
  const ModelText text = {.nodes = {Node("Relu", {"x"}, {"y"})},
                          .inputs = {TensorInput("x", {"batch.size", "3"})}};
  const auto open = ImportText(text);
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->type(open->outputs()[0].value).ToString(open->symbols()),
            "f32[batch_size,3]");
  ImportOptions bound;
  bound.bindings["batch_size"] = 5;
  const auto by_name = ImportText(text, bound);
  ASSERT_TRUE(by_name.ok()) << by_name.status();
  EXPECT_EQ(by_name->type(by_name->outputs()[0].value).ToString(), "f32[5,3]");
  ImportOptions shaped;
  shaped.input_shapes["x"] = {7, 4};
  EXPECT_THAT(ErrorOf(text, shaped), HasSubstr("dim 1 is 3, not 4"));
  shaped.input_shapes = {{"z", {1}}};
  EXPECT_THAT(ErrorOf(text, shaped), HasSubstr("no input \"z\""));
  ImportOptions positional;
  positional.positional_shapes = {std::vector<int64_t>{8, 3},
                                  std::vector<int64_t>{1}};
  const auto by_position = ImportText(text, positional);
  ASSERT_TRUE(by_position.ok()) << by_position.status();
  EXPECT_EQ(by_position->type(by_position->outputs()[0].value).ToString(),
            "f32[8,3]");
  bound.bindings["batch"] = 5;
  EXPECT_THAT(ErrorOf(text, bound),
              HasSubstr("no symbolic dim \"batch\"; it has batch_size"));
}

// What older opsets said with attributes comes out as the newest opset's inputs
// do.
TEST(OnnxImporter, OldFormsAreUpgraded) {
  const auto type_of = [](const ModelText& text) {
    const auto graph = ImportText(text);
    return graph.ok() ? graph->type(graph->outputs()[0].value).ToString()
                      : encore::Message(graph.status());
  };
  EXPECT_EQ(type_of({.nodes = {Node("Unsqueeze", {"x"}, {"y"},
                                    {IntsAttribute("axes", {0})})},
                     .opset = 11}),
            "f32[1,2,3]");
  EXPECT_EQ(type_of({.nodes = {Node("ReduceSum", {"x"}, {"y"},
                                    {IntsAttribute("axes", {1})})},
                     .opset = 11}),
            "f32[2,1]");
  EXPECT_EQ(type_of({.nodes = {Node("Slice", {"x"}, {"y"},
                                    {IntsAttribute("starts", {1}),
                                     IntsAttribute("ends", {INT32_MAX}),
                                     IntsAttribute("axes", {1})})},
                     .opset = 9}),
            "f32[2,2]");
  EXPECT_EQ(type_of({.nodes = {Node("Reshape", {"x"}, {"y"},
                                    {IntsAttribute("shape", {3, -1})})},
                     .opset = 1}),
            "f32[3,2]");
  // From opset 13 on axes are an input, and the attribute is unknown.
  EXPECT_THAT(type_of({.nodes = {Node("ReduceSum", {"x"}, {"y"},
                                      {IntsAttribute("axes", {1})})}}),
              HasSubstr("attribute axes is not one of the operator"));
}

// A weight whose value a converter read is a constant; one that it did not is
// not.
TEST(OnnxImporter, WeightsAreParametersUnlessRead) {
  const Proto weights =
      Proto().Int(1, 3).Int(2, 1).Bytes(8, "w").Bytes(9, std::string(12, '\0'));
  const auto graph = ImportText(
      {.nodes = {Node("Add", {"x", "w"}, {"y"})}, .initializers = {weights}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->arguments().size(), 2u);
  EXPECT_TRUE(graph->arguments()[1].is_parameter);
  EXPECT_TRUE(graph->arguments()[1].data.has_value());

  // Scales of a Resize are floats like weights, first used as a tensor, then
  // read.
  const Proto scales = Proto().Int(1, 2).Int(2, 1).Bytes(8, "s").Bytes(
      9, std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  const auto resized =
      ImportText({.nodes = {Node("Neg", {"s"}, {"n"}),
                            Node("Resize", {"x", "", "s"}, {"y"})},
                  .initializers = {scales}});
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ(resized->type(resized->outputs()[0].value).ToString(), "f32[2,6]");
  EXPECT_EQ(resized->arguments().size(), 1u);
}

// What decides a shape is computed from weights: they become constants, and the
// shape is known.
TEST(OnnxImporter, ShapesComputedFromWeightsAreKnown) {
  ModelText text;
  Proto weights = Proto().Int(1, 2).Int(2, kFloat).Bytes(8, "w");
  weights.Bytes(9, std::string("\0\0\x40\x40\0\0\0\x40", 8));  // 3, 2
  text.initializers = {weights};
  text.nodes = {
      Node("Ceil", {"w"}, {"whole"}),
      Node("Cast", {"whole"}, {"shape"}, {IntAttribute("to", kInt64)}),
      Node("Reshape", {"x", "shape"}, {"y"}),
  };
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->type(graph->outputs()[0].value).ToString(), "f32[3,2]");
  EXPECT_EQ(graph->arguments().size(), 1u);
}

// A branch that the extents given rule out is an error only when it is taken;
// with the model's own extents it is one of the model.
TEST(OnnxImporter, BranchesForOtherExtentsAreNoErrors) {
  const auto graph = [](std::string_view name, const Proto& node) {
    return GraphAttribute(name, {node}, {"out"});
  };
  ModelText text;
  text.inputs = {TensorInput("x", {"N", "3"}), TensorInput("y", {"2", "3"})};
  text.nodes = {
      Node("ReduceMax", {"x"}, {"most"}, {IntAttribute("keepdims", 0)}),
      Node("Cast", {"most"}, {"choice"}, {IntAttribute("to", 9)}),
      Node("If", {"choice"}, {"z"},
           {graph("then_branch", Node("Add", {"x", "y"}, {"out"})),
            graph("else_branch", Node("Sin", {"y"}, {"out"}))})};
  text.output = "z";
  ImportOptions fits, other, bound;
  fits.input_shapes = {{"x", {2, 3}}};
  other.input_shapes = {{"x", {5, 3}}};
  bound.bindings = {{"N", 5}};
  for (const ImportOptions& options : {fits, other, bound}) {
    EXPECT_EQ(ErrorOf(text, options), "no error");
  }
  text.inputs[0] = TensorInput("x", {"5", "3"});
  EXPECT_THAT(ErrorOf(text, other), HasSubstr("Add_node"));
  // What no extents mend.
  text.inputs[0] = TensorInput("x", {"N", "3"});
  text.nodes[2] = Node("If", {"choice"}, {"z"},
                       {graph("then_branch", Node("Nonsense", {"x"}, {"out"})),
                        graph("else_branch", Node("Sin", {"y"}, {"out"}))});
  EXPECT_THAT(ErrorOf(text, bound), HasSubstr("Nonsense"));
}

TEST(OnnxImporter, SubgraphsTakeWhatTheirNodeGives) {
  const ModelText text{
      .nodes = {Node(
          "If", {"choice"}, {"y"},
          {GraphAttribute("then_branch", {Node("Neg", {"q"}, {"a"})}, {"a"},
                          {"q"}),
           GraphAttribute("else_branch", {Node("Neg", {"x"}, {"b"})}, {"b"})})},
      .initializers = {
          Proto().Int(2, 9).Bytes(8, "choice").Bytes(9, {"\1", 1})}};
  EXPECT_THAT(ErrorOf(text), HasSubstr("a subgraph has 1 inputs, expected 0"));
}

// An attribute that is a branch of two nodes: what it declares of the value
// between them is false.
Proto WronglyDeclaredBranch(std::string_view name, const Proto& second) {
  Proto graph;
  graph.Sub(1, Node("Neg", {"x"}, {"w"}))
      .Sub(1, second)
      .Bytes(2, "body")
      .Sub(12, Proto().Bytes(1, "z"))
      .Sub(13, TensorInput("w", {"1", "2", "3"}));
  return Proto().Bytes(1, name).Sub(6, graph).Int(20, 5);
}

// A branch may be for inputs of other extents than those given, and is then
// never taken; unless nothing is given.
TEST(OnnxImporter, DeclarationsOfBranchesForOtherExtents) {
  ModelText text;
  text.inputs = {TensorInput("x", {"N", "3"}), TensorInput("c", {}, kBool)};
  text.nodes = {
      Node("If", {"c"}, {"y"},
           {GraphAttribute("then_branch", {Node("Abs", {"x"}, {"t"})}, {"t"}),
            WronglyDeclaredBranch("else_branch", Node("Neg", {"w"}, {"z"}))})};
  ImportOptions options;
  options.strict = true;
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("is declared [1,2,3]"));
  options.input_shapes["x"] = {2, 3};
  EXPECT_EQ(ErrorOf(text, options), "no error");
}

// Of a branch that is taken out nothing is said.
TEST(OnnxImporter, WarningsOfWhatIsNotImportedAreDropped) {
  ModelText text;
  text.inputs = {TensorInput("x", {"N", "3"}), TensorInput("c", {}, kBool)};
  std::vector<std::string> warnings;
  ImportOptions options;
  options.warnings = &warnings;
  options.input_shapes["x"] = {2, 3};
  const auto warnings_with = [&](const Proto& second) {
    warnings.clear();
    text.nodes = {
        Node("If", {"c"}, {"y"},
             {GraphAttribute("then_branch", {Node("Abs", {"x"}, {"t"})}, {"t"}),
              WronglyDeclaredBranch("else_branch", second)})};
    EXPECT_EQ(ErrorOf(text, options), "no error");
    return warnings.size();
  };
  EXPECT_EQ(warnings_with(Node("Neg", {"w"}, {"z"})), 1u);
  EXPECT_EQ(warnings_with(Node("MatMul", {"w", "w"}, {"z"})), 0u);
}

// What a model declares of the shapes of values and outputs is a hint; of their
// dtypes, and of inputs, it counts.
TEST(OnnxImporter, DeclaredShapesAreHints) {
  ModelText text;
  text.nodes = {Node("Abs", {"x"}, {"w"}), Node("Neg", {"w"}, {"y"})};
  text.output_type = TensorInput("y", {"3", "2"});
  text.values = {TensorInput("w", {"6"})};
  std::vector<std::string> warnings;
  ImportOptions options;
  options.warnings = &warnings;
  const auto graph = ImportText(text, options);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->shape(graph->outputs()[0].value), Shape({2, 3}));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], HasSubstr("node \"Abs_node\" (Abs): value \"w\" is "
                                     "declared [6] but is f32[2,3]"));
  EXPECT_THAT(warnings[1], HasSubstr("\"y\" is declared [3,2] but is"));
  options.strict = true;
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("\"w\" is declared [6]"));
  options.strict = false;
  text.values = {TensorInput("w", {"2", "3"}, kInt64)};
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("\"w\" is declared i64"));
}

}  // namespace
}  // namespace encore::onnx
