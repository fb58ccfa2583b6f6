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

Types InferDefineSymbols(const InferContext& context) {
  const Dims& dims = context.attrs<DefineSymbolsAttrs>().dims;
  const Shape& shape = context.operand(0).shape;
  if (shape.rank() > 1 || !shape.is_constant()) {
    return context.Error(StrCat("operand 0 is ",
                                context.operand(0).ToString(context.symbols),
                                ", expected a scalar or a vector of known "
                                "length"));
  }
  const int64_t length = shape.ElementCount().constant();
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, "dims", dims.size(), static_cast<size_t>(length)));
  for (const Dim& dim : dims) {
    const auto symbol = dim.symbol();
    const bool defines = symbol && *symbol < context.symbols.size() &&
                         context.symbols[*symbol].at_run_time;
    if (defines || (dim.is_constant() && dim.constant() >= 0)) continue;
    return context.Error(
        StrCat("attribute dims has ", dim.ToString(context.symbols),
               ", expected an extent or a symbol that is known at run time "
               "only"));
  }
  return std::vector<TensorType>{context.operand(0)};
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
