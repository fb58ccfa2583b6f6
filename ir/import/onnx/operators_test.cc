// Operators of which ONNX's own tests lack a case: values computed by hand, by
// PyTorch or by ONNX Runtime, as is said.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

struct Operand {
  std::vector<int64_t> dims;
  std::vector<float> values;
  int type = kFloat;  // as TensorProto numbers it
};

Proto FloatAttribute(std::string_view name, float value) {
  return Proto().Bytes(1, name).Float(2, value).Int(20, 1);
}

// What output `y` of a model of one node is, as floats.
std::vector<double> Compute(std::string_view op, int opset,
                            const std::vector<Operand>& operands,
                            const std::vector<Proto>& attributes = {},
                            std::vector<std::string_view> outputs = {"y"}) {
  constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e"};
  ModelText text;
  text.opset = opset;
  text.inputs.clear();
  std::vector<std::string_view> inputs;
  std::vector<Literal> arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<std::string> dims;
    for (const int64_t dim : operands[i].dims) dims.push_back(StrCat(dim));
    text.inputs.push_back(TensorInput(kNames[i], dims, operands[i].type));
    inputs.push_back(kNames[i]);
    arguments.emplace_back(*DTypeOf(operands[i].type), operands[i].dims);
    for (size_t k = 0; k < operands[i].values.size(); ++k) {
      arguments[i].SetDouble(static_cast<int64_t>(k), operands[i].values[k]);
    }
  }
  text.nodes = {Node(op, inputs, std::move(outputs), attributes)};
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const auto results = Evaluate(*graph, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  std::vector<double> y;
  for (int64_t i = 0; i < (*results)[0].element_count(); ++i) {
    y.push_back((*results)[0].AsDouble(i));
  }
  return y;
}

TEST(Operators, LpNormalization) {
  const Operand x{{2, 2}, {3, -4, 0, 0}};
  EXPECT_THAT(Compute("LpNormalization", 1, {x}),
              Pointwise(FloatNear(1e-6), {0.6, -0.8, 0.0, 0.0}));
  EXPECT_THAT(Compute("LpNormalization", 21, {x},
                      {IntAttribute("p", 1), IntAttribute("axis", 0)}),
              Pointwise(FloatNear(1e-6), {1.0, -1.0, 0.0, 0.0}));
}

// ONNX's test of opset 10: what becomes smaller is rounded up.
TEST(Operators, ResizeOfOpset10) {
  EXPECT_THAT(
      Compute("Resize", 10,
              {{{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}, {{2}, {0.6f, 0.6f}}}),
      ElementsAre(1, 3));
  EXPECT_THAT(Compute("Resize", 10, {{{1, 2}, {1, 2}}, {{2}, {1, 1.5f}}}),
              ElementsAre(1, 1, 2));
}

// torch.nn.functional.grid_sample(x, grid, 'bicubic', 'border').
TEST(Operators, CubicGridSampleTakesTapsToTheBorder) {
  const Operand x{{1, 1, 3, 3}, {1, 2, 4, 3, -1, 2, 0, 5, -2}};
  const Operand grid{{1, 1, 2, 2}, {0.9f, -0.5f, -1.2f, 1.1f}};
  EXPECT_THAT(Compute("GridSample", 16, {x, grid},
                      {StringAttribute("mode", "bicubic"),
                       StringAttribute("padding_mode", "border")}),
              Pointwise(FloatNear(1e-5), {3.973430, -0.312056}));
}

// Statistics of each activation: (x - mean) / sqrt(variance) * scale + bias.
TEST(Operators, BatchNormalizationOfOpset7) {
  EXPECT_THAT(
      Compute("BatchNormalization", 7,
              {{{2, 1, 2}, {1, 2, 3, 4}},
               {{1, 2}, {2, 1}},
               {{1, 2}, {0, 10}},
               {{1, 2}, {1, 0}},
               {{1, 2}, {4, 1}}},
              {IntAttribute("spatial", 0), FloatAttribute("epsilon", 0)}),
      ElementsAre(0, 12, 2, 14));
}

TEST(Operators, NGramsOfStrings) {
  ModelText text;
  text.inputs = {TensorInput("x", {"2", "4"}, 8)};
  Proto pool;
  pool.Bytes(1, "pool_strings");
  for (const char* item : {"b", "a", "a", "b"}) pool.Bytes(9, item);
  text.nodes = {Node(
      "TfIdfVectorizer", {"x"}, {"y"},
      {pool.Int(20, 8), StringAttribute("mode", "TF"),
       IntsAttribute("ngram_counts", {0, 2}),
       IntsAttribute("ngram_indexes", {1, 0, 2}),
       IntAttribute("min_gram_length", 1), IntAttribute("max_gram_length", 2),
       IntAttribute("max_skip_count", 1)})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<Literal> arguments = {
      Literal::Strings({2, 4}, {"a", "b", "a", "c", "", "a", "aa", "b"})};
  const auto results = Evaluate(*graph, arguments);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0], Literal::FromValues<float>(
                               {2, 3}, std::vector<float>{2, 1, 1, 1, 1, 1}));
}

TEST(Operators, DynamicQuantizeLinearOfZeros) {
  EXPECT_THAT(Compute("DynamicQuantizeLinear", 11, {{{2}, {0, 0}}}, {},
                      {"q", "y", "zero"}),
              ElementsAre(1));
}

constexpr int kInt32 = 6, kString = 8, kFloat16 = 10, kDouble = 11;

// Numbers that were attributes are of the tensor's type.
TEST(Operators, OldAttributesOfOtherFloats) {
  for (const int type : {kFloat, kFloat16, kDouble}) {
    const Operand x{{3}, {-1, 0.25f, 2}, type};
    EXPECT_THAT(Compute("Clip", 6, {x},
                        {FloatAttribute("min", 0), FloatAttribute("max", 1)}),
                ElementsAre(0, 0.25, 1));
    EXPECT_THAT(
        Compute("Pad", 2, {x},
                {IntsAttribute("pads", {1, 0}), FloatAttribute("value", 0.5f)}),
        ElementsAre(0.5, -1, 0.25, 2));
  }
}

TEST(Operators, OfIntegersWhatIsDefinedByFloats) {
  const Operand x{{2, 2}, {1, 3, 20, 7}, kInt32};
  EXPECT_THAT(Compute("Erf", 13, {x}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Compute("ReduceLogSum", 13, {x}, {IntsAttribute("axes", {1})}),
              ElementsAre(1, 3));
  EXPECT_THAT(Compute("ReduceLogSumExp", 13, {x}, {IntsAttribute("axes", {1})}),
              ElementsAre(3, 20));
  EXPECT_THAT(Compute("QuantizeLinear", 13, {x, {{}, {2}}}),
              ElementsAre(0, 2, 10, 4));
  EXPECT_THAT(Compute("Resize", 11,
                      {{{1, 2}, {0, 10}, kInt32}, {{0}, {}}, {{2}, {1, 2}}},
                      {StringAttribute("mode", "linear")}),
              ElementsAre(0, 2, 8, 10));
}

// The standard clamps a start to the axis, an end to one before it: whichever
// of the numbers and of the extents are known, and of no elements nothing is
// taken.
TEST(Operators, SliceBackwardFromBeforeTheFirst) {
  for (const int64_t extent : {3, 0}) {
    for (int known = 0; known < 16; ++known) {
      ModelText text;
      const std::string dim = (known & 8) != 0 ? StrCat(extent) : "N";
      text.inputs = {TensorInput("x", {dim})};
      Literal x(DType::kF32, {extent});
      for (int64_t i = 0; i < extent; ++i) {
        x.SetDouble(i, static_cast<double>(i + 1));
      }
      std::vector<Literal> arguments = {std::move(x)};
      const auto number = [&](int bit, std::string_view name, int64_t value) {
        if ((known & bit) != 0) {
          text.nodes.push_back(Node("Constant", {}, {name},
                                    {IntsAttribute("value_ints", {value})}));
          return;
        }
        text.inputs.push_back(TensorInput(name, {"1"}, kInt64));
        arguments.push_back(Literal::Vector<int64_t>(std::vector{value}));
      };
      number(1, "start", -7);
      number(2, "end", INT64_MIN);
      number(4, "step", -2);
      text.nodes.push_back(
          Node("Constant", {}, {"axis"}, {IntsAttribute("value_ints", {0})}));
      text.nodes.push_back(
          Node("Slice", {"x", "start", "end", "axis", "step"}, {"y"}));
      const auto graph = ImportText(text);
      ASSERT_TRUE(graph.ok()) << graph.status();
      const auto results = Evaluate(*graph, arguments);
      ASSERT_TRUE(results.ok()) << results.status();
      EXPECT_EQ((*results)[0],
                Literal::Vector<float>(extent == 0 ? std::vector<float>{}
                                                   : std::vector<float>{1}))
          << known;
    }
  }
}

// f16 has not all integers of 16 bits; 65535 is infinite there.
TEST(Operators, QuantizedTo16BitsFromFloatsOf16Bits) {
  constexpr int kUint16 = 4;
  const Operand scale{{}, {0.25f}, kFloat16}, zero{{}, {38026}, kUint16};
  EXPECT_THAT(Compute("QuantizeLinear", 21,
                      {{{2}, {-13.5f, 0.25f}, kFloat16}, scale, zero}),
              ElementsAre(37972, 38027));
  EXPECT_THAT(Compute("DequantizeLinear", 21,
                      {{{2}, {37972, 38027}, kUint16}, scale, zero}),
              ElementsAre(-13.5, 0.25));
  EXPECT_THAT(Compute("DequantizeLinear", 21,
                      {{{1}, {65535}, kUint16}, scale, {{}, {0}, kUint16}}),
              ElementsAre(16384));
}

// As low as padding is, an element within the window is still the largest.
TEST(Operators, MaxPoolOfTheLowestNumbers) {
  constexpr int kUint8 = 2, kInt8 = 3;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [type, low] : {std::pair(kUint8, 0.0f),
                                  {kInt8, -128.0f},
                                  {kFloat, -infinity},
                                  {kFloat16, -infinity}}) {
    const Operand x{{1, 1, 2, 3}, {low, low, low, low, low, 7}, type};
    for (const int column_major : {0, 1}) {
      EXPECT_THAT(
          Compute("MaxPool", 12, {x},
                  {IntsAttribute("kernel_shape", {2, 2}),
                   IntsAttribute("strides", {2, 2}),
                   IntsAttribute("pads", {1, 1, 1, 1}),
                   IntAttribute("storage_order", column_major)},
                  {"value", "y"}),
          column_major == 1 ? ElementsAre(0, 2, 1, 5) : ElementsAre(0, 1, 3, 5))
          << type;
    }
  }
}

// What operators on strings have instead of 0 is nothing; those that order or
// count have none.
TEST(Operators, OfStrings) {
  ModelText text;
  text.inputs = {TensorInput("x", {"2"}, kString)};
  const auto error = [&](std::string_view op) {
    text.nodes = {Node(op, {"x"}, {"y"})};
    return ErrorOf(text);
  };
  EXPECT_THAT(error("NonZero"),
              HasSubstr("(NonZero): at NonZero_node: compare"));
  EXPECT_THAT(error("Unique"), HasSubstr("(Unique): at Unique_node: arg_sort"));
}

// onnxruntime 1.31: as many samples as a bin has elements.
TEST(Operators, RoiAlignWithSamplesByTheRegions) {
  const Operand x{{1, 1, 5, 5}, {0, 7,  3, 10, 6, 2, 9, 5, 1, 8, 4, 0, 7,
                                 3, 10, 6, 2,  9, 5, 1, 8, 4, 0, 7, 3}};
  const Operand rois{{2, 4}, {0, 0, 4.5f, 3, 1, 1, 1.5f, 4}};
  EXPECT_THAT(Compute("RoiAlign", 16, {x, rois, {{2}, {0, 0}, kInt64}},
                      {IntAttribute("output_height", 2),
                       IntAttribute("output_width", 1)}),
              Pointwise(FloatNear(1e-5), {4.92875, 4.400626, 5.171875, 2.5}));
}

// onnxruntime 1.31. The third region has no samples, the fourth none inside.
TEST(Operators, RoiAlignOfTheLargestSamplesByTheRegions) {
  const Operand x{{1, 1, 5, 5},
                  {-6, 1, -3, 4,  0, -4, 3,  -1, -5, 2,  -2, -6, 1,
                   -3, 4, 0,  -4, 3, -1, -5, 2,  -2, -6, 1,  -3}};
  const Operand rois{{4, 4},
                     {0, 0, 4.5f, 3, 1, 1, 1.5f, 4, 2, 2, 2, 2, -3, -3, -1, 4}};
  const auto compute = [&](std::string_view transformation) {
    return Compute(
        "RoiAlign", 16, {x, rois, {{4}, {0, 0, 0, 0}, kInt64}},
        {IntAttribute("output_height", 2), IntAttribute("output_width", 1),
         StringAttribute("mode", "max"),
         StringAttribute("coordinate_transformation_mode", transformation)});
  };
  EXPECT_THAT(compute("half_pixel"),
              Pointwise(FloatNear(1e-5),
                        {2.6, 1.925, 1.96875, 0.0625, 0., 0., 0., 0.}));
  EXPECT_THAT(compute("output_half_pixel"),
              Pointwise(FloatNear(1e-5),
                        {2.125, 3.5, 0.9375, 1.3125, 0.375, 1.125, 0., 0.}));
}

// onnxruntime 1.31.
TEST(Operators, MaxRoiPool) {
  const Operand x{{1, 1, 5, 5}, {0, 7,  3, 10, 6, 2, 9, 5, 1, 8, 4, 0, 7,
                                 3, 10, 6, 2,  9, 5, 1, 8, 4, 0, 7, 3}};
  const Operand rois{{2, 5}, {0, 0, 0, 4, 3, 0, 1.5f, 2, 2, 4}};
  EXPECT_THAT(Compute("MaxRoiPool", 1, {x, rois},
                      {IntsAttribute("pooled_shape", {2, 2})}),
              ElementsAre(9, 10, 9, 10, 9, 9, 9, 9));
}

// The message for a node of attributes alone that reads x [2, 3].
std::string Refusal(std::string_view op, int opset,
                    const std::vector<Proto>& attributes) {
  ModelText text;
  text.opset = opset;
  text.nodes = {Node(op, {"x"}, {"y"}, attributes)};
  return ErrorOf(text);
}

TEST(Operators, WhatMakesNoSenseIsRefusedByName) {
  for (const int64_t pad : {INT64_MAX, INT64_MIN, int64_t{1} << 50}) {
    for (const char* mode : {"reflect", "edge", "constant"}) {
      EXPECT_THAT(Refusal("Pad", 2,
                          {IntsAttribute("pads", {0, pad, 0, 0}),
                           StringAttribute("mode", mode)}),
                  HasSubstr("node \"Pad_node\" (Pad)"));
    }
  }
  EXPECT_THAT(Refusal("Transpose", 13, {IntsAttribute("perm", {0, -1})}),
              HasSubstr("attribute perm is [0,-1], expected each axis"));
  EXPECT_THAT(Refusal("Flatten", 9, {IntAttribute("axis", -1)}),
              HasSubstr("attribute axis is -1"));
}

TEST(Operators, ShapesAreVectors) {
  ModelText text;
  text.inputs = {TensorInput("x", {}, kInt64)};
  text.nodes = {Node("ConstantOfShape", {"x"}, {"y"})};
  EXPECT_THAT(ErrorOf(text), HasSubstr("input input is i64[], expected a"));
}

// What a declaration of an initializer breaks names who reads it; a body's
// values are of the dtype that it declares.
TEST(Operators, DeclarationsThatAreWrong) {
  ModelText text;
  text.inputs = {TensorInput("x", {"1"}), TensorInput("w", {"1"}, kInt64)};
  text.initializers = {
      Proto().Int(1, 1).Int(2, kFloat).Float(4, 1).Bytes(8, "w")};
  text.nodes = {Node("Add", {"x", "w"}, {"y"})};
  EXPECT_THAT(ErrorOf(text), HasSubstr("(Add): value \"w\" is declared i64 but "
                                       "is f32"));
}

}  // namespace
}  // namespace encore::onnx
