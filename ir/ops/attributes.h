// Attributes: the compile-time arguments of an op, one struct per row of
// attributes.def.
//
// Everything that handles attributes (printer, parser, proto, stencil, hash,
// the key test) goes through VisitFields and so knows field types, not ops:
//
//   VisitFields(attrs, [&](std::string_view name, auto& field,
//                          const auto& fallback) {…});
//
// visits the fields of a struct, or of what an Attributes holds, in the order
// of the table; `fallback` is the field's default.
#ifndef ENCORE_IR_OPS_ATTRIBUTES_H_
#define ENCORE_IR_OPS_ATTRIBUTES_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore {

using Ints = std::vector<int64_t>;
using Dims = std::vector<Dim>;

// Axes of two operands that belong together, pair by pair; prints as [1]x[0].
struct AxisPairs {
  Ints lhs, rhs;
  bool operator==(const AxisPairs&) const = default;
};

#define ENCORE_ENUM_BEGIN(Type) enum class Type : uint8_t {
#define ENCORE_ENUM_VALUE(Type, Enumerator, text) Enumerator,
#define ENCORE_ENUM_END(Type) \
  }                           \
  ;
#include "encore/ir/ops/enums.def"
#undef ENCORE_ENUM_BEGIN
#undef ENCORE_ENUM_VALUE
#undef ENCORE_ENUM_END

// Whether two values of a field are the same. Floats are equal by bits: a NaN
// is itself, and -0 is not 0.
template <typename T>
bool SameBits(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  } else {
    return a == b;
  }
}

// Text of an enumerator, and back. EnumValue is nothing where no enumerator has
// that text; EnumFromInt where none has that number.
template <typename Enum>
std::string_view EnumText(Enum value);
template <typename Enum>
std::optional<Enum> EnumValue(std::string_view text);
template <typename Enum>
std::optional<Enum> EnumFromInt(uint64_t value);

#define ENCORE_ENUM_BEGIN(Type)                         \
  template <>                                           \
  std::string_view EnumText(Type value);                \
  template <>                                           \
  std::optional<Type> EnumValue(std::string_view text); \
  template <>                                           \
  std::optional<Type> EnumFromInt(uint64_t value);
#define ENCORE_ENUM_VALUE(Type, Enumerator, text)
#define ENCORE_ENUM_END(Type)
#include "encore/ir/ops/enums.def"
#undef ENCORE_ENUM_BEGIN
#undef ENCORE_ENUM_VALUE
#undef ENCORE_ENUM_END

#define ENCORE_ATTRS_BEGIN(Name) struct Name##Attrs {
#define ENCORE_FIELD(type, name, ...) type name = __VA_ARGS__;
#define ENCORE_ATTRS_END(Name)                     \
  bool operator==(const Name##Attrs& other) const; \
  }                                                \
  ;
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END

// One of the structs. The alternative must be the one that the op's row names.
using Attributes = std::variant<
#define ENCORE_ATTRS_BEGIN(Name) Name##Attrs,
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
    std::monostate>;

// The place of each struct in the variant: AttrsIndex::kConvolution.
enum class AttrsIndex : uint8_t {
#define ENCORE_ATTRS_BEGIN(Name) k##Name,
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
};

inline AttrsIndex IndexOf(const Attributes& attributes) {
  return static_cast<AttrsIndex>(attributes.index());
}

// Attributes of that struct with every field at its default.
Attributes DefaultAttributes(AttrsIndex index);

// "Convolution".
std::string_view Name(AttrsIndex index);

#define ENCORE_ATTRS_BEGIN(Name)                                     \
  template <typename Attrs, typename Visitor>                        \
    requires std::is_same_v<std::remove_const_t<Attrs>, Name##Attrs> \
  void VisitFields(Attrs& attrs, Visitor&& visit) {                  \
    [[maybe_unused]] static const Name##Attrs fallback;
#define ENCORE_FIELD(type, name, ...) visit(#name, attrs.name, fallback.name);
#define ENCORE_ATTRS_END(Name) }
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END

template <typename Visitor>
void VisitFields(std::monostate, Visitor&&) {}

template <typename AttributesType, typename Visitor>
  requires std::is_same_v<std::remove_const_t<AttributesType>, Attributes>
void VisitFields(AttributesType& attributes, Visitor&& visit) {
  std::visit([&](auto& attrs) { VisitFields(attrs, visit); }, attributes);
}

// A hash of struct and fields, the same in every process.
uint64_t Fingerprint(const Attributes& attributes);

}  // namespace encore

#endif  // ENCORE_IR_OPS_ATTRIBUTES_H_
