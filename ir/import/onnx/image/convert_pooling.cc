#include <algorithm>
#include <cmath>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/window.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

PoolAttrs PoolOf(Window window) {
  PoolAttrs pool;
  pool.window = std::move(window.sizes);
  pool.strides = std::move(window.strides);
  pool.padding_low = ConstantPadding(window.padding_low);
  pool.padding_high = ConstantPadding(window.padding_high);
  pool.dilations = std::move(window.dilations);
  return pool;
}

// What is below every other number of a dtype.
Value Lowest(NodeContext& context, DType dtype) {
  if (IsFloat(dtype)) return context.Scalar(dtype, -INFINITY);
  const int bits = IsUnsigned(dtype) ? 0 : BitWidth(dtype);
  return context.Scalar(dtype, bits == 0 ? 0 : -std::ldexp(1.0, bits - 1));
}

bool Pads(const Window& window) {
  const auto pads = [](const Dim& dim) { return !(dim == Dim(0)); };
  return std::ranges::any_of(window.padding_low, pads) ||
         std::ranges::any_of(window.padding_high, pads);
}

// Where each window's largest element lies in the whole of x: x is looked up at
// the windows' elements, and the first largest wins. All in [results…,
// window…].
Status MaxIndices(NodeContext& context, Value x, const Window& window,
                  bool column_major, const Shape& pooled) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(x);
  const int spatial = shape.rank() - 2;
  Dim size = 1, places = 1, taps = 1;
  Value at = g.Scalar(DType::kI64, int64_t{0}), name = at;
  Value inside = g.Constant(Literal::Scalar(true));
  Value before = g.Scalar(DType::kI64, int64_t{1});  // column-major stride
  for (int d = 0; d < spatial; ++d) {
    const Value extent = DimValue(context, shape[d + 2]);
    const Value position = PositionsAlong(context, window, pooled, d);
    inside = g.And(inside, g.And(g.Compare(position, 0, Comparison::kGe),
                                 g.Compare(position, extent, Comparison::kLt)));
    at = g.Add(g.Mul(at, extent), position);
    name = g.Add(name, g.Mul(position, before));
    before = g.Mul(before, extent);
    size = size * shape[d + 2];
    places = places * pooled[d + 2];
    taps = taps * window.sizes[d];
  }
  if (!column_major) name = at;
  const Shape table = {places, taps};
  const Value seen = g.Take(context.Reshape(x, {shape[0], shape[1], size}),
                            g.Reshape(g.Select(inside, at, 0), table), 2);
  inside = g.Reshape(inside, table);
  const Value rank =
      g.ArgReduce(g.Select(inside, seen, Lowest(context, x.dtype())),
                  {Combiner::kMax, 3, false, DType::kI64});
  const Value begin =
      g.Mul(g.Iota(DType::kI64, {places}, 0), DimValue(context, taps));
  Value row = g.Add(begin, rank);
  if (Pads(window)) {
    // Nothing is below what is outside, which wins where all is as low: there
    // the first one inside is the largest.
    const Value first = g.ArgReduce(g.Cast(inside, DType::kI32),
                                    {Combiner::kMax, 1, false, DType::kI64});
    row = g.Select(g.Take(g.Reshape(inside, {places * taps}), row, 0), row,
                   g.Add(begin, first));
  }
  const Value found = g.Take(g.Reshape(name, {places * taps}), row, 0);
  const Value plane = g.Mul(g.Iota(DType::kI64, {shape[0] * shape[1]}, 0),
                            DimValue(context, size));
  return context.Output(
      1, g.Reshape(g.Add(found, g.Reshape(plane, {shape[0], shape[1], 1})),
                   pooled));
}

Status MaxPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          context.attributes().Bool("ceil_mode", false));
  ENCORE_ASSIGN_OR_RETURN(const bool column_major,
                          context.attributes().Bool("storage_order", false));
  ENCORE_ASSIGN_OR_RETURN(
      const Window window,
      ReadWindow(context, context.shape(x), std::nullopt, ceil_mode));
  Window rest = window;
  const Value padded = PadByHand(context, x, Lowest(context, x.dtype()), &rest);
  const Value pooled =
      context.Emit(Op::kMaxPool, {padded}, PoolOf(std::move(rest)));
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  if (context.WantsOutput(1)) {
    ENCORE_RETURN_IF_ERROR(
        MaxIndices(context, x, window, column_major, context.shape(pooled)));
  }
  return context.Output(0, pooled);
}

bool IsConstant(const Dims& dims) {
  return std::ranges::all_of(dims,
                             [](const Dim& dim) { return dim.is_constant(); });
}

// The averages of the windows over the part of their elements that counts:
// those of x, and where padding counts, the padding of `plain`. What else
// `window` pads completes the last window of an axis and does not count.
Value AverageOfCounted(NodeContext& context, Value x, Window window,
                       const Window& plain, bool count_padding) {
  GraphBuilder& g = context.builder();
  const Value zero = context.Scalar(x.dtype(), 0);
  Dims spatial(x.shape().dims().begin() + 2, x.shape().dims().end());
  if (count_padding) {
    Dims low(x.rank(), 0), high(x.rank(), 0);
    for (size_t i = 0; i < spatial.size(); ++i) {
      low[i + 2] = std::exchange(window.padding_low[i], 0);
      high[i + 2] = plain.padding_high[i];
      window.padding_high[i] = window.padding_high[i] - high[i + 2];
      spatial[i] = spatial[i] + low[i + 2] + high[i + 2];
    }
    x = g.Pad(x, zero, std::move(low), std::move(high));
  }
  spatial.insert(spatial.begin(), {1, 1});
  Value counted = g.Full(Shape(spatial), context.Scalar(x.dtype(), 1));
  Window rest = window;
  counted = PadByHand(context, counted, zero, &rest);
  x = PadByHand(context, x, zero, &window);
  PoolAttrs pool = PoolOf(std::move(window));
  pool.count_padding = true;
  return g.Div(g.AvgPool(x, pool), g.AvgPool(counted, pool));
}

// With ceil_mode, padding that only completes the last window is not counted,
// even where padding is.
Status AveragePool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          attributes.Bool("ceil_mode", false));
  ENCORE_ASSIGN_OR_RETURN(const bool count_padding,
                          attributes.Bool("count_include_pad", false));
  ENCORE_ASSIGN_OR_RETURN(const Window plain,
                          ReadWindow(context, shape, std::nullopt, false));
  ENCORE_ASSIGN_OR_RETURN(Window window,
                          ReadWindow(context, shape, std::nullopt, ceil_mode));
  const bool completes =
      count_padding && window.padding_high != plain.padding_high;
  if (completes || !IsConstant(window.padding_low) ||
      !IsConstant(window.padding_high)) {
    return context.Output(0, AverageOfCounted(context, x, std::move(window),
                                              plain, count_padding));
  }
  PoolAttrs pool = PoolOf(std::move(window));
  pool.count_padding = count_padding;
  return context.Output(0, context.Emit(Op::kAvgPool, {x}, std::move(pool)));
}

StatusOr<Ints> SpatialAxes(NodeContext& context, Value x) {
  Ints axes = AxesFrom(2, context.rank(x));
  if (axes.empty()) {
    return NodeContext::Error(StrCat("input X has rank ", context.rank(x),
                                     ", expected [N, C, spatial...]"));
  }
  return axes;
}

Status GlobalAveragePool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Ints axes, SpatialAxes(context, x));
  return context.Output(
      0,
      context.Unsqueeze(context.Emit(Op::kMean, {x}, AxesAttrs{axes}), axes));
}

Status GlobalMaxPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Ints axes, SpatialAxes(context, x));
  const Value top =
      context.Emit(Op::kReduce, {x}, ReduceAttrs{Combiner::kMax, axes});
  return context.Output(0, context.Unsqueeze(top, axes));
}

// `sum` of what is inside of it, in the norm that attribute p names.
template <typename Sum>
StatusOr<Value> InNorm(NodeContext& context, Value x, Sum sum) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t p, context.attributes().Int("p", 2));
  if (p < 1)
    return NodeContext::Error(
        StrCat("attribute p is ", p, ", expected a positive number"));
  GraphBuilder& g = context.builder();
  if (p == 1) return sum(g.Abs(x));
  if (p == 2) return g.Sqrt(sum(g.Mul(x, x)));
  return g.Pow(sum(g.Pow(g.Abs(x), static_cast<double>(p))),
               1 / static_cast<double>(p));
}

Status LpPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          context.attributes().Bool("ceil_mode", false));
  ENCORE_ASSIGN_OR_RETURN(Window window, ReadWindow(context, context.shape(x),
                                                    std::nullopt, ceil_mode));
  x = PadByHand(context, x, context.Scalar(x.dtype(), 0), &window);
  ReduceWindowAttrs attrs{Combiner::kSum, {1, 1}, {1, 1},
                          {0, 0},         {0, 0}, {1, 1}};
  const auto append = [](const Ints& from, Ints* to) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(window.sizes, &attrs.window);
  append(window.strides, &attrs.strides);
  append(ConstantPadding(window.padding_low), &attrs.padding_low);
  append(ConstantPadding(window.padding_high), &attrs.padding_high);
  append(window.dilations, &attrs.dilations);
  ENCORE_ASSIGN_OR_RETURN(const Value y, InNorm(context, x, [&](Value powers) {
                            return context.builder().ReduceWindow(powers,
                                                                  attrs);
                          }));
  return context.Output(0, y);
}

Status GlobalLpPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Ints axes, SpatialAxes(context, x));
  ENCORE_ASSIGN_OR_RETURN(const Value y, InNorm(context, x, [&](Value powers) {
                            return context.builder().Sum(powers, axes,
                                                         /*keep_dims=*/true);
                          }));
  return context.Output(0, y);
}

constexpr Converter kConverters[] = {
    {"AveragePool", AveragePool, Op::kAvgPool},
    {"GlobalAveragePool", GlobalAveragePool, Op::kMean},
    {"GlobalLpPool", GlobalLpPool, Op::kReduce},
    {"GlobalMaxPool", GlobalMaxPool, Op::kReduce},
    {"LpPool", LpPool, Op::kReduceWindow},
    {"MaxPool", MaxPool, Op::kMaxPool},
};

}  // namespace

std::span<const Converter> PoolingConverters() { return kConverters; }

}  // namespace encore::onnx
