#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {
namespace {

Types InferAlongAxis(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis",
                                   context.attrs<AxisAttrs>().axis,
                                   context.shape(0).rank()));
  return SameAsOperand(context);
}

// Scale and bias, where given, have the shape of dims axis, axis + 1, …
Types InferOverLastDims(const InferContext& context) {
  const LayerNormAttrs& attrs = context.attrs<LayerNormAttrs>();
  const Shape& shape = context.shape(0);
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis", attrs.axis, shape.rank()));
  ENCORE_RETURN_IF_ERROR(CheckEpsilon(context, attrs.epsilon));
  const Shape normalized(
      std::vector<Dim>(shape.dims().begin() + attrs.axis, shape.dims().end()));
  for (int i = 1; i < static_cast<int>(context.operands.size()); ++i) {
    ENCORE_RETURN_IF_ERROR(CheckShape(context, i, normalized));
  }
  return SameAsOperand(context);
}

// Every operand but the first has an element per channel (dim 1).
Types InferPerChannel(const InferContext& context, double epsilon) {
  ENCORE_RETURN_IF_ERROR(CheckMinRank(context, 0, 2));
  ENCORE_RETURN_IF_ERROR(CheckEpsilon(context, epsilon));
  const Shape channels({context.shape(0)[1]});
  for (int i = 1; i < static_cast<int>(context.operands.size()); ++i) {
    ENCORE_RETURN_IF_ERROR(CheckShape(context, i, channels));
  }
  return SameAsOperand(context);
}

}  // namespace

Types InferSoftmax(const InferContext& context) {
  return InferAlongAxis(context);
}

Types InferLogSoftmax(const InferContext& context) {
  return InferAlongAxis(context);
}

Types InferHardmax(const InferContext& context) {
  return InferAlongAxis(context);
}

Types InferLayerNorm(const InferContext& context) {
  return InferOverLastDims(context);
}

Types InferRmsNorm(const InferContext& context) {
  return InferOverLastDims(context);
}

Types InferBatchNorm(const InferContext& context) {
  return InferPerChannel(context, context.attrs<EpsilonAttrs>().epsilon);
}

Types InferInstanceNorm(const InferContext& context) {
  return InferPerChannel(context, context.attrs<EpsilonAttrs>().epsilon);
}

Types InferGroupNorm(const InferContext& context) {
  const GroupNormAttrs& attrs = context.attrs<GroupNormAttrs>();
  ENCORE_RETURN_IF_ERROR(CheckMinRank(context, 0, 2));
  const Dim& channels = context.shape(0)[1];
  if (attrs.groups < 1 ||
      FloorDiv(channels, attrs.groups) * attrs.groups != channels) {
    return context.Error(StrCat("attribute groups is ", attrs.groups,
                                ", expected a divisor of the channels, ",
                                channels.ToString(context.symbols)));
  }
  return InferPerChannel(context, attrs.epsilon);
}

}  // namespace encore::ops
