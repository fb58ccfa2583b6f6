#include "encore/ir/import/onnx/convert/quantization.h"

#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::onnx {

StatusOr<Value> SpreadParameter(NodeContext& context, Value value,
                                const Shape& shape, int64_t axis,
                                int64_t block) {
  GraphBuilder& g = context.builder();
  if (value.rank() == 0) return value;
  if (value.rank() == 1 && block == 0) {
    if (value.shape()[0] == Dim(1)) return context.Reshape(value, {});
    if (axis < 0 || axis >= shape.rank()) {
      return NodeContext::Error(
          StrCat("attribute axis is outside of rank ", shape.rank()));
    }
    Dims dims(shape.rank() - axis, 1);
    dims[0] = value.shape()[0];
    return context.Reshape(value, std::move(dims));
  }
  if (value.rank() != shape.rank() || block < 1 || axis < 0 ||
      axis >= shape.rank()) {
    return NodeContext::Error(StrCat("a scale or zero point is ", value.type(),
                                     " does not fit ", shape.ToString()));
  }
  Dims wide = value.shape().dims(), flat = wide;
  Ints axes;
  for (int i = 0; i < value.rank(); ++i) axes.push_back(i + (i > axis));
  wide.insert(wide.begin() + axis + 1, block);
  flat[axis] = flat[axis] * block;
  const Value repeated = context.Reshape(
      g.Broadcast(value, Shape(std::move(wide)), std::move(axes)), flat);
  return g.SliceAxis(repeated, axis, 0, shape[axis]);
}

Value Quantized(GraphBuilder& g, Value scaled, Value zero_point, DType dtype,
                bool saturates) {
  if (IsFloat(dtype)) return g.Cast(scaled, dtype, saturates);
  Value rounded = g.Round(scaled);
  if (zero_point.valid()) {
    // Floats of 16 bits do not have all integers of 16 bits.
    const bool wide = BitWidth(dtype) > 8 && BitWidth(rounded.dtype()) <= 16;
    if (wide) rounded = g.Cast(rounded, DType::kF32);
    rounded = g.Add(rounded, g.Cast(zero_point, rounded.dtype()));
  }
  return g.Cast(rounded, dtype);
}

Value Centered(NodeContext& context, int i, int zero_point, int axis) {
  GraphBuilder& g = context.builder();
  const Value x = g.Cast(context.Input(i), DType::kI32);
  if (!context.HasInput(zero_point)) return x;
  Value zero = g.Cast(context.Input(zero_point), DType::kI32);
  if (zero.rank() == 1 && zero.shape()[0] == Dim(1)) {
    zero = context.Reshape(zero, {});
  } else if (zero.rank() == 1) {
    Dims dims(axis, 1);
    dims[0] = zero.shape()[0];
    zero = context.Reshape(zero, std::move(dims));
  }
  return g.Sub(x, zero);
}

DynamicRange RangeOf(GraphBuilder& g, Value x) {
  Ints axes = AxesFrom(0, x.rank());
  const Value low = g.Min(g.Reduce(x, Combiner::kMin, axes), 0.0);
  const Value high = g.Max(g.Reduce(x, Combiner::kMax, axes), 0.0);
  const Value range = g.Sub(high, low);
  // Of nothing but zeros the scale is 1, as everybody has it.
  const Value scale = g.Select(g.Compare(range, 0.0, Comparison::kEq), 1.0,
                               g.Div(range, 255.0));
  return {scale, g.Cast(g.Round(g.Div(g.Neg(low), scale)), DType::kU8)};
}

DynamicSteps StepsOf(GraphBuilder& g, Value x) {
  const DynamicRange range = RangeOf(g, x);
  const Value zero_point = g.Cast(range.zero_point, x.dtype());
  const Value raised =
      g.Clamp(g.Add(g.Round(g.Div(x, range.scale)), zero_point), 0.0, 255.0);
  return {g.Sub(raised, zero_point), range.scale};
}

}  // namespace encore::onnx
