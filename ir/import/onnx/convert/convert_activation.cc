#include <vector>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

template <Op kOp>
Status Plain(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  return context.Output(0, context.Emit(kOp, {context.Input(0)}));
}

Status WithAlpha(NodeContext& context, Op op, float fallback) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const float alpha,
                          context.attributes().Float("alpha", fallback));
  return context.Output(
      0, context.Emit(op, {context.Input(0)}, AlphaAttrs{alpha}));
}

Status Celu(NodeContext& context) {
  return WithAlpha(context, Op::kCelu, 1.0f);
}
Status Elu(NodeContext& context) { return WithAlpha(context, Op::kElu, 1.0f); }
Status LeakyRelu(NodeContext& context) {
  return WithAlpha(context, Op::kLeakyRelu, 0.01f);
}
Status ThresholdedRelu(NodeContext& context) {
  return WithAlpha(context, Op::kThresholdedRelu, 1.0f);
}

Status HardSigmoid(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const float alpha,
                          context.attributes().Float("alpha", 0.2f));
  ENCORE_ASSIGN_OR_RETURN(const float beta,
                          context.attributes().Float("beta", 0.5f));
  return context.Output(0, context.Emit(Op::kHardSigmoid, {context.Input(0)},
                                        AlphaBetaAttrs{alpha, beta}));
}

Status Selu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(
      const float alpha,
      context.attributes().Float("alpha", 1.67326319217681884765625f));
  ENCORE_ASSIGN_OR_RETURN(
      const float gamma,
      context.attributes().Float("gamma", 1.05070102214813232421875f));
  return context.Output(0, context.Emit(Op::kSelu, {context.Input(0)},
                                        AlphaBetaAttrs{alpha, gamma}));
}

Status Gelu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const std::string approximate,
                          context.attributes().String("approximate", "none"));
  if (approximate != "none" && approximate != "tanh") {
    return NodeContext::Error(StrCat("attribute approximate is ",
                                     Quote(approximate),
                                     ", expected none or tanh"));
  }
  return context.Output(0, context.Emit(Op::kGelu, {context.Input(0)},
                                        GeluAttrs{approximate == "tanh"}));
}

// The slope spreads to x's shape; of one value per channel, along dim 1 (opset
// 6).
Status Prelu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  const Value x = context.Input(0);
  Value slope = context.Input(1);
  const int rank = context.rank(x);
  if (IsInteger(x.dtype()) && !IsSigned(x.dtype())) {
    return context.Output(0, x);
  }
  if (context.rank(slope) == 1 && rank > 2 &&
      context.shape(slope)[0] == context.shape(x)[1] &&
      context.shape(slope)[0] != context.shape(x)[rank - 1]) {
    slope = context.PerChannel(slope, rank);
  }
  return context.Output(
      0, context.Emit(Op::kPrelu, {x, context.builder().BroadcastTo(
                                          slope, context.shape(x))}));
}

// Softmax and its like along one axis; before opset 13 over all dims from it
// on.
Status Along(NodeContext& context, Op op) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  const int64_t rank = context.rank(x);
  ENCORE_ASSIGN_OR_RETURN(const int64_t raw,
                          context.attributes().Int("axis", -1));
  ENCORE_ASSIGN_OR_RETURN(const bool flattened,
                          context.attributes().Bool("encore.flattened", false));
  if (!flattened || raw == rank) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(raw, rank, "attribute axis"));
    return context.Output(0, context.Emit(op, {x}, AxisAttrs{axis}));
  }
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.Axis(raw, rank, "attribute axis"));
  if (axis == rank - 1)
    return context.Output(0, context.Emit(op, {x}, AxisAttrs{axis}));
  const Shape shape = context.shape(x);
  Dims rows(shape.dims().begin(), shape.dims().begin() + axis);
  Dim columns = 1;
  for (int64_t i = axis; i < rank; ++i) columns = columns * shape[i];
  rows.push_back(columns);
  const Value flat = context.Reshape(x, std::move(rows));
  return context.Output(
      0,
      context.Reshape(context.Emit(op, {flat}, AxisAttrs{axis}), shape.dims()));
}

Status Softmax(NodeContext& context) { return Along(context, Op::kSoftmax); }
Status LogSoftmax(NodeContext& context) {
  return Along(context, Op::kLogSoftmax);
}

Status Hardmax(NodeContext& context) { return Along(context, Op::kHardmax); }

// x + bias below -lambd, x - bias above lambd, 0 between.
Status Shrink(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const float lambd,
                          context.attributes().Float("lambd", 0.5f));
  ENCORE_ASSIGN_OR_RETURN(const float bias,
                          context.attributes().Float("bias", 0.0f));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  const DType compute = IsFloat(x.dtype()) ? x.dtype() : DType::kF32;
  const Value wide = compute == x.dtype() ? x : g.Cast(x, compute);
  const Value high =
      g.Select(g.Compare(wide, lambd, Comparison::kGt), g.Sub(wide, bias), 0.0);
  const Value shrunk = g.Select(g.Compare(wide, -lambd, Comparison::kLt),
                                g.Add(wide, bias), high);
  return context.Output(
      0, compute == x.dtype() ? shrunk : g.Cast(shrunk, x.dtype()));
}

// x * logistic(alpha * x).
StatusOr<Value> Swished(NodeContext& context, Value x) {
  ENCORE_ASSIGN_OR_RETURN(const float alpha,
                          context.attributes().Float("alpha", 1.0f));
  GraphBuilder& g = context.builder();
  if (alpha == 1.0f) return g.Silu(x);
  return g.Mul(x, g.Logistic(g.Mul(x, alpha)));
}

Status Swish(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value y, Swished(context, context.Input(0)));
  return context.Output(0, y);
}

// The gate and the value have one shape: nothing is broadcast.
Status SwiGlu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  std::vector<Value> both = context.Inputs();
  UnifyDimsExcept(context, -1, &both);
  ENCORE_ASSIGN_OR_RETURN(const Value gate, Swished(context, both[0]));
  return context.Output(0, context.Emit(Op::kMul, {gate, both[1]}));
}

constexpr Converter kConverters[] = {
    {"Celu", Celu, Op::kCelu},
    {"Elu", Elu, Op::kElu},
    {"Gelu", Gelu, Op::kGelu},
    {"HardSigmoid", HardSigmoid, Op::kHardSigmoid},
    {"Hardmax", Hardmax, Op::kHardmax},
    {"HardSwish", Plain<Op::kHardSwish>, Op::kHardSwish},
    {"LeakyRelu", LeakyRelu, Op::kLeakyRelu},
    {"LogSoftmax", LogSoftmax, Op::kLogSoftmax},
    {"Mish", Plain<Op::kMish>, Op::kMish},
    {"PRelu", Prelu, Op::kPrelu},
    {"Relu", Plain<Op::kRelu>, Op::kRelu},
    {"Selu", Selu, Op::kSelu},
    {"Shrink", Shrink, Op::kSelect},
    {"Softmax", Softmax, Op::kSoftmax},
    {"Softplus", Plain<Op::kSoftplus>, Op::kSoftplus},
    {"Softsign", Plain<Op::kSoftsign>, Op::kSoftsign},
    {"SwiGLU", SwiGlu, Op::kMul},
    {"Swish", Swish, Op::kSilu},
    {"ThresholdedRelu", ThresholdedRelu, Op::kThresholdedRelu},
};

}  // namespace

std::span<const Converter> ActivationConverters() { return kConverters; }

}  // namespace encore::onnx
