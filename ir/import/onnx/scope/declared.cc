#include "encore/ir/import/onnx/scope/declared.h"

#include <string>

#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A declared shape as text: "[2,N,?]".
std::string ShapeText(const std::vector<Dimension>& dims) {
  std::vector<std::string> texts;
  for (const Dimension& dim : dims) {
    texts.push_back(dim.value           ? StrCat(*dim.value)
                    : dim.param.empty() ? "?"
                                        : std::string(dim.param));
  }
  return StrCat("[", StrJoin(texts, ","), "]");
}

// A kind of values as text, before the dtype of their tensors.
std::string_view KindText(ValueKind kind) {
  switch (kind) {
    case ValueKind::kTensor:
      return "a tensor of ";
    case ValueKind::kSequence:
      return "a sequence of ";
    case ValueKind::kOptional:
      return "an optional of ";
    case ValueKind::kOptionalSequence:
      return "an optional sequence of ";
  }
  return "";
}

// Of a value whose declared kind Encore does not have.
Status KindError(std::string_view name, const Type& declared) {
  return UnimplementedError(
      declared.text.empty()
          ? StrCat("value ", Quote(name),
                   " is declared as none of tensor, sequence and optional")
          : StrCat("value ", Quote(name), " is declared ", declared.text,
                   ", which is not supported"));
}

Status CheckDeclaredDType(std::string_view name, const Type& declared,
                          const TensorType& type) {
  if (declared.kind == Type::Kind::kNone) return OkStatus();
  const std::optional<ValueKind> kind = ValueKindOf(declared.kind);
  if (!kind) return KindError(name, declared);
  if (*kind == type.kind && declared.element_type == 0) return OkStatus();
  const StatusOr<DType> dtype = DTypeOf(declared.element_type);
  if (!dtype.ok()) {
    return Annotate(dtype.status(), StrCat("value ", Quote(name)));
  }
  if (*kind == type.kind && *dtype == type.dtype) return OkStatus();
  const bool tensors = *kind == type.kind && *kind == ValueKind::kTensor;
  return InvalidArgumentError(StrCat(
      "value ", Quote(name), " is declared ", tensors ? "" : KindText(*kind),
      *dtype, " but is ", tensors ? "" : KindText(type.kind), type.dtype));
}

}  // namespace

std::optional<ValueKind> ValueKindOf(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::kTensor:
      return ValueKind::kTensor;
    case Type::Kind::kSequence:
      return ValueKind::kSequence;
    case Type::Kind::kOptional:
      return ValueKind::kOptional;
    case Type::Kind::kOptionalSequence:
      return ValueKind::kOptionalSequence;
    default:
      return std::nullopt;
  }
}

TensorType TypeOfBound(const Bound& bound) {
  if (bound.constant) return bound.constant->type();
  if (bound.value) return bound.value->type();
  TensorType type{bound.dims->dtype, Shape{}, ValueKind::kTensor};
  if (!bound.dims->scalar) {
    type.shape = Shape({Dim(static_cast<int64_t>(bound.dims->dims.size()))});
  }
  return type;
}

Declared::Declared(const Graph& graph, bool extents) {
  for (const ValueInfo& info : graph.value_infos) {
    types_[info.name] = {&info.type, false};
  }
  for (const ValueInfo& info : graph.outputs) {
    types_[info.name] = {&info.type, extents};
  }
}

Status Declared::Check(std::string_view name, const TensorType& type,
                       Scope& scope) const {
  const auto found = types_.find(name);
  if (found == types_.end()) return OkStatus();
  return CheckDeclared(name, *found->second.type, type, found->second.extents,
                       scope);
}

Status CheckDeclared(std::string_view name, const Type& declared,
                     const TensorType& type, bool extents, Scope& scope) {
  ENCORE_RETURN_IF_ERROR(CheckDeclaredDType(name, declared, type));
  if (declared.kind != Type::Kind::kTensor || type.kind != ValueKind::kTensor ||
      !declared.shape) {
    return OkStatus();
  }
  const std::vector<Dimension>& dims = *declared.shape;
  bool fits = static_cast<int>(dims.size()) == type.shape.rank();
  for (size_t i = 0; fits && extents && i < dims.size(); ++i) {
    const Dim& dim = type.shape[static_cast<int>(i)];
    // A dim of -1 is how some exporters say "any".
    if (!dims[i].value || *dims[i].value == -1 || !dim.is_constant()) continue;
    fits = dim.constant() == *dims[i].value;
  }
  if (fits) return OkStatus();
  return scope.Stop(Obstacle::kShapeMismatch,
                    InvalidArgumentError(
                        StrCat("value ", Quote(name), " is declared ",
                               ShapeText(dims), " but is ", type.ToString())));
}

StatusOr<TensorType> TypeWithoutShape(const ValueInfo& info) {
  const std::optional<ValueKind> kind = ValueKindOf(info.type.kind);
  if (!kind) return KindError(info.name, info.type);
  const StatusOr<DType> dtype = DTypeOf(info.type.element_type);
  if (!dtype.ok()) {
    return Annotate(dtype.status(), StrCat("value ", Quote(info.name)));
  }
  return TensorType{*dtype, Shape(), *kind};
}

ElementShape DeclaredElements(const Type& type) {
  if (!type.shape) return {};
  ElementShape declared{ElementShape::Kind::kRanked};
  for (const Dimension& dimension : *type.shape) {
    const bool known = dimension.value && *dimension.value >= 0;
    declared.dims.push_back(known ? dimension.value : std::nullopt);
  }
  return declared;
}

Status WithAttributes(const Schema& schema, const Node& node, Status status) {
  std::vector<std::string_view> given, defaults;
  for (const Schema::AttributeRow& row : schema.attributes) {
    const bool has =
        std::ranges::find(node.attributes, row.name, &Attribute::name) !=
        node.attributes.end();
    (has ? given : defaults).push_back(row.name);
  }
  std::string what = "as its inputs";
  if (!given.empty()) {
    what += StrCat(", the attributes ", StrJoin(given, ", "));
  }
  if (!defaults.empty()) {
    what += StrCat(", the defaults of ", StrJoin(defaults, ", "));
  }
  return Status(status.code(), StrCat(Message(status), ", ", what, " say"));
}

}  // namespace encore::onnx
