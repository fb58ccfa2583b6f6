#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {

Types InferReduce(const InferContext& context) {
  const ReduceAttrs& attrs = context.attrs<ReduceAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckAscendingAxes(context, "axes", attrs.axes, context.shape(0).rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckCombiner(context, attrs.combiner, context.dtype(0)));
  return Like(context, WithoutAxes(context.shape(0), attrs.axes));
}

Types InferMean(const InferContext& context) {
  const Ints& axes = context.attrs<AxesAttrs>().axes;
  ENCORE_RETURN_IF_ERROR(
      CheckAscendingAxes(context, "axes", axes, context.shape(0).rank()));
  return Like(context, WithoutAxes(context.shape(0), axes));
}

Types InferArgReduce(const InferContext& context) {
  const ArgReduceAttrs& attrs = context.attrs<ArgReduceAttrs>();
  const Shape& shape = context.shape(0);
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis", attrs.axis, shape.rank()));
  if (attrs.combiner != Combiner::kMax && attrs.combiner != Combiner::kMin) {
    return context.Error(StrCat("attribute combiner is ",
                                EnumText(attrs.combiner),
                                ", expected max or min"));
  }
  if (attrs.dtype != DType::kI32 && attrs.dtype != DType::kI64) {
    return context.Error(
        StrCat("attribute dtype is ", attrs.dtype, ", expected i32 or i64"));
  }
  if (shape[static_cast<int>(attrs.axis)] == Dim(0)) {
    return context.Error(StrCat("attribute axis is ", attrs.axis,
                                ", where operand 0 has no elements"));
  }
  return std::vector<TensorType>{
      {attrs.dtype, WithoutAxes(shape, {&attrs.axis, 1}), ValueKind::kTensor}};
}

Types InferCumulative(const InferContext& context) {
  const CumulativeAttrs& attrs = context.attrs<CumulativeAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckAxis(context, "axis", attrs.axis, context.shape(0).rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckCombiner(context, attrs.combiner, context.dtype(0)));
  return SameAsOperand(context);
}

}  // namespace encore::ops
