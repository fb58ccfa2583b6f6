// Sequences and optionals.

#include <algorithm>
#include <optional>

#include "encore/ir/build/simplify_host.h"
#include "encore/ir/import/onnx/control/host_values.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/format/read_type.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Input i, which must be a sequence.
StatusOr<Value> SequenceInput(NodeContext& context, int i) {
  const Value value = context.Input(i);
  if (value.type().kind == ValueKind::kSequence) return value;
  return NodeContext::Error(
      StrCat("input ", i, " is ", value.type(), ", expected a sequence"));
}

// Input i, which must be a tensor.
StatusOr<Value> TensorInput(NodeContext& context, int i) {
  const Value value = context.Input(i);
  if (value.type().kind == ValueKind::kTensor) return value;
  return NodeContext::Error(
      StrCat("input ", i, " is ", value.type(), ", expected a tensor"));
}

// Input i as an i64 scalar.
StatusOr<Value> IndexInput(NodeContext& context, int i) {
  ENCORE_ASSIGN_OR_RETURN(const Value value, TensorInput(context, i));
  if (!IsInteger(value.dtype()) || value.shape().ElementCount() != Dim(1)) {
    return NodeContext::Error(
        StrCat("input ", i, " is ", value.type(), ", expected one index"));
  }
  return context.builder().Cast(context.Reshape(value, {}), DType::kI64);
}

std::optional<std::span<const ValueId>> Known(NodeContext& context,
                                              Value sequence) {
  return KnownElements(context.builder().graph(), sequence.id());
}

Status SequenceEmpty(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(0, 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t type,
                          context.attributes().Int("dtype", 1));
  if (type != static_cast<int32_t>(type)) {
    return NodeContext::Error(StrCat("attribute dtype is ", type,
                                     ", expected a TensorProto.DataType"));
  }
  const StatusOr<DType> dtype = DTypeOf(static_cast<int32_t>(type));
  if (!dtype.ok()) return Annotate(dtype.status(), "attribute dtype");
  return context.Output(
      0, context.Emit(Op::kSequence, {}, ElementTypeAttrs{*dtype}));
}

Status SequenceConstruct(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  const std::vector<Value> elements = context.Inputs();
  for (const Value& element : elements) {
    if (element.dtype() != elements[0].dtype()) {
      return NodeContext::Error(StrCat("inputs are ", elements[0].dtype(),
                                       " and ", element.dtype(),
                                       ", expected one type"));
    }
  }
  return context.Output(0, context.Emit(Op::kSequence, elements,
                                        ElementTypeAttrs{elements[0].dtype()}));
}

Status SequenceAt(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_ASSIGN_OR_RETURN(const Value sequence, SequenceInput(context, 0));
  ENCORE_ASSIGN_OR_RETURN(const Value index, IndexInput(context, 1));
  const auto elements = Known(context, sequence);
  if (const Literal* known = index.constant(); known != nullptr && elements) {
    const auto length = static_cast<int64_t>(elements->size());
    const auto place = PlaceOf(known->AsInt(0), length, length);
    if (!place) {
      return NodeContext::Error(StrCat("input 1 is ", known->AsInt(0),
                                       ", the sequence has ", length,
                                       " elements"));
    }
    return context.Output(0, context.builder().Wrap((*elements)[*place]));
  }
  ENCORE_ASSIGN_OR_RETURN(Dims shape, TakenShape(context, sequence));
  return context.Output(0, context.Emit(Op::kSequenceAt, {sequence, index},
                                        ElementAttrs{std::move(shape)}));
}

Status SequenceInsert(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  ENCORE_ASSIGN_OR_RETURN(const Value sequence, SequenceInput(context, 0));
  ENCORE_ASSIGN_OR_RETURN(const Value tensor, TensorInput(context, 1));
  Value index;
  if (context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(index, IndexInput(context, 2));
  } else {
    index = context.Emit(Op::kSequenceLength, {sequence});
  }
  return context.Output(
      0, context.Emit(Op::kSequenceInsert, {sequence, tensor, index}));
}

Status SequenceErase(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  ENCORE_ASSIGN_OR_RETURN(const Value sequence, SequenceInput(context, 0));
  Value index = context.builder().Scalar(DType::kI64, int64_t{-1});
  if (context.HasInput(1)) {
    ENCORE_ASSIGN_OR_RETURN(index, IndexInput(context, 1));
  }
  return context.Output(0, context.Emit(Op::kSequenceErase, {sequence, index}));
}

Status SequenceLength(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value sequence, SequenceInput(context, 0));
  return context.Output(0, context.Emit(Op::kSequenceLength, {sequence}));
}

// The lengths of the pieces of `extent` elements: those given, or `size` each
// but for the last.
Value PieceLengths(NodeContext& context, const Dim& extent, Value split) {
  GraphBuilder& g = context.builder();
  if (split.rank() == 1) return g.Cast(split, DType::kI64);
  const Value size = g.Cast(split, DType::kI64);
  const Value total = DimValue(context, extent);
  const Value count = g.Div(g.Sub(g.Add(total, size), int64_t{1}), size);
  const int64_t most =
      std::max<int64_t>(extent.UpperBound(g.graph().symbols()), 0);
  const Value number = CountTo(context, CountedSize(context, count, most));
  return g.Min(g.Sub(total, g.Mul(number, size)), size);
}

// The pieces as nodes, where lengths and extent are known and they are few.
std::optional<std::vector<Value>> KnownPieces(NodeContext& context, Value x,
                                              int64_t axis, Value lengths,
                                              bool squeeze) {
  const Dim& extent = x.shape()[static_cast<int>(axis)];
  const Literal* known = lengths.constant();
  if (known == nullptr || !extent.is_constant() ||
      known->element_count() > static_cast<int64_t>(kMaxKnownElements)) {
    return std::nullopt;
  }
  std::vector<Value> pieces;
  int64_t at = 0;
  for (int64_t i = 0; i < known->element_count(); ++i) {
    const int64_t length = known->AsInt(i);
    // What does not fit is left to the operator, which says so.
    if (length < 0 || length > extent.constant() - at) return std::nullopt;
    Value piece = context.builder().SliceAxis(x, axis, at, at + length);
    if (squeeze) piece = context.builder().Squeeze(piece, {axis});
    pieces.push_back(piece);
    at += length;
  }
  if (at != extent.constant()) return std::nullopt;
  return pieces;
}

Status SplitToSequence(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  ENCORE_ASSIGN_OR_RETURN(const Value x, TensorInput(context, 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(0, x.rank()));
  ENCORE_ASSIGN_OR_RETURN(const bool keep,
                          context.attributes().Bool("keepdims", true));
  Value split = context.builder().Scalar(DType::kI64, int64_t{1});
  const bool given = context.HasInput(1);
  if (given) {
    ENCORE_ASSIGN_OR_RETURN(split, TensorInput(context, 1));
    if (!IsInteger(split.dtype()) || split.rank() > 1) {
      return NodeContext::Error(
          StrCat("input 1 is ", split.type(),
                 ", expected a length or a vector of lengths"));
    }
    if (const Literal* size = split.constant();
        size != nullptr && size->rank() == 0 && size->AsInt(0) <= 0) {
      return NodeContext::Error(
          StrCat("input 1 is ", size->AsInt(0), ", expected a length"));
    }
  }
  const bool squeeze = !keep && !given;
  const Value lengths =
      PieceLengths(context, x.shape()[static_cast<int>(axis)], split);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  if (const auto pieces = KnownPieces(context, x, axis, lengths, squeeze)) {
    return context.Output(
        0, context.Emit(Op::kSequence, *pieces, ElementTypeAttrs{x.dtype()}));
  }
  return context.Output(0, context.Emit(Op::kSequenceSplit, {x, lengths},
                                        SequenceSplitAttrs{axis, squeeze}));
}

// The elements of a known sequence, joined.
StatusOr<Value> JoinKnown(NodeContext& context,
                          std::span<const ValueId> elements, int64_t axis,
                          bool stack) {
  GraphBuilder& g = context.builder();
  std::vector<Value> parts;
  for (const ValueId element : elements) parts.push_back(g.Wrap(element));
  const int64_t rank = parts[0].rank() + (stack ? 1 : 0);
  ENCORE_ASSIGN_OR_RETURN(axis, context.Axis(axis, rank, "attribute axis"));
  if (stack) {
    for (Value& part : parts) part = context.Unsqueeze(part, {axis});
  }
  return g.Concat(parts, axis);
}

Status ConcatFromSequence(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value sequence, SequenceInput(context, 0));
  ENCORE_ASSIGN_OR_RETURN(int64_t axis,
                          context.attributes().RequiredInt("axis"));
  ENCORE_ASSIGN_OR_RETURN(const bool stack,
                          context.attributes().Bool("new_axis", false));
  if (const auto elements = Known(context, sequence)) {
    if (elements->empty()) {
      return NodeContext::Error(
          "input 0 is an empty sequence, expected one or more elements");
    }
    ENCORE_ASSIGN_OR_RETURN(const Value joined,
                            JoinKnown(context, *elements, axis, stack));
    return context.Output(0, joined);
  }
  ENCORE_ASSIGN_OR_RETURN(Dims shape, TakenShape(context, sequence));
  ENCORE_ASSIGN_OR_RETURN(
      axis, context.Axis(axis, static_cast<int64_t>(shape.size()) + stack,
                         "attribute axis"));
  const Dim joined = RunTimeSize(context.builder());
  if (stack) {
    shape.insert(shape.begin() + axis, joined);
  } else {
    shape[axis] = joined;
  }
  return context.Output(
      0, context.Emit(Op::kSequenceConcat, {sequence},
                      SequenceConcatAttrs{axis, stack, std::move(shape)}));
}

// What an optional is of, from the attribute `type`.
StatusOr<OptionalAttrs> OptionalOf(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Type* type,
                          context.attributes().TypeValue("type"));
  if (type == nullptr) {
    return NodeContext::Error(
        "there is neither an input nor the attribute type");
  }
  if (type->kind != Type::Kind::kTensor &&
      type->kind != Type::Kind::kSequence) {
    return NodeContext::Error(
        StrCat("attribute type is ", TypeText(*type),
               ", expected a tensor or a sequence of tensors"));
  }
  const StatusOr<DType> dtype = DTypeOf(type->element_type);
  if (!dtype.ok()) return Annotate(dtype.status(), "attribute type");
  return OptionalAttrs{*dtype, type->kind == Type::Kind::kSequence};
}

Status Optional(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(0, 1));
  if (!context.HasInput(0)) {
    ENCORE_ASSIGN_OR_RETURN(const OptionalAttrs attrs, OptionalOf(context));
    return context.Output(0, context.Emit(Op::kOptional, {}, attrs));
  }
  context.attributes().Ignore("type");
  const Value value = context.Input(0);
  if (IsOptional(value.type().kind)) {
    return NodeContext::Error(
        StrCat("input 0 is ", value.type(), ", expected a tensor or sequence"));
  }
  const bool sequence = value.type().kind == ValueKind::kSequence;
  return context.Output(0,
                        context.Emit(Op::kOptional, {value},
                                     OptionalAttrs{value.dtype(), sequence}));
}

// Since opset 18 the input may be anything, or absent.
Status OptionalHasElement(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(0, 1));
  GraphBuilder& g = context.builder();
  if (!context.HasInput(0)) {
    return context.Output(0, g.Constant(Literal::Scalar(false)));
  }
  const Value value = context.Input(0);
  if (!IsOptional(value.type().kind)) {
    return context.Output(0, g.Constant(Literal::Scalar(true)));
  }
  return context.Output(0, context.Emit(Op::kOptionalHas, {value}));
}

Status OptionalGetElement(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value value = context.Input(0);
  if (!IsOptional(value.type().kind)) return context.Output(0, value);
  ENCORE_ASSIGN_OR_RETURN(const Value inner, ValueOf(context, value));
  return context.Output(0, inner);
}

constexpr Converter kConverters[] = {
    {"ConcatFromSequence", ConcatFromSequence, Op::kSequenceConcat},
    {"Optional", Optional, Op::kOptional},
    {"OptionalGetElement", OptionalGetElement, Op::kOptionalGet},
    {"OptionalHasElement", OptionalHasElement, Op::kOptionalHas},
    {"SequenceAt", SequenceAt, Op::kSequenceAt},
    {"SequenceConstruct", SequenceConstruct, Op::kSequence},
    {"SequenceEmpty", SequenceEmpty, Op::kSequence},
    {"SequenceErase", SequenceErase, Op::kSequenceErase},
    {"SequenceInsert", SequenceInsert, Op::kSequenceInsert},
    {"SequenceLength", SequenceLength, Op::kSequenceLength},
    {"SplitToSequence", SplitToSequence, Op::kSequenceSplit},
};

}  // namespace

std::span<const Converter> SequenceConverters() { return kConverters; }

}  // namespace encore::onnx
