#include "encore/ir/ops/infer.h"

#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

using InferFunction = ops::Types (*)(const InferContext&);

constexpr InferFunction kInfer[] = {
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  ops::Infer##Family,
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
};

// Checks operand i against its slot; `element` is what T stands for, once it is
// known.
Status CheckOperand(const InferContext& context, int i,
                    std::optional<DType>* element) {
  const OpInfo& info = Info(context.op);
  const TypeSlot& slot = info.signature().operand(i);
  const DType dtype = context.dtype(i);
  const auto mismatch = [&](std::string_view expected) {
    return context.Error(
        StrCat("operand ", i, " is ", dtype, ", expected ", expected));
  };
  switch (slot.kind) {
    case TypeSlot::Kind::kT:
      if (!info.allows(dtype)) return mismatch(info.dtypes_text.substr(1));
      if (*element && **element != dtype) return mismatch(Name(**element));
      *element = dtype;
      return OkStatus();
    case TypeSlot::Kind::kIndex:
      if (dtype == DType::kI32 || dtype == DType::kI64) return OkStatus();
      return mismatch("i32 or i64");
    case TypeSlot::Kind::kFixed:
      return dtype == slot.dtype ? OkStatus() : mismatch(Name(slot.dtype));
    case TypeSlot::Kind::kAttr:
    case TypeSlot::Kind::kAny:
      return OkStatus();
  }
  return OkStatus();
}

// Dims in attributes come from files: each must be over the graph's symbols.
Status CheckDims(const InferContext& context) {
  Status status = OkStatus();
  VisitFields(context.attributes, [&](std::string_view name, const auto& field,
                                      const auto&) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dims>) {
      for (const Dim& dim : field) {
        if (dim.valid() && dim.SymbolLimit() <= context.symbols.size())
          continue;
        status = context.Error(StrCat("attribute ", name, " has the dim ",
                                      dim.ToString(),
                                      ", expected one over the graph's ",
                                      context.symbols.size(), " symbols"));
      }
    }
  });
  return status;
}

Status CheckSignature(const InferContext& context) {
  const OpInfo& info = Info(context.op);
  const int count = static_cast<int>(context.operands.size());
  if (!info.signature().AllowsOperands(count)) {
    return context.Error(
        StrCat(count, " operands, expected ", info.signature_text));
  }
  if (context.attributes.index() != info.attributes) {
    return context.Error(StrCat("attributes of ",
                                Name(context.attributes.index()), ", expected ",
                                Name(info.attributes)));
  }
  if (static_cast<int>(context.bodies.size()) != info.bodies) {
    return context.Error(
        StrCat(context.bodies.size(), " bodies, expected ", info.bodies));
  }
  std::optional<DType> element;
  for (int i = 0; i < count; ++i) {
    const TypeSlot& slot = info.signature().operand(i);
    if (slot.kind != TypeSlot::Kind::kAny &&
        context.operand(i).kind != slot.value_kind) {
      return context.Error(StrCat(
          "operand ", i, " is ", context.operand(i).ToString(context.symbols),
          ", expected a ",
          slot.value_kind == ValueKind::kTensor ? "tensor" : "sequence"));
    }
    if (context.operand(i).kind != ValueKind::kTensor &&
        context.shape(i).rank() > 0) {
      return context.Error(
          StrCat("operand ", i, " is not a tensor and has dims"));
    }
    ENCORE_RETURN_IF_ERROR(CheckOperand(context, i, &element));
  }
  const std::optional<DType> attribute = DTypeAttribute(context.attributes);
  if (attribute && !info.allows(*attribute)) {
    return context.Error(StrCat("attribute dtype is ", *attribute,
                                ", expected ", info.dtypes_text.substr(1)));
  }
  return CheckDims(context);
}

}  // namespace

Status InferContext::Error(std::string_view message) const {
  return InvalidArgumentError(StrCat(op, ": ", message));
}

std::optional<DType> DTypeAttribute(const Attributes& attributes) {
  std::optional<DType> dtype;
  VisitFields(
      attributes, [&](std::string_view, const auto& field, const auto&) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, DType>) {
          dtype = field;
        }
      });
  return dtype;
}

bool Countable(const TensorType& type) {
  const Dim count = type.shape.ElementCount();
  if (!count.valid()) return false;
  return !count.is_constant() || IsString(type.dtype) ||
         ByteSize(type.dtype, count.constant()).has_value();
}

StatusOr<std::vector<TensorType>> InferTypes(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckSignature(context));
  ENCORE_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                          kInfer[static_cast<size_t>(context.op)](context));
  for (const TensorType& type : types) {
    if (type.shape.rank() > kMaxRank) {
      return context.Error(StrCat("a result of rank ", type.shape.rank(),
                                  ", at most ", kMaxRank, " is supported"));
    }
    for (const Dim& dim : type.shape.dims()) {
      if (!dim.valid() || (dim.is_constant() && dim.constant() < 0)) {
        return context.Error(StrCat("a result of invalid shape ",
                                    type.shape.ToString(context.symbols)));
      }
    }
    if (!Countable(type)) {
      return context.Error(StrCat("a result too large to count: ",
                                  type.shape.ToString(context.symbols)));
    }
  }
  return types;
}

}  // namespace encore
