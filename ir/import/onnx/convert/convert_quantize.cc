// Quantized operators. Products and sums are exact in i32; scales are applied
// in f32 (or in the scale's dtype).

#include <algorithm>
#include <optional>
#include <string_view>

#include "encore/ir/import/onnx/convert/quantization.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/window.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

struct Axis {
  int64_t axis = 0, block = 0;
};

StatusOr<Axis> ReadAxis(NodeContext& context, int rank) {
  Axis axis;
  ENCORE_ASSIGN_OR_RETURN(axis.axis, context.attributes().Int("axis", 1));
  ENCORE_ASSIGN_OR_RETURN(axis.block,
                          context.attributes().Int("block_size", 0));
  if (axis.axis < 0) axis.axis += rank;
  if (axis.block < 0 || axis.block > INT32_MAX) {
    return NodeContext::Error(StrCat("attribute block_size is ", axis.block));
  }
  return axis;
}

// The dtype that an attribute names; nothing where it is absent or 0.
StatusOr<std::optional<DType>> NamedDType(NodeContext& context,
                                          std::string_view attribute) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t number,
                          context.attributes().Int(attribute, 0));
  if (number == 0) return std::optional<DType>();
  const StatusOr<DType> dtype =
      DTypeOf(static_cast<int32_t>(std::clamp<int64_t>(number, 0, INT16_MAX)));
  if (!dtype.ok()) {
    return Annotate(dtype.status(), StrCat("attribute ", attribute));
  }
  return std::optional(*dtype);
}

// The same of an attribute that names a dtype of floats.
StatusOr<std::optional<DType>> NamedFloat(NodeContext& context,
                                          std::string_view attribute) {
  ENCORE_ASSIGN_OR_RETURN(const std::optional<DType> dtype,
                          NamedDType(context, attribute));
  if (dtype && !IsFloat(*dtype)) {
    return NodeContext::Error(StrCat("attribute ", attribute, " is ", *dtype,
                                     ", expected a type of floats"));
  }
  return dtype;
}

Status QuantizeLinear(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Axis axis, ReadAxis(context, x.rank()));
  ENCORE_ASSIGN_OR_RETURN(const std::optional<DType> wanted,
                          NamedDType(context, "output_dtype"));
  ENCORE_ASSIGN_OR_RETURN(const std::optional<DType> precision,
                          NamedFloat(context, "precision"));
  ENCORE_ASSIGN_OR_RETURN(const bool saturates,
                          context.attributes().Bool("saturate", true));
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(
      Value scale,
      SpreadParameter(context, context.Input(1), shape, axis.axis, axis.block));
  DType dtype = wanted.value_or(DType::kU8);
  Value zero_point;
  if (context.HasInput(2)) {
    dtype = context.dtype(context.Input(2));
    ENCORE_ASSIGN_OR_RETURN(
        zero_point, SpreadParameter(context, context.Input(2), shape, axis.axis,
                                    axis.block));
  }
  if (IsInteger(scale.dtype())) scale = g.Cast(scale, DType::kF32);
  if (precision && *precision != scale.dtype()) {
    scale = g.Cast(scale, *precision);
  }
  if (x.dtype() != scale.dtype()) x = g.Cast(x, scale.dtype());
  return context.Output(
      0, Quantized(g, g.Div(x, scale), zero_point, dtype, saturates));
}

Status DequantizeLinear(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Axis axis, ReadAxis(context, x.rank()));
  ENCORE_ASSIGN_OR_RETURN(const std::optional<DType> wanted,
                          NamedFloat(context, "output_dtype"));
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(
      Value scale,
      SpreadParameter(context, context.Input(1), shape, axis.axis, axis.block));
  if (wanted && *wanted != scale.dtype()) scale = g.Cast(scale, *wanted);
  const bool integers = IsInteger(x.dtype());
  const DType dtype = scale.dtype();
  // Floats of 16 bits do not have all differences of wide integers, nor even
  // infinity in the place of what the scale makes small.
  if (integers && BitWidth(x.dtype()) > 8 && BitWidth(dtype) <= 16) {
    scale = g.Cast(scale, DType::kF32);
  }
  if (context.HasInput(2) && integers) {
    ENCORE_ASSIGN_OR_RETURN(const Value zero_point,
                            SpreadParameter(context, context.Input(2), shape,
                                            axis.axis, axis.block));
    x = g.Sub(g.Cast(x, DType::kI32), g.Cast(zero_point, DType::kI32));
  }
  return context.Output(0,
                        g.Cast(g.Mul(g.Cast(x, scale.dtype()), scale), dtype));
}

// To u8, with a scale and a zero point from the data.
Status DynamicQuantizeLinear(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  const DynamicRange range = RangeOf(g, x);
  const Value y =
      Quantized(g, g.Div(x, range.scale), range.zero_point, DType::kU8);
  ENCORE_RETURN_IF_ERROR(context.Output(0, y));
  ENCORE_RETURN_IF_ERROR(context.Output(1, range.scale));
  return context.Output(2, range.zero_point);
}

Status MatMulInteger(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  return context.Output(0,
                        context.builder().MatMul(Centered(context, 0, 2, 2),
                                                 Centered(context, 1, 3, 1)));
}

// The convolution of what the inputs are once they are centered.
StatusOr<Value> Convolved(NodeContext& context, Value x, Value w) {
  ENCORE_ASSIGN_OR_RETURN(ConvolutionAttrs attrs,
                          ReadConvolution(context, &x, w));
  return context.builder().Convolution(x, w, std::move(attrs));
}

Status ConvInteger(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  const Value x = Centered(context, 0, 2, 1);
  const Value w = Centered(context, 1, 3, context.rank(context.Input(1)));
  ENCORE_ASSIGN_OR_RETURN(const Value y, Convolved(context, x, w));
  return context.Output(0, y);
}

// i32 sums scaled by a_scale * b_scale / y_scale and shifted. `axis` counts
// from the end: where a vector of scales of the second operand lies.
Value Requantized(NodeContext& context, Value sums, int axis) {
  GraphBuilder& g = context.builder();
  const auto along = [&](int input, int from_end) {
    Value scale = g.Cast(context.Input(input), DType::kF32);
    if (scale.rank() == 1 && scale.shape()[0] == Dim(1)) {
      return context.Reshape(scale, {});
    }
    if (scale.rank() != 1) return scale;
    Dims dims(from_end, 1);
    dims[0] = scale.shape()[0];
    return context.Reshape(scale, std::move(dims));
  };
  const Value factor = g.Div(g.Mul(along(1, 2), along(4, axis)), along(6, 2));
  const Value scaled = g.Mul(g.Cast(sums, DType::kF32), factor);
  const Value zero = context.Input(7);
  const Value shift = zero.rank() == 1 && zero.shape()[0] == Dim(1)
                          ? context.Reshape(zero, {})
                          : zero;
  return Quantized(g, scaled, shift, zero.dtype());
}

Status QLinearMatMul(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(8, 8));
  const Value sums = context.builder().MatMul(Centered(context, 0, 2, 2),
                                              Centered(context, 3, 5, 1));
  return context.Output(0, Requantized(context, sums, 1));
}

Status QLinearConv(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(8, 9));
  GraphBuilder& g = context.builder();
  const int rank = context.rank(context.Input(0));
  const Value x = Centered(context, 0, 2, 1);
  const Value w = Centered(context, 3, 5, rank);
  ENCORE_ASSIGN_OR_RETURN(Value sums, Convolved(context, x, w));
  if (context.HasInput(8)) {
    sums = g.Add(sums, context.PerChannel(context.Input(8), rank));
  }
  return context.Output(0, Requantized(context, sums, rank - 1));
}

constexpr Converter kConverters[] = {
    {"ConvInteger", ConvInteger, Op::kConvolution},
    {"DequantizeLinear", DequantizeLinear, Op::kMul},
    {"DynamicQuantizeLinear", DynamicQuantizeLinear, Op::kReduce},
    {"MatMulInteger", MatMulInteger, Op::kDotGeneral},
    {"QLinearConv", QLinearConv, Op::kConvolution},
    {"QLinearMatMul", QLinearMatMul, Op::kDotGeneral},
    {"QuantizeLinear", QuantizeLinear, Op::kRound},
};

}  // namespace

std::span<const Converter> QuantizeConverters() { return kConverters; }

}  // namespace encore::onnx
