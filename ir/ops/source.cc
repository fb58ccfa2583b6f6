#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {

Types InferSource(const InferContext& context) {
  return context.Error(
      "cannot be added as a node: add an argument to the graph");
}

Types InferConstant(const InferContext& context) {
  const TensorType type = context.attrs<ConstantAttrs>().value.type();
  if (type.kind != ValueKind::kTensor) {
    return context.Error(
        StrCat("attribute value is ", type.ToString(), ", expected a tensor"));
  }
  return std::vector<TensorType>{type};
}

Types InferIota(const InferContext& context) {
  const IotaAttrs& attrs = context.attrs<IotaAttrs>();
  if (attrs.shape.size() > kMaxRank) {
    return context.Error(StrCat("attribute shape has ", attrs.shape.size(),
                                " dims, at most ", kMaxRank, " are supported"));
  }
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis", attrs.axis,
                                   static_cast<int>(attrs.shape.size())));
  return std::vector<TensorType>{
      {attrs.dtype, Shape(attrs.shape), ValueKind::kTensor}};
}

Types InferCountUp(const InferContext& context) {
  const Dims& size = context.attrs<CountUpAttrs>().size;
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 0, 0));
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "size", size.size(), 1));
  if (!size[0].is_constant() && !size[0].symbol()) {
    return context.Error(StrCat("attribute size is ",
                                size[0].ToString(context.symbols),
                                ", expected a constant or a symbol"));
  }
  return std::vector<TensorType>{
      {DType::kI64, Shape(size), ValueKind::kTensor}};
}

Types InferAssertion(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 0));
  return std::vector<TensorType>{context.operand(0)};
}

Types InferRandom(const InferContext& context) {
  const RandomAttrs& attrs = context.attrs<RandomAttrs>();
  return std::vector<TensorType>{
      {attrs.dtype, Shape(attrs.shape), ValueKind::kTensor}};
}

Types InferDimValues(const InferContext& context) {
  const auto count =
      static_cast<int64_t>(context.attrs<DimValuesAttrs>().dims.size());
  return std::vector<TensorType>{
      {DType::kI64, Shape({Dim(count)}), ValueKind::kTensor}};
}

}  // namespace encore::ops
