#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {

// All operands have one shape, the result's.
Types InferElementwise(const InferContext& context) {
  for (int i = 1; i < static_cast<int>(context.operands.size()); ++i) {
    ENCORE_RETURN_IF_ERROR(CheckShape(context, i, context.shape(0)));
  }
  // The operands of type T decide; a select's first is its condition.
  const Signature& signature = Info(context.op).signature();
  const TypeSlot& result = signature.results[0];
  DType dtype = result.dtype;
  if (result.kind == TypeSlot::Kind::kT) {
    dtype = context.dtype(static_cast<int>(context.operands.size()) - 1);
  }
  return std::vector<TensorType>{{dtype, context.shape(0), ValueKind::kTensor}};
}

Types InferBitcast(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const DType to = context.attrs<ElementTypeAttrs>().dtype;
  const auto has_bits = [](DType dtype) {
    return !IsString(dtype) && dtype != DType::kBool;
  };
  if (operand.kind != ValueKind::kTensor || !has_bits(operand.dtype)) {
    return context.Error(StrCat("operand 0 is ",
                                operand.ToString(context.symbols),
                                ", expected a tensor of numbers"));
  }
  if (!has_bits(to) || BitWidth(to) != BitWidth(operand.dtype)) {
    return context.Error(StrCat("attribute dtype is ", to,
                                ", expected numbers as wide as ",
                                operand.dtype));
  }
  return std::vector<TensorType>{{to, context.shape(0), ValueKind::kTensor}};
}

Types InferCast(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  if (operand.kind != ValueKind::kTensor || IsString(operand.dtype)) {
    return context.Error(StrCat("operand 0 is ",
                                operand.ToString(context.symbols),
                                ", expected a tensor of numbers or bool"));
  }
  const CastAttrs& attrs = context.attrs<CastAttrs>();
  if (attrs.saturate && (!IsFloat(attrs.dtype) || BitWidth(attrs.dtype) > 8)) {
    return context.Error(StrCat("attribute saturate is true for ", attrs.dtype,
                                ", expected a float of 8 bits or less"));
  }
  return std::vector<TensorType>{
      {attrs.dtype, context.shape(0), ValueKind::kTensor}};
}

}  // namespace encore::ops
