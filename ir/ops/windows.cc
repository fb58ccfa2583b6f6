#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"

namespace encore::ops {
namespace {

// The fields that ReduceWindowAttrs and PoolAttrs share; windows slide over
// dims first, first + 1, …
template <typename Attrs>
Types InferWindows(const InferContext& context, const Attrs& attrs, int first) {
  Shape shape = context.shape(0);
  const size_t count = shape.rank() - first;
  ENCORE_RETURN_IF_ERROR(CheckEach(context, "window", attrs.window, count, 1));
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "strides", attrs.strides, count, 1));
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "dilations", attrs.dilations, count, 1));
  ENCORE_RETURN_IF_ERROR(
      CheckPadding(context, "padding_low", attrs.padding_low, count));
  ENCORE_RETURN_IF_ERROR(
      CheckPadding(context, "padding_high", attrs.padding_high, count));
  for (size_t i = 0; i < count; ++i) {
    Dim& extent = shape[first + static_cast<int>(i)];
    extent = WindowCount(
        context, extent,
        {attrs.window[i], attrs.strides[i], attrs.padding_low[i],
         attrs.padding_high[i], attrs.dilations[i], /*base_dilation=*/1});
  }
  return Like(context, std::move(shape));
}

Types InferPool(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckMinRank(context, 0, 2));
  return InferWindows(context, context.attrs<PoolAttrs>(), 2);
}

}  // namespace

Types InferReduceWindow(const InferContext& context) {
  const ReduceWindowAttrs& attrs = context.attrs<ReduceWindowAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckCombiner(context, attrs.combiner, context.dtype(0)));
  return InferWindows(context, attrs, 0);
}

Types InferMaxPool(const InferContext& context) { return InferPool(context); }

Types InferAvgPool(const InferContext& context) { return InferPool(context); }

}  // namespace encore::ops
