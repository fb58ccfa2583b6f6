#include "encore/ir/import/onnx/format/read_type.h"

#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/wire_fields.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Kind = Type::Kind;

Status Read(Wire wire, Dimension* dimension) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Dimension::kDimValue: {
        int64_t value = 0;
        wire.Get(&value);
        dimension->value = value;
        break;
      }
      case fields::Dimension::kDimParam:
        wire.GetText(&dimension->param);
        break;
    }
  }
  return wire.status();
}

Status ReadShape(Wire wire, std::vector<Dimension>* shape) {
  while (wire.Next()) {
    if (wire.field() != fields::TensorShape::kDim) continue;
    ENCORE_RETURN_IF_ERROR(Read(wire.Message(), &shape->emplace_back()));
  }
  return wire.status();
}

Status ReadTensorType(Wire wire, Type* type) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::TensorType::kElemType:
        wire.Get(&type->element_type);
        break;
      case fields::TensorType::kShape:
        type->shape.emplace();
        ENCORE_RETURN_IF_ERROR(ReadShape(wire.Message(), &*type->shape));
        break;
    }
  }
  return wire.status();
}

// What a sequence or an optional of `inner` is.
Type Around(bool optional, Type inner) {
  const Kind of = inner.kind;
  Kind kind = Kind::kOther;
  if (of == Kind::kTensor || of == Kind::kNone) {
    kind = optional ? Kind::kOptional : Kind::kSequence;
  } else if (of == Kind::kSequence && optional) {
    kind = Kind::kOptionalSequence;
  } else if (of == Kind::kMap && !optional) {
    kind = Kind::kMapSequence;
  }
  if (kind == Kind::kOther || kind == Kind::kMapSequence) {
    inner.text = StrCat(optional ? "optional(" : "seq(", TypeText(inner), ")");
  }
  inner.kind = kind;
  return inner;
}

Status ReadType(Wire wire, int depth, Type* type);

// A message that has a type in its field `element`.
Status ReadElement(Wire wire, int element, int depth, Type* type) {
  while (wire.Next()) {
    if (wire.field() != element) continue;
    ENCORE_RETURN_IF_ERROR(ReadType(wire.Message(), depth, type));
  }
  return wire.status();
}

Status ReadMapType(Wire wire, int depth, Type* type) {
  int32_t key = 0;
  Type value;
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::MapType::kKeyType:
        wire.Get(&key);
        break;
      case fields::MapType::kValueType:
        ENCORE_RETURN_IF_ERROR(ReadType(wire.Message(), depth, &value));
        break;
    }
  }
  const bool known = key == static_cast<int32_t>(ElementType::kInt64) ||
                     key == static_cast<int32_t>(ElementType::kString);
  value.text = StrCat("map(", ElementText(key), ",", TypeText(value), ")");
  value.kind = known && value.kind == Kind::kTensor ? Kind::kMap : Kind::kOther;
  value.key_type = key;
  *type = std::move(value);
  return wire.status();
}

Status ReadType(Wire wire, int depth, Type* type) {
  if (depth > kMaxTypeDepth) {
    return InvalidArgumentError(
        StrCat("types nest deeper than ", kMaxTypeDepth));
  }
  while (wire.Next()) {
    Type inner;
    switch (wire.field()) {
      case fields::Type::kTensorType:
        inner.kind = Kind::kTensor;
        ENCORE_RETURN_IF_ERROR(ReadTensorType(wire.Message(), &inner));
        break;
      case fields::Type::kSparseTensorType:
        ENCORE_RETURN_IF_ERROR(ReadTensorType(wire.Message(), &inner));
        inner.kind = Kind::kOther;
        inner.text =
            StrCat("sparse_tensor(", ElementText(inner.element_type), ")");
        break;
      case fields::Type::kSequenceType:
        ENCORE_RETURN_IF_ERROR(ReadElement(wire.Message(),
                                           fields::SequenceType::kElemType,
                                           depth + 1, &inner));
        inner = Around(/*optional=*/false, std::move(inner));
        break;
      case fields::Type::kOptionalType:
        ENCORE_RETURN_IF_ERROR(ReadElement(wire.Message(),
                                           fields::OptionalType::kElemType,
                                           depth + 1, &inner));
        inner = Around(/*optional=*/true, std::move(inner));
        break;
      case fields::Type::kMapType:
        ENCORE_RETURN_IF_ERROR(ReadMapType(wire.Message(), depth + 1, &inner));
        break;
      default:
        continue;
    }
    *type = std::move(inner);
  }
  return wire.status();
}

}  // namespace

Status ReadType(Wire wire, Type* type) {
  return ReadType(std::move(wire), /*depth=*/1, type);
}

std::string TypeText(const Type& type) {
  const std::string tensor =
      StrCat("tensor(", ElementText(type.element_type), ")");
  switch (type.kind) {
    case Kind::kNone:
      return "";
    case Kind::kTensor:
      return tensor;
    case Kind::kSequence:
      return StrCat("seq(", tensor, ")");
    case Kind::kOptional:
      return StrCat("optional(", tensor, ")");
    case Kind::kOptionalSequence:
      return StrCat("optional(seq(", tensor, "))");
    case Kind::kMap:
    case Kind::kMapSequence:
    case Kind::kOther:
      return type.text;
  }
  return "";
}

}  // namespace encore::onnx
