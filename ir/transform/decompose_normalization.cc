#include <cmath>
#include <numeric>

#include "encore/ir/transform/decompositions.h"

namespace encore::ops {
namespace {

Ints AxesFrom(int64_t first, int rank) {
  Ints axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// A scalar with the value of a dim, which may be symbolic.
Value DimScalar(GraphBuilder& g, const Dim& dim, DType dtype) {
  if (dim.is_constant()) return g.Scalar(dtype, dim.constant());
  return g.Cast(g.Reshape(g.DimValues({dim}), {}), dtype);
}

Value Average(GraphBuilder& g, Value x, const Ints& axes, bool keep_dims) {
  Dim count = 1;
  for (const int64_t axis : axes) {
    count = count * x.shape()[static_cast<int>(axis)];
  }
  return g.Div(g.Sum(x, axes, keep_dims), DimScalar(g, count, x.dtype()));
}

// x over the root of its mean square along axes.
Value OverRootMeanSquare(GraphBuilder& g, Value x, const Ints& axes,
                         double epsilon) {
  const Value square = Average(g, g.Mul(x, x), axes, /*keep_dims=*/true);
  return g.Mul(x, g.Rsqrt(g.Add(square, epsilon)));
}

Value Normalized(GraphBuilder& g, Value x, const Ints& axes, double epsilon) {
  const Value mean = Average(g, x, axes, /*keep_dims=*/true);
  return OverRootMeanSquare(g, g.Sub(x, mean), axes, epsilon);
}

Value PerChannel(GraphBuilder& g, Value vector, const Shape& shape) {
  return g.Broadcast(vector, shape, {1});
}

// Normalizes groups of channels of each sample, then scales and shifts by
// channel.
Value NormalizedGroups(const DecomposeContext& context, const Dim& groups,
                       double epsilon) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  const Shape shape = x.shape();
  Dim size = groups == shape[1] ? Dim(1) : FloorDiv(shape[1], groups);
  for (int i = 2; i < shape.rank(); ++i) size = size * shape[i];
  const Value grouped = g.Reshape(x, {shape[0], groups, size});
  const Value flat = g.Reshape(Normalized(g, grouped, {2}, epsilon), shape);
  const Value scaled = g.Mul(flat, PerChannel(g, context.wide(1), shape));
  return context.Narrow(g.Add(scaled, PerChannel(g, context.wide(2), shape)));
}

// x minus its maximum along the axis.
Value BelowMaximum(const DecomposeContext& context, int64_t axis) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  return g.Sub(x, g.Reduce(x, Combiner::kMax, {axis}, /*keep_dims=*/true));
}

}  // namespace

Value DecomposeSoftmax(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const int64_t axis = context.attrs<AxisAttrs>().axis;
  const Value e = g.Exp(BelowMaximum(context, axis));
  return context.Narrow(g.Div(e, g.Sum(e, {axis}, /*keep_dims=*/true)));
}

Value DecomposeLogSoftmax(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const int64_t axis = context.attrs<AxisAttrs>().axis;
  const Value x = BelowMaximum(context, axis);
  const Value sum = g.Sum(g.Exp(x), {axis}, /*keep_dims=*/true);
  return context.Narrow(g.Sub(x, g.Log(sum)));
}

Value DecomposeHardmax(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const int64_t axis = context.attrs<AxisAttrs>().axis;
  const Value x = context.operands[0];
  Shape shape = x.shape();
  if (shape[static_cast<int>(axis)] == Dim(0)) return x;
  const Value index = g.Iota(DType::kI64, shape, axis);
  shape[static_cast<int>(axis)] = 1;
  const Value largest =
      g.ArgReduce(x, {Combiner::kMax, axis, /*last=*/false, DType::kI64});
  return context.Narrow(
      g.Compare(index, g.Reshape(largest, shape), Comparison::kEq));
}

Value DecomposeMean(const DecomposeContext& context) {
  return context.Narrow(Average(context.g, context.wide(),
                                context.attrs<AxesAttrs>().axes,
                                /*keep_dims=*/false));
}

Value DecomposeLayerNorm(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const LayerNormAttrs& attrs = context.attrs<LayerNormAttrs>();
  const Value x = context.wide();
  const Value normalized =
      Normalized(g, x, AxesFrom(attrs.axis, x.rank()), attrs.epsilon);
  Value y = g.Mul(normalized, context.wide(1));
  if (context.operands.size() > 2) y = g.Add(y, context.wide(2));
  return context.Narrow(y);
}

Value DecomposeRmsNorm(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const LayerNormAttrs& attrs = context.attrs<LayerNormAttrs>();
  const Value x = context.wide();
  const Value normalized =
      OverRootMeanSquare(g, x, AxesFrom(attrs.axis, x.rank()), attrs.epsilon);
  return context.Narrow(g.Mul(normalized, context.wide(1)));
}

Value DecomposeBatchNorm(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const double epsilon = context.attrs<EpsilonAttrs>().epsilon;
  const Value x = context.wide();
  const Value scale =
      g.Mul(context.wide(1), g.Rsqrt(g.Add(context.wide(4), epsilon)));
  const Value centred = g.Sub(x, PerChannel(g, context.wide(3), x.shape()));
  return context.Narrow(g.Add(g.Mul(centred, PerChannel(g, scale, x.shape())),
                              PerChannel(g, context.wide(2), x.shape())));
}

Value DecomposeInstanceNorm(const DecomposeContext& context) {
  return NormalizedGroups(context, context.operands[0].shape()[1],
                          context.attrs<EpsilonAttrs>().epsilon);
}

Value DecomposeGroupNorm(const DecomposeContext& context) {
  const GroupNormAttrs& attrs = context.attrs<GroupNormAttrs>();
  return NormalizedGroups(context, attrs.groups, attrs.epsilon);
}

Value DecomposeLinear(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.operands[0];
  const Value product =
      g.DotGeneral(x, context.operands[1], {{x.rank() - 1}, {1}});
  if (context.operands.size() < 3) return product;
  return g.Add(product, context.operands[2]);
}

Value DecomposeAttention(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const AttentionAttrs& attrs = context.attrs<AttentionAttrs>();
  const Value query = context.wide(0), key = context.wide(1),
              value = context.wide(2);
  const Shape q = query.shape(), k = key.shape();
  const Dim &heads = q[1], &kv_heads = k[1], &queries = q[2], &keys = k[2];
  // Queries of the heads that share keys stand one after the other.
  const Dim group = heads == kv_heads ? Dim(1) : FloorDiv(heads, kv_heads);
  const AxisPairs batch = {{0, 1}, {0, 1}};
  const Value grouped =
      g.Reshape(query, {q[0], kv_heads, group * queries, q[3]});
  Value scores = g.Reshape(g.DotGeneral(grouped, key, {{3}, {3}}, batch),
                           {q[0], heads, queries, keys});
  scores = g.Mul(scores, attrs.scale);
  if (attrs.softcap != 0) {
    scores = g.Mul(g.Tanh(g.Div(scores, attrs.softcap)), attrs.softcap);
  }
  if (context.operands.size() > 3) scores = g.Add(scores, context.wide(3));
  if (attrs.causal) {
    const Shape plane({queries, keys});
    const Value ahead =
        g.Sub(g.Iota(DType::kI64, plane, 1), g.Iota(DType::kI64, plane, 0));
    const Value seen = g.Compare(
        ahead, DimScalar(g, keys - queries, DType::kI64), Comparison::kLe);
    scores = g.Select(seen, scores, -INFINITY);
  }
  const Value weights =
      g.Reshape(DecomposeSoftmax({g, Attributes(AxisAttrs{3}), {&scores, 1}}),
                {q[0], kv_heads, group * queries, keys});
  const Value result = g.DotGeneral(weights, value, {{3}, {2}}, batch);
  return context.Narrow(
      g.Reshape(result, {q[0], heads, queries, value.shape()[3]}));
}

}  // namespace encore::ops
