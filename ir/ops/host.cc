#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {
namespace {

std::vector<TensorType> HostObject(DType dtype, ValueKind kind) {
  return {{dtype, Shape(), kind}};
}

// A shape that is an attribute.
Status CheckAttributeRank(const InferContext& context, const Dims& shape) {
  if (shape.size() <= kMaxRank) return OkStatus();
  return context.Error(StrCat("attribute shape has ", shape.size(),
                              " dims, at most ", kMaxRank, " are supported"));
}

// Operand 0 is an optional.
Status CheckOptional(const InferContext& context) {
  if (IsOptional(context.operand(0).kind)) return OkStatus();
  return context.Error(StrCat("operand 0 is ",
                              context.operand(0).ToString(context.symbols),
                              ", expected an optional"));
}

}  // namespace

Types InferSequence(const InferContext& context) {
  const DType dtype = context.attrs<ElementTypeAttrs>().dtype;
  if (!context.operands.empty() && context.dtype(0) != dtype) {
    return context.Error(StrCat("attribute dtype is ", dtype,
                                ", the operands are ", context.dtype(0)));
  }
  return HostObject(dtype, ValueKind::kSequence);
}

Types InferSequenceAt(const InferContext& context) {
  const Dims& shape = context.attrs<ElementAttrs>().shape;
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 0));
  ENCORE_RETURN_IF_ERROR(CheckAttributeRank(context, shape));
  return Like(context, Shape(shape));
}

Types InferSequenceInsert(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 2, 0));
  return HostObject(context.dtype(0), ValueKind::kSequence);
}

Types InferSequenceErase(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 0));
  return HostObject(context.dtype(0), ValueKind::kSequence);
}

Types InferSequenceLength(const InferContext&) {
  return std::vector<TensorType>{{DType::kI64, Shape(), ValueKind::kTensor}};
}

Types InferSequenceConcat(const InferContext& context) {
  const SequenceConcatAttrs& attrs = context.attrs<SequenceConcatAttrs>();
  ENCORE_RETURN_IF_ERROR(CheckAttributeRank(context, attrs.shape));
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis", attrs.axis,
                                   static_cast<int>(attrs.shape.size())));
  return Like(context, Shape(attrs.shape));
}

Types InferSequenceSplit(const InferContext& context) {
  const SequenceSplitAttrs& attrs = context.attrs<SequenceSplitAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckAxis(context, "axis", attrs.axis, context.shape(0).rank()));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 1));
  return HostObject(context.dtype(0), ValueKind::kSequence);
}

Types InferOptional(const InferContext& context) {
  const OptionalAttrs& attrs = context.attrs<OptionalAttrs>();
  const ValueKind value =
      attrs.sequence ? ValueKind::kSequence : ValueKind::kTensor;
  if (!context.operands.empty() &&
      (context.operand(0).kind != value || context.dtype(0) != attrs.dtype)) {
    return context.Error(
        StrCat("operand 0 is ", context.operand(0).ToString(context.symbols),
               ", expected a ", attrs.sequence ? "sequence" : "tensor",
               " of the attribute dtype, ", attrs.dtype));
  }
  return HostObject(attrs.dtype, attrs.sequence ? ValueKind::kOptionalSequence
                                                : ValueKind::kOptional);
}

Types InferOptionalHas(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckOptional(context));
  return std::vector<TensorType>{{DType::kBool, Shape(), ValueKind::kTensor}};
}

Types InferOptionalGet(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckOptional(context));
  const Dims& shape = context.attrs<ElementAttrs>().shape;
  ENCORE_RETURN_IF_ERROR(CheckAttributeRank(context, shape));
  if (context.operand(0).kind == ValueKind::kOptional) {
    return Like(context, Shape(shape));
  }
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "shape", shape.size(), 0));
  return HostObject(context.dtype(0), ValueKind::kSequence);
}

Types InferTakeStrings(const InferContext& context) {
  return std::vector<TensorType>{
      {DType::kString, context.shape(0), ValueKind::kTensor}};
}

Types InferStringBinary(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckShape(context, 1, context.shape(0)));
  const DType dtype =
      context.op == Op::kStringEqual ? DType::kBool : DType::kString;
  return std::vector<TensorType>{{dtype, context.shape(0), ValueKind::kTensor}};
}

Types InferStringFormat(const InferContext& context) {
  return std::vector<TensorType>{
      {DType::kString, context.shape(0), ValueKind::kTensor}};
}

Types InferStringParse(const InferContext& context) {
  return std::vector<TensorType>{{context.attrs<ElementTypeAttrs>().dtype,
                                  context.shape(0), ValueKind::kTensor}};
}

Types InferStringSplit(const InferContext& context) {
  const StringSplitAttrs& attrs = context.attrs<StringSplitAttrs>();
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "size", attrs.size.size(), 1));
  if (attrs.max_split < -1) {
    return context.Error(StrCat("attribute max_split is ", attrs.max_split,
                                ", expected a count, or -1"));
  }
  Shape pieces = context.shape(0);
  pieces.mutable_dims().push_back(attrs.size[0]);
  return std::vector<TensorType>{
      {DType::kString, std::move(pieces), ValueKind::kTensor},
      {DType::kI64, context.shape(0), ValueKind::kTensor}};
}

Types InferStringNormalize(const InferContext& context) {
  const StringNormalizeAttrs& attrs = context.attrs<StringNormalizeAttrs>();
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "size", attrs.size.size(), 1));
  const TensorType words = attrs.stop_words.type();
  if (words.dtype != DType::kString || words.kind != ValueKind::kTensor ||
      words.shape.rank() != 1) {
    return context.Error(StrCat("attribute stop_words is ", words.ToString(),
                                ", expected a vector of strings"));
  }
  Shape shape = context.shape(0);
  const int rank = shape.rank();
  if (rank < 1 || rank > 2 ||
      (rank == 2 && NeverEqual(context, shape[0], Dim(1)))) {
    return context.Error(StrCat("operand 0 has the shape ",
                                shape.ToString(context.symbols),
                                ", expected [C] or [1,C]"));
  }
  shape[rank - 1] = attrs.size[0];
  return Like(context, std::move(shape));
}

Types InferDecodeImage(const InferContext& context) {
  const DecodeImageAttrs& attrs = context.attrs<DecodeImageAttrs>();
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 0, 1));
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "size", attrs.size.size(), 2));
  const int64_t channels = attrs.format == PixelFormat::kGrayscale ? 1 : 3;
  return std::vector<TensorType>{
      {DType::kU8, Shape({attrs.size[0], attrs.size[1], channels}),
       ValueKind::kTensor}};
}

Types InferStringMatch(const InferContext& context) {
  return std::vector<TensorType>{
      {DType::kBool, context.shape(0), ValueKind::kTensor}};
}

}  // namespace encore::ops
