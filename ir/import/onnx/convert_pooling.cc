#include <cmath>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/window.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

PoolAttrs PoolOf(Window window) {
  PoolAttrs pool;
  pool.window = std::move(window.sizes);
  pool.strides = std::move(window.strides);
  pool.padding_low = std::move(window.padding_low);
  pool.padding_high = std::move(window.padding_high);
  pool.dilations = std::move(window.dilations);
  return pool;
}

// What is below every other number of a dtype.
Value Lowest(NodeContext& context, DType dtype) {
  if (IsFloat(dtype)) return context.Scalar(dtype, -INFINITY);
  const int bits = IsUnsigned(dtype) ? 0 : BitWidth(dtype);
  return context.Scalar(dtype, bits == 0 ? 0 : -std::ldexp(1.0, bits - 1));
}

// Where each window's largest element lies in the whole of x: x is looked up at
// the windows' elements, which stand in a table, and the first largest wins.
Status MaxIndices(NodeContext& context, Value x, const Window& window,
                  bool column_major, const Shape& pooled) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(x);
  if (!shape.is_constant()) {
    return UnimplementedError("output Indices needs known extents");
  }
  const std::vector<int64_t> dims = shape.ConstantDims();
  const std::vector<int64_t> result = pooled.ConstantDims();
  const size_t spatial = window.sizes.size();
  const int64_t taps = *ElementCount(window.sizes);
  const int64_t places = *ElementCount(std::span(result).subspan(2));
  const std::vector<int64_t> strides =
      RowMajorStrides(std::span(dims).subspan(2));
  Literal table(DType::kI64, {places, taps}),
      named(DType::kI64, {places, taps});
  Literal inside(DType::kBool, {places, taps});
  for (int64_t i = 0; i < places * taps; ++i) {
    int64_t place = i / taps, tap = i % taps, at = 0, name = 0, within = 1;
    for (size_t d = spatial; d-- > 0;) {
      const int64_t p = place % result[d + 2], t = tap % window.sizes[d];
      place /= result[d + 2];
      tap /= window.sizes[d];
      const int64_t position = p * window.strides[d] + t * window.dilations[d] -
                               window.padding_low[d];
      within &= position >= 0 && position < dims[d + 2];
      at += position * strides[d];
      int64_t stride = strides[d];
      if (column_major) {
        stride = 1;
        for (size_t k = 0; k < d; ++k) stride *= dims[k + 2];
      }
      name += position * stride;
    }
    inside.SetInt(i, within);
    table.SetInt(i, within ? at : 0);
    named.SetInt(i, within ? name : 0);
  }
  const int64_t size = *ElementCount(std::span(dims).subspan(2));
  const Value flat = context.Reshape(x, {shape[0], shape[1], size});
  const Value seen = g.Take(flat, g.Constant(std::move(table)), 2);
  // An index that is outside never wins: NaN aside, nothing is below it.
  const Value rank = g.ArgReduce(
      g.Select(g.Constant(std::move(inside)), seen, Lowest(context, x.dtype())),
      {Combiner::kMax, 3, false, DType::kI64});
  const Value row = g.Add(g.Mul(g.Iota(DType::kI64, {places}, 0), taps), rank);
  const Value found =
      g.Take(g.Reshape(g.Constant(std::move(named)), {places * taps}), row, 0);
  const Value plane =
      g.Reshape(g.Mul(g.Iota(DType::kI64, {dims[0] * dims[1]}, 0), size),
                {dims[0], dims[1], 1});
  return context.Output(1, g.Reshape(g.Add(found, plane), pooled));
}

Status MaxPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          context.attributes().Bool("ceil_mode", false));
  ENCORE_ASSIGN_OR_RETURN(const bool column_major,
                          context.attributes().Bool("storage_order", false));
  ENCORE_ASSIGN_OR_RETURN(Window window, ReadWindow(context, context.shape(x),
                                                    std::nullopt, ceil_mode));
  const Value pooled = context.Emit(Op::kMaxPool, {x}, PoolOf(window));
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  if (context.WantsOutput(1)) {
    ENCORE_RETURN_IF_ERROR(
        MaxIndices(context, x, window, column_major, context.shape(pooled)));
  }
  return context.Output(0, pooled);
}

// With ceil_mode, padding that only completes the last window is not counted,
// even where padding is: the input is then padded by hand, and what lies beyond
// does not count.
Status AveragePool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          attributes.Bool("ceil_mode", false));
  ENCORE_ASSIGN_OR_RETURN(const bool count_padding,
                          attributes.Bool("count_include_pad", false));
  ENCORE_ASSIGN_OR_RETURN(Window plain,
                          ReadWindow(context, shape, std::nullopt, false));
  ENCORE_ASSIGN_OR_RETURN(Window window,
                          ReadWindow(context, shape, std::nullopt, ceil_mode));
  if (!count_padding || window.padding_high == plain.padding_high) {
    PoolAttrs pool = PoolOf(std::move(window));
    pool.count_padding = count_padding;
    return context.Output(0, context.Emit(Op::kAvgPool, {x}, std::move(pool)));
  }
  PadAttrs pad{Dims(2, 0), Dims(2, 0), Ints(shape.rank(), 0)};
  pad.low.insert(pad.low.end(), plain.padding_low.begin(),
                 plain.padding_low.end());
  pad.high.insert(pad.high.end(), plain.padding_high.begin(),
                  plain.padding_high.end());
  x = context.Emit(Op::kPad, {x, context.Scalar(context.dtype(x), 0)},
                   std::move(pad));
  for (size_t i = 0; i < plain.sizes.size(); ++i) {
    window.padding_low[i] = 0;
    window.padding_high[i] -= plain.padding_high[i];
  }
  return context.Output(
      0, context.Emit(Op::kAvgPool, {x}, PoolOf(std::move(window))));
}

StatusOr<Ints> SpatialAxes(NodeContext& context, Value x) {
  Ints axes;
  for (int i = 2; i < context.rank(x); ++i) axes.push_back(i);
  if (axes.empty()) {
    return NodeContext::Error(StrCat("input of rank ", context.rank(x),
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
  if (p < 1) return NodeContext::Error(StrCat("attribute p is ", p));
  GraphBuilder& g = context.builder();
  if (p == 1) return sum(g.Abs(x));
  if (p == 2) return g.Sqrt(sum(g.Mul(x, x)));
  return g.Pow(sum(g.Pow(g.Abs(x), static_cast<double>(p))),
               1 / static_cast<double>(p));
}

Status LpPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          context.attributes().Bool("ceil_mode", false));
  ENCORE_ASSIGN_OR_RETURN(
      const Window window,
      ReadWindow(context, context.shape(x), std::nullopt, ceil_mode));
  ReduceWindowAttrs attrs{Combiner::kSum, {1, 1}, {1, 1},
                          {0, 0},         {0, 0}, {1, 1}};
  const auto append = [](const Ints& from, Ints* to) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(window.sizes, &attrs.window);
  append(window.strides, &attrs.strides);
  append(window.padding_low, &attrs.padding_low);
  append(window.padding_high, &attrs.padding_high);
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
