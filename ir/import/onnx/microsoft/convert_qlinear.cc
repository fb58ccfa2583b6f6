// Operators on quantized tensors: of what these stand for, in f32.

#include <algorithm>
#include <utility>

#include "encore/ir/import/onnx/convert/quantization.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/microsoft/standard_calls.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Input i, a scale or a zero point, as a scalar of `dtype`.
StatusOr<Value> ScalarInput(NodeContext& context, int i, DType dtype) {
  const Value value = context.Input(i);
  if (value.rank() > 1) {
    return NodeContext::Error(
        StrCat("input ", i, " is ", value.type(), ", expected a scalar"));
  }
  return context.builder().Cast(context.Reshape(value, {}), dtype);
}

// What input i stands for, with its scale and its zero point, which may be left
// out, behind it.
StatusOr<Value> Dequantized(NodeContext& context, int i) {
  GraphBuilder& g = context.builder();
  Value x = g.Cast(context.Input(i), DType::kI32);
  if (context.HasInput(i + 2)) {
    ENCORE_ASSIGN_OR_RETURN(const Value zero,
                            ScalarInput(context, i + 2, DType::kI32));
    x = g.Sub(x, zero);
  }
  ENCORE_ASSIGN_OR_RETURN(const Value scale,
                          ScalarInput(context, i + 1, DType::kF32));
  return g.Mul(g.Cast(x, DType::kF32), scale);
}

// Output 0: `y` with the scale that is input i and the zero point behind it,
// which may be left out.
Status OutputQuantized(NodeContext& context, Value y, int i, DType dtype) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Value scale,
                          ScalarInput(context, i, DType::kF32));
  Value zero;
  if (context.HasInput(i + 1)) {
    ENCORE_ASSIGN_OR_RETURN(zero, ScalarInput(context, i + 1, dtype));
  }
  return context.Output(0, Quantized(g, g.Div(y, scale), zero, dtype));
}

template <Op kOp>
Status Binary(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 8));
  ENCORE_ASSIGN_OR_RETURN(const Value a, Dequantized(context, 0));
  ENCORE_ASSIGN_OR_RETURN(const Value b, Dequantized(context, 3));
  const DType dtype = context.dtype(context.Input(0));
  const Value y = context.Emit(kOp, BroadcastAll(context, {a, b}));
  return OutputQuantized(context, y, 6, dtype);
}

Status QLinearWhere(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(9, 9));
  ENCORE_ASSIGN_OR_RETURN(const Value x, Dequantized(context, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value y, Dequantized(context, 4));
  const DType dtype = context.dtype(context.Input(1));
  const Value z = context.Emit(Op::kSelect,
                               BroadcastAll(context, {context.Input(0), x, y}));
  return OutputQuantized(context, z, 7, dtype);
}

// Operators of one tensor: `compute` of what it stands for.
template <typename Compute>
Status Unary(NodeContext& context, Compute compute) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 5));
  ENCORE_ASSIGN_OR_RETURN(const Value x, Dequantized(context, 0));
  const DType dtype = context.dtype(context.Input(0));
  ENCORE_ASSIGN_OR_RETURN(const Value y, compute(x));
  return OutputQuantized(context, y, 3, dtype);
}

Status QLinearSigmoid(NodeContext& context) {
  return Unary(context, [&](Value x) -> StatusOr<Value> {
    return context.builder().Logistic(x);
  });
}

Status QLinearLeakyRelu(NodeContext& context) {
  return Unary(context, [&](Value x) -> StatusOr<Value> {
    ENCORE_ASSIGN_OR_RETURN(const float alpha,
                            context.attributes().Float("alpha", 0.01f));
    return context.builder().LeakyRelu(x, alpha);
  });
}

// Before opset 13 of the default domain over all dims from the axis on.
Status QLinearSoftmax(NodeContext& context) {
  return Unary(context, [&](Value x) -> StatusOr<Value> {
    StandardCalls standard(context);
    ENCORE_ASSIGN_OR_RETURN(const int64_t opset,
                            context.attributes().RequiredInt("opset"));
    NodeAttributes attributes = standard.Own({"axis"});
    attributes.push_back(IntAttr("encore.flattened", opset < 13));
    return standard.Call("Softmax", {x}, attributes);
  });
}

// `operation` of x, which it takes as [N, C, spatial…]; x is [N, spatial…, C]
// where the attribute channels_last says so.
template <typename Operation>
StatusOr<Value> ChannelsFirst(NodeContext& context, Value x,
                              Operation operation) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool last,
                          context.attributes().Bool("channels_last", false));
  if (!last || x.rank() < 3) return operation(x);
  Ints first = AxesFrom(0, x.rank()), back = first;
  std::rotate(first.begin() + 1, first.end() - 1, first.end());
  std::rotate(back.begin() + 1, back.begin() + 2, back.end());
  ENCORE_ASSIGN_OR_RETURN(const Value y, operation(g.Transpose(x, first)));
  return g.Transpose(y, std::move(back));
}

Status QLinearGlobalAveragePool(NodeContext& context) {
  return Unary(context, [&](Value x) {
    return ChannelsFirst(context, x, [&](Value image) {
      return StandardCalls(context).Call("GlobalAveragePool", {image});
    });
  });
}

Status QLinearAveragePool(NodeContext& context) {
  return Unary(context, [&](Value x) {
    return ChannelsFirst(context, x, [&](Value image) {
      StandardCalls standard(context);
      return standard.Call(
          "AveragePool", {image},
          standard.Own({"auto_pad", "ceil_mode", "count_include_pad",
                        "kernel_shape", "pads", "strides"}));
    });
  });
}

// The standard's, with the channels last where an attribute says so.
Status QLinearConv(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(8, 9));
  ENCORE_ASSIGN_OR_RETURN(
      const Value y, ChannelsFirst(context, context.Input(0), [&](Value image) {
        StandardCalls standard(context);
        std::vector<Value> inputs = {image};
        for (int i = 1; i < 9; ++i) inputs.push_back(OptionalInput(context, i));
        return standard.Call("QLinearConv", inputs,
                             standard.Own({"auto_pad", "dilations", "group",
                                           "kernel_shape", "pads", "strides"}));
      }));
  return context.Output(0, y);
}

// Each tensor with its scale and its zero point.
Status QLinearConcat(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(5, INT16_MAX));
  if (context.input_count() % 3 != 2) {
    return NodeContext::Error(StrCat(
        context.input_count(), " inputs, expected 2 and 3 for each tensor"));
  }
  std::vector<Value> parts;
  for (int i = 2; i < context.input_count(); i += 3) {
    ENCORE_ASSIGN_OR_RETURN(const Value part, Dequantized(context, i));
    parts.push_back(part);
  }
  StandardCalls standard(context);
  ENCORE_ASSIGN_OR_RETURN(
      const Value y, standard.Call("Concat", parts, standard.Own({"axis"})));
  return OutputQuantized(context, y, 0, context.dtype(context.Input(1)));
}

// QuantizeLinear and DequantizeLinear are the standard's, too.
Status AsStandard(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  StandardCalls standard(context);
  ENCORE_ASSIGN_OR_RETURN(const Value y,
                          standard.Call(context.node().op_type,
                                        {context.Input(0), context.Input(1),
                                         OptionalInput(context, 2)},
                                        standard.Own({"axis"})));
  return context.Output(0, y);
}

constexpr Converter kConverters[] = {
    {"com.microsoft.DequantizeLinear", AsStandard, Op::kMul},
    {"com.microsoft.QLinearAdd", Binary<Op::kAdd>, Op::kAdd},
    {"com.microsoft.QLinearAveragePool", QLinearAveragePool, Op::kAvgPool},
    {"com.microsoft.QLinearConcat", QLinearConcat, Op::kConcat},
    {"com.microsoft.QLinearConv", QLinearConv, Op::kConvolution},
    {"com.microsoft.QLinearGlobalAveragePool", QLinearGlobalAveragePool,
     Op::kMean},
    {"com.microsoft.QLinearLeakyRelu", QLinearLeakyRelu, Op::kLeakyRelu},
    {"com.microsoft.QLinearMul", Binary<Op::kMul>, Op::kMul},
    {"com.microsoft.QLinearSigmoid", QLinearSigmoid, Op::kLogistic},
    {"com.microsoft.QLinearSoftmax", QLinearSoftmax, Op::kSoftmax},
    {"com.microsoft.QLinearWhere", QLinearWhere, Op::kSelect},
    {"com.microsoft.QuantizeLinear", AsStandard, Op::kRound},
};

}  // namespace

std::span<const Converter> QLinearConverters() { return kConverters; }

}  // namespace encore::onnx
