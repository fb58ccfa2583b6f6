// Products by quantized weights whose results are floats.

#include <string>
#include <utility>

#include "encore/ir/import/onnx/convert/quantization.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/microsoft/standard_calls.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Input i where it is one number, as a scalar.
Value Squeezed(NodeContext& context, int i) {
  const Value value = context.Input(i);
  const bool one = value.rank() == 1 && value.shape()[0] == Dim(1);
  return one ? context.Reshape(value, {}) : value;
}

// Output 0: i32 sums times the scale of the first operand and that of the
// second, input `scale`, one or one a column; and the bias, input `bias`.
Status OutputScaled(NodeContext& context, Value sums, Value a_scale, int scale,
                    int bias) {
  GraphBuilder& g = context.builder();
  const Value factor = g.Mul(a_scale, Squeezed(context, scale));
  Value y = g.Mul(g.Cast(sums, factor.dtype()), factor);
  if (context.HasInput(bias)) y = g.Add(y, context.Input(bias));
  return context.Output(0, y);
}

Status MatMulIntegerToFloat(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(4, 7));
  const Value a_scale = Squeezed(context, 2);
  if (a_scale.rank() != 0) {
    return UnimplementedError(
        StrCat("input a_scale is ", a_scale.type(), ", expected one number"));
  }
  const Value sums =
      MatMul(context, Centered(context, 0, 4, 2), Centered(context, 1, 5, 1));
  return OutputScaled(context, sums, a_scale, 3, 6);
}

Status DynamicQuantizeMatMul(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 5));
  GraphBuilder& g = context.builder();
  const Value a = context.Input(0);
  const DynamicRange range = RangeOf(g, a);
  const Value steps =
      Quantized(g, g.Div(a, range.scale), range.zero_point, DType::kU8);
  const Value centered =
      g.Sub(g.Cast(steps, DType::kI32), g.Cast(range.zero_point, DType::kI32));
  const Value sums = MatMul(context, centered, Centered(context, 1, 3, 1));
  return OutputScaled(context, sums, range.scale, 2, 4);
}

// Integers [D, N, K] that times the scale, [D, N] or [D, 1], are weights.
struct ScaledWeights {
  Value integers, scale;
};

// The transposed weights that input i [D, K, N] stands for, with the scales and
// zero points behind input `scale`, [D] or [D, N].
StatusOr<ScaledWeights> GateWeights(NodeContext& context, int i, int scale) {
  GraphBuilder& g = context.builder();
  const Value weights = context.Input(i);
  if (weights.rank() != 3) {
    return NodeContext::Error(
        StrCat("input ", i, " is ", weights.type(), ", expected rank 3"));
  }
  // [D, N] or [D, 1].
  const auto by_row = [&](int input) -> StatusOr<Value> {
    const Value value = context.Input(input);
    if (value.rank() != 1 && value.rank() != 2) {
      return NodeContext::Error(StrCat("input ", input, " is ", value.type(),
                                       ", expected rank 1 or 2"));
    }
    return value.rank() == 1 ? g.Unsqueeze(value, {1}) : value;
  };
  ENCORE_ASSIGN_OR_RETURN(const Value factor, by_row(scale));
  ENCORE_ASSIGN_OR_RETURN(const Value zero, by_row(scale + 1));
  const Value centered = g.Sub(g.Cast(g.TransposeMatrix(weights), DType::kI32),
                               g.Cast(g.Unsqueeze(zero, {2}), DType::kI32));
  return ScaledWeights{g.Cast(centered, DType::kF32), factor};
}

// The standard's, whose operands of products are integers.
Status DynamicQuantizeLstm(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 12));
  StandardCalls standard(context);
  ENCORE_ASSIGN_OR_RETURN(const ScaledWeights w, GateWeights(context, 1, 8));
  ENCORE_ASSIGN_OR_RETURN(const ScaledWeights r, GateWeights(context, 2, 10));
  std::vector<Value> inputs = {context.Input(0), w.integers, r.integers};
  for (int i = 3; i < 8; ++i) inputs.push_back(OptionalInput(context, i));
  inputs.push_back(w.scale);
  inputs.push_back(r.scale);
  const NodeAttributes attributes =
      standard.Own({"activation_alpha", "activation_beta", "activations",
                    "clip", "direction", "hidden_size", "input_forget"});
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          standard.Call("LSTM", inputs, attributes, 3));
  for (int i = 0; i < 3; ++i) {
    ENCORE_RETURN_IF_ERROR(context.Output(i, results[i]));
  }
  return OkStatus();
}

// alpha * scales * (A' B' + C), and quantized where there is a scale of y,
// which has its zero point behind it.
Status QGemm(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(6, 9));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const float alpha, attributes.Float("alpha", 1));
  ENCORE_ASSIGN_OR_RETURN(const bool transpose_a,
                          attributes.Bool("transA", false));
  ENCORE_ASSIGN_OR_RETURN(const bool transpose_b,
                          attributes.Bool("transB", false));
  // A vector of zero points of B has one for each column of the product.
  Value a = Centered(context, 0, 2, 1);
  Value b = Centered(context, 3, 5, transpose_b ? 2 : 1);
  if (a.rank() != 2 || b.rank() != 2) {
    return NodeContext::Error(StrCat("inputs A and B are ", a.type(), " and ",
                                     b.type(), ", expected matrices"));
  }
  if (transpose_a) a = g.TransposeMatrix(a);
  if (transpose_b) b = g.TransposeMatrix(b);
  Value sums = MatMul(context, a, b);
  if (context.HasInput(6)) sums = g.Add(sums, context.Input(6));
  const Value factor =
      g.Mul(g.Mul(Squeezed(context, 1), Squeezed(context, 4)), alpha);
  const Value y = g.Mul(g.Cast(sums, DType::kF32), factor);
  if (!context.HasInput(7)) return context.Output(0, y);
  const Value zero = context.HasInput(8) ? Squeezed(context, 8) : Value();
  return context.Output(
      0,
      Quantized(g, g.Div(y, Squeezed(context, 7)), zero,
                zero.valid() ? zero.dtype() : context.dtype(context.Input(0))));
}

constexpr Converter kConverters[] = {
    {"com.microsoft.DynamicQuantizeLSTM", DynamicQuantizeLstm, Op::kScan},
    {"com.microsoft.DynamicQuantizeMatMul", DynamicQuantizeMatMul,
     Op::kDotGeneral},
    {"com.microsoft.MatMulIntegerToFloat", MatMulIntegerToFloat,
     Op::kDotGeneral},
    {"com.microsoft.QGemm", QGemm, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> DynamicQuantizeConverters() { return kConverters; }

}  // namespace encore::onnx
