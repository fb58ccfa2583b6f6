// What exporters and optimizers write beside the standard, and loops whose
// bodies need their trip's number.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> WarningsOf(const ModelText& text) {
  std::vector<std::string> warnings;
  ImportOptions options;
  options.warnings = &warnings;
  EXPECT_EQ(ErrorOf(text, options), "no error");
  return warnings;
}

std::string StrictErrorOf(const ModelText& text) {
  ImportOptions options;
  options.strict = true;
  return ErrorOf(text, options);
}

// ONNX Runtime's optimizer of transformers does not name the domain of the
// operators that it fuses to.
TEST(OnnxExporters, DomainOfOnnxRuntimeNeedsNoImport) {
  ModelText text;
  text.nodes = {Node("QuickGelu", {"x"}, {"z"}).Bytes(7, "com.microsoft"),
                Node("Gelu", {"z"}, {"y"}).Bytes(7, "com.microsoft")};
  EXPECT_THAT(WarningsOf(text),
              ElementsAre("opset_import does not name the domain "
                          "com.microsoft"));
  EXPECT_THAT(StrictErrorOf(text),
              HasSubstr("\"QuickGelu_node\" (QuickGelu): opset_import does not "
                        "name the domain com.microsoft"));
  text.nodes = {Node("Scaler", {"x"}, {"y"}).Bytes(7, "ai.onnx.ml")};
  EXPECT_THAT(ErrorOf(text), HasSubstr("does not name the domain ai.onnx.ml"));
}

// Of opset 11 roi and scales of Resize are no optional inputs, and exporters
// leave them out all the same.
TEST(OnnxExporters, InputsThatLaterOpsetsMakeOptional) {
  ModelText text;
  text.opset = 11;
  text.nodes = {Node("Shape", {"x"}, {"sizes"}),
                Node("Resize", {"x", "", "", "sizes"}, {"y"})};
  EXPECT_THAT(
      WarningsOf(text),
      ElementsAre("input 1 (roi) of Resize is left out, which later opsets "
                  "allow",
                  "input 2 (scales) of Resize is left out, which later opsets "
                  "allow"));
  EXPECT_THAT(StrictErrorOf(text), HasSubstr("input 1 (roi) of Resize"));
  text.nodes[1] = Node("Resize", {"", "", "", "sizes"}, {"y"});
  EXPECT_THAT(ErrorOf(text), HasSubstr("input 0 (X) is left out"));
}

TEST(OnnxExporters, ResizeOfACropNeedsIt) {
  for (const int opset : {11, 13, 18}) {
    ModelText text;
    text.opset = opset;
    text.nodes = {Node("Shape", {"x"}, {"sizes"}),
                  Node("Resize", {"x", "", "", "sizes"}, {"y"},
                       {StringAttribute("coordinate_transformation_mode",
                                        "tf_crop_and_resize")})};
    EXPECT_THAT(ErrorOf(text), HasSubstr("input roi is not given"));
  }
}

// It fuses models of opsets that do not have LayerNormalization to it.
TEST(OnnxExporters, LayerNormalizationIsInEveryOpset) {
  ModelText text;
  text.inputs.push_back(TensorInput("scale", {"3"}));
  text.nodes = {Node("LayerNormalization", {"x", "scale"}, {"y"})};
  text.opset = 14;
  EXPECT_THAT(WarningsOf(text),
              ElementsAre("LayerNormalization begins with opset 17, and the "
                          "model is of opset 14"));
  EXPECT_THAT(StrictErrorOf(text), HasSubstr("begins with opset 17"));
  text.opset = 17;
  EXPECT_THAT(WarningsOf(text), IsEmpty());
  text.nodes = {Node("GroupNormalization", {"x", "scale", "scale"}, {"y"})};
  EXPECT_THAT(ErrorOf(text), HasSubstr("begins with opset 18"));
}

Proto Int64s(std::string_view name, const std::vector<int64_t>& dims,
             const std::vector<int64_t>& values) {
  Proto tensor;
  for (const int64_t dim : dims) tensor.Int(1, dim);
  tensor.Int(2, kInt64);
  for (const int64_t value : values) tensor.Int(7, value);
  return tensor.Bytes(8, name);
}

// As torch's exporter writes an embedding bag: a loop as long as the trip's
// number is below `limit`, whose body takes rows offsets[i] to offsets[i + 1]
// of x, i modulo 2.
ModelText Bags(std::string_view limit) {
  ModelText text;
  text.inputs = {TensorInput("x", {"4", "2"})};
  text.initializers = {Int64s("offsets", {3}, {0, 1, 4}),
                       Int64s("zero", {1}, {0}), Int64s("one", {1}, {1}),
                       Int64s("two", {1}, {2}), Int64s("shape", {0}, {})};
  const std::vector<Proto> body = {
      Node("Add", {"i", "one"}, {"next"}),
      Node("Mod", {"i", "two"}, {"at"}),
      Node("Add", {"at", "one"}, {"then"}),
      Node("Slice", {"offsets", "at", "then"}, {"start"}),
      Node("Add", {"then", "one"}, {"after"}),
      Node("Slice", {"offsets", "then", "after"}, {"end"}),
      Node("Slice", {"x", "start", "end"}, {"rows"}),
      Node("ReduceSum", {"rows", "zero"}, {"sum"},
           {IntAttribute("keepdims", 1)}),
      Node("Concat", {"bags", "sum"}, {"more"}, {IntAttribute("axis", 0)}),
      Node("Less", {"next", limit}, {"below"}),
      Node("Reshape", {"below", "shape"}, {"going"})};
  text.nodes = {Node("Slice", {"x", "zero", "zero"}, {"none"}),
                Node("Loop", {"", "", "zero", "none"}, {"last", "y"},
                     {GraphAttribute("body", body, {"going", "next", "more"},
                                     {"trip", "condition", "i", "bags"})})};
  return text;
}

TEST(OnnxExporters, LoopWhoseConditionIsKnownTripByTrip) {
  const auto graph = ImportText(Bags("two"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal x =
      Literal::FromValues<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto results = Evaluate(*graph, {&x, 1});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0], Literal::FromValues<float>({2, 2}, {1, 2, 15, 18}));
}

// Without an end it stays a loop, which says what it needs to know.
TEST(OnnxExporters, LoopWhoseConditionStaysTrueIsNotUnrolledForever) {
  ModelText text = Bags("far");
  text.initializers.push_back(Int64s("far", {1}, {int64_t{1} << 40}));
  EXPECT_THAT(ErrorOf(text), HasSubstr("must be known when the model is"));
}

}  // namespace
}  // namespace encore::onnx
