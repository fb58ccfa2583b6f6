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

Status MaxPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_RETURN_IF_ERROR(context.CheckOutputs(1));
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool ceil_mode,
                          context.attributes().Bool("ceil_mode", false));
  context.attributes().Ignore("storage_order");
  ENCORE_ASSIGN_OR_RETURN(Window window, ReadWindow(context, context.shape(x),
                                                    std::nullopt, ceil_mode));
  return context.Output(
      0, context.Emit(Op::kMaxPool, {x}, PoolOf(std::move(window))));
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

constexpr Converter kConverters[] = {
    {"AveragePool", AveragePool, Op::kAvgPool},
    {"GlobalAveragePool", GlobalAveragePool, Op::kMean},
    {"GlobalMaxPool", GlobalMaxPool, Op::kReduce},
    {"MaxPool", MaxPool, Op::kMaxPool},
};

}  // namespace

std::span<const Converter> PoolingConverters() { return kConverters; }

}  // namespace encore::onnx
