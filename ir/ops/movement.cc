#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {

Types InferBroadcast(const InferContext& context) {
  const BroadcastAttrs& attrs = context.attrs<BroadcastAttrs>();
  const Shape& from = context.shape(0);
  const Shape to(attrs.shape);
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, "axes", attrs.axes.size(), from.rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckAscendingAxes(context, "axes", attrs.axes, to.rank()));
  ENCORE_RETURN_IF_ERROR(CheckExtents(context, "shape", to.dims()));
  for (int i = 0; i < from.rank(); ++i) {
    const Dim& target = to[static_cast<int>(attrs.axes[i])];
    if (from[i] == target || from[i] == Dim(1)) continue;
    return context.Error(
        StrCat("attribute shape is ", to.ToString(context.symbols), ": dim ",
               attrs.axes[i], " comes from operand dim ", i, " of ",
               from.ToString(context.symbols), ", expected that extent"));
  }
  return Like(context, to);
}

Types InferReshape(const InferContext& context) {
  const Shape to(context.attrs<ReshapeAttrs>().shape);
  const Dim before = context.shape(0).ElementCount();
  const Dim after = to.ElementCount();
  if (!after.valid() || NeverEqual(context, before, after)) {
    return context.Error(
        StrCat("attribute shape is ", to.ToString(context.symbols),
               ", expected ", before.ToString(context.symbols),
               " elements as in ", context.shape(0).ToString(context.symbols)));
  }
  ENCORE_RETURN_IF_ERROR(CheckExtents(context, "shape", to.dims()));
  return Like(context, to);
}

Types InferTranspose(const InferContext& context) {
  const Ints& permutation = context.attrs<TransposeAttrs>().permutation;
  const Shape& from = context.shape(0);
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, "permutation", permutation.size(), from.rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckDistinctAxes(context, "permutation", permutation, from.rank()));
  std::vector<Dim> dims;
  for (const int64_t axis : permutation) {
    dims.push_back(from[static_cast<int>(axis)]);
  }
  return Like(context, Shape(std::move(dims)));
}

Types InferSlice(const InferContext& context) {
  const SliceAttrs& attrs = context.attrs<SliceAttrs>();
  const Shape& from = context.shape(0);
  const auto rank = static_cast<size_t>(from.rank());
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, "starts", attrs.starts.size(), rank));
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, "limits", attrs.limits.size(), rank));
  ENCORE_RETURN_IF_ERROR(CheckEach(context, "strides", attrs.strides, rank, 1));
  std::vector<Dim> dims;
  for (int i = 0; i < from.rank(); ++i) {
    const Dim &start = attrs.starts[i], &limit = attrs.limits[i];
    if (AlwaysLess(context, start, 0) || AlwaysLess(context, limit, start) ||
        AlwaysLess(context, from[i], limit)) {
      return context.Error(
          StrCat("dim ", i, " from ", start.ToString(context.symbols), " to ",
                 limit.ToString(context.symbols), ", expected a range in [0, ",
                 from[i].ToString(context.symbols), "]"));
    }
    const Dim length = limit - start;
    dims.push_back(attrs.strides[i] == 1
                       ? length
                       : FloorDiv(length - 1, attrs.strides[i]) + 1);
  }
  return Like(context, Shape(std::move(dims)));
}

Types InferPad(const InferContext& context) {
  const PadAttrs& attrs = context.attrs<PadAttrs>();
  const Shape& from = context.shape(0);
  const auto rank = static_cast<size_t>(from.rank());
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 0));
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "low", attrs.low.size(), rank));
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "high", attrs.high.size(), rank));
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "interior", attrs.interior, rank, 0));
  std::vector<Dim> dims;
  for (int i = 0; i < from.rank(); ++i) {
    for (const Dim& dim : {attrs.low[i], attrs.high[i]}) {
      if (dim.is_constant()) {
        const int64_t padding = dim.constant();
        ENCORE_RETURN_IF_ERROR(
            CheckPadding(context, "low or high", {&padding, 1}, 1));
      }
    }
    Dim spread = from[i];
    if (attrs.interior[i] != 0) {
      const Dim step = Dim(attrs.interior[i]) + 1;
      spread = (from[i] - 1) * step + 1;
      if (spread.valid()) spread = AtLeastZero(context, spread);
    }
    const Dim padded = spread + attrs.low[i] + attrs.high[i];
    if (padded.valid() && AlwaysLess(context, padded, 0)) {
      return context.Error(
          StrCat("attributes low and high remove more than "
                 "there is of dim ",
                 i, " of ", from.ToString(context.symbols)));
    }
    dims.push_back(padded);
  }
  return Like(context, Shape(std::move(dims)));
}

Types InferConcat(const InferContext& context) {
  const int64_t axis = context.attrs<AxisAttrs>().axis;
  Shape shape = context.shape(0);
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis", axis, shape.rank()));
  const int at = static_cast<int>(axis);
  Dim extent = shape[at];
  for (int i = 1; i < static_cast<int>(context.operands.size()); ++i) {
    ENCORE_RETURN_IF_ERROR(CheckRank(context, i, shape.rank()));
    extent = extent + context.shape(i)[at];
    shape[at] = context.shape(i)[at];
    ENCORE_RETURN_IF_ERROR(CheckShape(context, i, shape));
  }
  shape[at] = extent;
  return Like(context, std::move(shape));
}

Types InferReverse(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckAscendingAxes(context, "axes",
                                            context.attrs<AxesAttrs>().axes,
                                            context.shape(0).rank()));
  return SameAsOperand(context);
}

}  // namespace encore::ops
