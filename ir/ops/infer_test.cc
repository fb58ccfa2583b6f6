// Each op's shape function: what it gives, symbolic extents, and what it
// refuses. The table of malformed nodes is in malformed_test.cc.
#include "encore/ir/ops/infer.h"

#include <gtest/gtest.h>

namespace encore {
namespace {

const Dim kN = Dim::OfSymbol(0);

std::string Infer(Op op, std::vector<TensorType> operands,
                  Attributes attributes = NoneAttrs()) {
  static const std::vector<Symbol> symbols = {{"N", 1, 64}};
  const auto types =
      InferTypes({op, attributes, operands, {}, std::span(symbols)});
  if (!types.ok()) return Message(types.status());
  std::string text;
  for (const TensorType& type : *types) text += type.ToString(symbols);
  return text;
}

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

TEST(InferTest, Elementwise) {
  EXPECT_EQ(Infer(Op::kAdd, {F32({kN, 3}), F32({kN, 3})}), "f32[N,3]");
  EXPECT_EQ(Infer(Op::kAdd, {F32({kN, 3}), F32({kN, 4})}),
            "add: operand 1 has the shape [N,4], expected [N,3]");
  EXPECT_EQ(Infer(Op::kCompare, {F32({2}), F32({2})}, CompareAttrs()),
            "bool[2]");
  EXPECT_EQ(Infer(Op::kSelect, {{DType::kBool, {2}}, F32({2}), F32({2})}),
            "f32[2]");
}

TEST(InferTest, SymbolicExtents) {
  EXPECT_EQ(Infer(Op::kConcat, {F32({kN, 2}), F32({kN * 2, 2})}, AxisAttrs{0}),
            "f32[3*N,2]");
  EXPECT_EQ(Infer(Op::kReshape, {F32({kN, 28, 28})}, ReshapeAttrs{{kN, 784}}),
            "f32[N,784]");
  EXPECT_EQ(Infer(Op::kReshape, {F32({kN, 4})}, ReshapeAttrs{{kN, 5}}),
            "reshape: attribute shape is [N,5], expected 4*N elements as in "
            "[N,4]");
  EXPECT_EQ(Infer(Op::kMaxPool, {F32({1, 8, kN * 2})},
                  PoolAttrs{{2}, {2}, {0}, {0}, {1}, false}),
            "f32[1,8,N]");
  EXPECT_EQ(Infer(Op::kSlice, {F32({kN})}, SliceAttrs{{1}, {kN}, {2}}),
            "f32[floor_div(N - 2, 2) + 1]");
  EXPECT_EQ(Infer(Op::kSlice, {F32({kN})}, SliceAttrs{{0}, {65}, {1}}),
            "slice: dim 0 from 0 to 65, expected a range in [0, N]");
}

TEST(InferTest, Convolution) {
  ConvolutionAttrs attrs{{2, 2}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 1, 1};
  EXPECT_EQ(Infer(Op::kConvolution,
                  {F32({kN, 3, 224, 224}), F32({64, 3, 7, 7})}, attrs),
            "f32[N,64,112,112]");
  attrs.strides = {2};
  EXPECT_EQ(Infer(Op::kConvolution,
                  {F32({kN, 3, 224, 224}), F32({64, 3, 7, 7})}, attrs),
            "convolution: attribute strides has 1 entries, expected 2");
}

TEST(InferTest, Gather) {
  // Rows of a table.
  const GatherAttrs rows{{1}, {0}, {}, {}, {0}, 1, {1, 8}};
  EXPECT_EQ(Infer(Op::kGather, {F32({100, 8}), {DType::kI64, {kN}}}, rows),
            "f32[N,8]");
  GatherAttrs drops = rows;
  drops.out_of_range = OutOfRange::kDrop;
  EXPECT_EQ(Infer(Op::kGather, {F32({100, 8}), {DType::kI64, {kN}}}, drops),
            "gather: attribute out_of_range is drop, expected clamp or error");
  ScatterAttrs clamps;
  clamps.out_of_range = OutOfRange::kClamp;
  EXPECT_EQ(
      Infer(Op::kScatter, {F32({4}), {DType::kI64, {0}}, F32({4})}, clamps),
      "scatter: attribute out_of_range is clamp, expected drop or error");
}

TEST(InferTest, DimsOfOtherGraphsAreRefused) {
  EXPECT_EQ(Infer(Op::kReshape, {F32({4})}, ReshapeAttrs{{Dim::OfSymbol(7)}}),
            "reshape: attribute shape has the dim s7, expected one over the "
            "graph's 1 symbols");
}

}  // namespace
}  // namespace encore
