#include <algorithm>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

Value CastTo(NodeContext& context, Value value, DType dtype) {
  return context.dtype(value) == dtype ? value
                                       : context.builder().Cast(value, dtype);
}

// Puts the statistics of the batch in place of the running ones, operands 3
// and 4, which move toward them: outputs 1 and 2.
Status BatchStatistics(NodeContext& context, float momentum, DType dtype,
                       std::vector<Value>* operands) {
  GraphBuilder& g = context.builder();
  const Value x = (*operands)[0];
  if (x.rank() < 2) {
    return NodeContext::Error(
        StrCat("input X has rank ", x.rank(), ", expected [N, C, ...]"));
  }
  Ints axes = {0};
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  const Value mean = g.Mean(x, axes, /*keep_dims=*/true);
  const Value centered = g.Sub(x, mean);
  const Shape channels = {context.shape(x)[1]};
  const Value current[] = {g.Reshape(mean, channels),
                           g.Mean(g.Mul(centered, centered), axes)};
  for (int i = 0; i < 2; ++i) {
    const Value running = g.Add(g.Mul((*operands)[3 + i], momentum),
                                g.Mul(current[i], 1 - momentum));
    ENCORE_RETURN_IF_ERROR(
        context.Output(1 + i, CastTo(context, running, dtype)));
    (*operands)[3 + i] = current[i];
  }
  return OkStatus();
}

// Until opset 9 statistics could be of each activation instead of each channel:
// operands x [N, …], scale, bias, mean and variance, […].
StatusOr<Value> NormalizeActivations(GraphBuilder& g,
                                     const std::vector<Value>& operands,
                                     double epsilon) {
  const Value x = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].rank() == x.rank() - 1) continue;
    return NodeContext::Error(StrCat("input ", i, " is ", operands[i].type(),
                                     ", attribute spatial is 0 and X is ",
                                     x.type()));
  }
  const Value deviation = g.Sqrt(g.Add(operands[4], epsilon));
  const Value scaled =
      g.Mul(g.Div(g.Sub(x, operands[3]), deviation), operands[1]);
  return g.Add(scaled, operands[2]);
}

Status BatchNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(5, 5));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const bool training,
                          attributes.Bool("training_mode", false));
  ENCORE_ASSIGN_OR_RETURN(const float momentum,
                          attributes.Float("momentum", 0.9f));
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          attributes.Float("epsilon", 1e-5f));
  std::vector<Value> operands = context.Inputs();
  const DType dtype = context.dtype(operands[0]);
  const DType statistics = context.dtype(operands[3]);
  for (Value& operand : operands) operand = CastTo(context, operand, dtype);
  ENCORE_ASSIGN_OR_RETURN(const bool per_activation,
                          attributes.Bool("encore.per_activation", false));
  if (per_activation) {
    ENCORE_ASSIGN_OR_RETURN(
        const Value y,
        NormalizeActivations(context.builder(), operands, epsilon));
    return context.Output(0, y);
  }
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[0].rank() < 2 || operands[i].rank() != 1) continue;
    UnifyDims(context, &operands[0], 1, &operands[i], 0);
  }
  if (training) {
    ENCORE_RETURN_IF_ERROR(
        BatchStatistics(context, momentum, statistics, &operands));
  } else if (!context.CheckOutputs(1).ok()) {
    return NodeContext::Error(StrCat("attribute training_mode is 0, and ",
                                     context.node().outputs.size(),
                                     " outputs are named, expected 1"));
  }
  return context.Output(
      0, context.Emit(Op::kBatchNorm, operands, EpsilonAttrs{epsilon}));
}

// x less its mean over `axes`, divided by its standard deviation.
Status MeanVarianceNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(Ints axes,
                          context.attributes().Ints("axes", {0, 2, 3}));
  ENCORE_ASSIGN_OR_RETURN(axes,
                          context.AxesList(axes, x.rank(), "attribute axes"));
  const Value centered = g.Sub(x, g.Mean(x, axes, /*keep_dims=*/true));
  const Value deviation =
      g.Sqrt(g.Mean(g.Mul(centered, centered), axes, /*keep_dims=*/true));
  return context.Output(0, g.Div(centered, g.Add(deviation, 1e-9)));
}

Status InstanceNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          context.attributes().Float("epsilon", 1e-5f));
  return context.Output(0, context.Emit(Op::kInstanceNorm, context.Inputs(),
                                        EpsilonAttrs{epsilon}));
}

Status GroupNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          attributes.Float("epsilon", 1e-5f));
  ENCORE_ASSIGN_OR_RETURN(const int64_t groups,
                          attributes.RequiredInt("num_groups"));
  ENCORE_ASSIGN_OR_RETURN(const bool per_group,
                          attributes.Bool("encore.per_group", false));
  attributes.Ignore("stash_type");
  const Value x = context.Input(0);
  Value scale = context.Input(1), bias = context.Input(2);
  if (groups < 1 || context.rank(x) < 2) {
    return NodeContext::Error(StrCat("attribute num_groups is ", groups,
                                     ", expected a positive number"));
  }
  if (per_group) {
    const Dim channels = FloorDiv(context.shape(x)[1], groups);
    for (Value* vector : {&scale, &bias}) {
      const Value spread = context.Emit(
          Op::kBroadcast, {*vector}, BroadcastAttrs{{groups, channels}, {0}});
      *vector = context.Reshape(spread, {channels * groups});
    }
  }
  return context.Output(0, context.Emit(Op::kGroupNorm, {x, scale, bias},
                                        GroupNormAttrs{groups, epsilon}));
}

// Mean and inverse deviation, the optional outputs, are those of the normalized
// dims with extents of 1 in their place.
Status LayerStatistics(NodeContext& context, Value x, int64_t axis,
                       float epsilon) {
  if (!context.WantsOutput(1) && !context.WantsOutput(2)) return OkStatus();
  x = CastTo(context, x, DType::kF32);
  Ints axes = AxesFrom(axis, context.rank(x));
  const auto mean_of = [&](Value value) {
    return context.Unsqueeze(context.Emit(Op::kMean, {value}, AxesAttrs{axes}),
                             axes);
  };
  const Value mean = mean_of(x);
  ENCORE_RETURN_IF_ERROR(context.Output(1, mean));
  const Value centered = context.Emit(
      Op::kSub, {x, context.builder().BroadcastTo(mean, context.shape(x))});
  const Value variance = mean_of(context.Emit(Op::kMul, {centered, centered}));
  const Value stable = context.Emit(
      Op::kAdd, {variance, context.Fill(context.Scalar(DType::kF32, epsilon),
                                        context.shape(variance))});
  return context.Output(2, context.Emit(Op::kRsqrt, {stable}));
}

Status LayerNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  AttributeReader& attributes = context.attributes();
  Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          attributes.Float("epsilon", 1e-5f));
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(-1, x.rank()));
  attributes.Ignore("stash_type");
  Value scale = context.Input(1);
  for (int i = 0; i < std::min<int64_t>(scale.rank(), x.rank() - axis); ++i) {
    if (scale.shape()[scale.rank() - 1 - i] == Dim(1)) continue;
    UnifyDims(context, &x, x.rank() - 1 - i, &scale, scale.rank() - 1 - i);
  }
  const Shape shape = context.shape(x);
  const Shape normalized(Dims(shape.dims().begin() + axis, shape.dims().end()));
  std::vector<Value> operands = {
      x, context.builder().BroadcastTo(scale, normalized)};
  if (context.HasInput(2)) {
    operands.push_back(
        context.builder().BroadcastTo(context.Input(2), normalized));
  }
  ENCORE_RETURN_IF_ERROR(context.Output(
      0,
      context.Emit(Op::kLayerNorm, operands, LayerNormAttrs{axis, epsilon})));
  return LayerStatistics(context, x, axis, epsilon);
}

// The scale's dtype may be another one than x's: then what is normalized is
// rounded to x's, and the result has the scale's.
Status RmsNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  Value x = context.Input(0), scale = context.Input(1);
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          attributes.Float("epsilon", 1e-5f));
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(-1, x.rank()));
  attributes.Ignore("stash_type");
  for (int i = 0; i < std::min(scale.rank(), x.rank()); ++i) {
    if (scale.shape()[scale.rank() - 1 - i] == Dim(1)) continue;
    UnifyDims(context, &x, x.rank() - 1 - i, &scale, scale.rank() - 1 - i);
  }
  const Shape shape = context.shape(x);
  const Shape normalized(Dims(shape.dims().begin() + axis, shape.dims().end()));
  const LayerNormAttrs attrs{axis, epsilon};
  if (scale.dtype() == x.dtype() && scale.rank() <= normalized.rank()) {
    return context.Output(
        0, context.Emit(Op::kRmsNorm, {x, g.BroadcastTo(scale, normalized)},
                        attrs));
  }
  const Value ones = context.Fill(context.Scalar(x.dtype(), 1), normalized);
  const Value y = context.Emit(Op::kRmsNorm, {x, ones}, attrs);
  return context.Output(
      0, context.Emit(Op::kMul, {CastTo(context, y, scale.dtype()),
                                 g.BroadcastTo(scale, shape)}));
}

// x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta.
Status Lrn(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const int64_t size, attributes.RequiredInt("size"));
  ENCORE_ASSIGN_OR_RETURN(const float alpha, attributes.Float("alpha", 1e-4f));
  ENCORE_ASSIGN_OR_RETURN(const float beta, attributes.Float("beta", 0.75f));
  ENCORE_ASSIGN_OR_RETURN(const float bias, attributes.Float("bias", 1.0f));
  const Value x = context.Input(0);
  const int rank = context.rank(x);
  if (size < 1 || size > INT16_MAX || rank < 2) {
    return NodeContext::Error(
        StrCat("attribute size is ", size, ", expected a positive number"));
  }
  ReduceWindowAttrs window;
  window.combiner = Combiner::kSum;
  window.window = window.strides = window.dilations = Ints(rank, 1);
  window.padding_low = window.padding_high = Ints(rank, 0);
  window.window[1] = size;
  window.padding_low[1] = (size - 1) / 2;
  window.padding_high[1] = size - 1 - (size - 1) / 2;
  const auto spread = [&](double value) {
    return context.Fill(context.Scalar(context.dtype(x), value),
                        context.shape(x));
  };
  const Value sum = context.Emit(
      Op::kReduceWindow, {context.Emit(Op::kMul, {x, x})}, std::move(window));
  const Value scaled = context.Emit(Op::kMul, {sum, spread(alpha / size)});
  const Value base = context.Emit(Op::kAdd, {scaled, spread(bias)});
  return context.Output(
      0, context.Emit(Op::kDiv,
                      {x, context.Emit(Op::kPow, {base, spread(beta)})}));
}

// x over its norm along an axis; where that is 0, 0.
Status LpNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const int64_t p, attributes.Int("p", 2));
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(-1, x.rank()));
  const Value sum = g.Sum(p == 1 ? g.Abs(x) : g.Mul(x, x), {axis},
                          /*keep_dims=*/true);
  const Value norm = p == 1 ? sum : g.Sqrt(sum);
  const Value is_zero = g.Compare(norm, 0.0, Comparison::kEq);
  return context.Output(0, g.Div(x, g.Select(is_zero, 1.0, norm)));
}

constexpr Converter kConverters[] = {
    {"BatchNormalization", BatchNormalization, Op::kBatchNorm},
    {"GroupNormalization", GroupNormalization, Op::kGroupNorm},
    {"InstanceNormalization", InstanceNormalization, Op::kInstanceNorm},
    {"LRN", Lrn, Op::kReduceWindow},
    {"LayerNormalization", LayerNormalization, Op::kLayerNorm},
    {"LpNormalization", LpNormalization, Op::kDiv},
    {"MeanVarianceNormalization", MeanVarianceNormalization, Op::kMean},
    {"RMSNormalization", RmsNormalization, Op::kRmsNorm},
};

}  // namespace

std::span<const Converter> NormalizationConverters() { return kConverters; }

}  // namespace encore::onnx
