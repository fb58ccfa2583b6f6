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

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

// Which struct: AttrsIndex::kConvolution.
enum class AttrsIndex : uint8_t {
#define ENCORE_ATTRS_BEGIN(Name) k##Name,
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
};

// AttrsIndexOf<ConvolutionAttrs>::value.
template <typename Attrs>
struct AttrsIndexOf;

#define ENCORE_ATTRS_BEGIN(Name)                             \
  template <>                                                \
  struct AttrsIndexOf<Name##Attrs> {                         \
    static constexpr AttrsIndex value = AttrsIndex::k##Name; \
  };
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END

template <typename T>
concept AttrsStruct = requires { AttrsIndexOf<T>::value; };

// One of the structs: that which the op's row names. As std::variant, but cheap
// to compile: what depends on the struct is done in attributes.cc.
class Attributes {
 public:
  Attributes() : Attributes(NoneAttrs()) {}
  template <AttrsStruct Attrs>
  Attributes(Attrs attrs) : index_(AttrsIndexOf<Attrs>::value) {
    std::construct_at(reinterpret_cast<Attrs*>(storage_), std::move(attrs));
  }
  Attributes(const Attributes& other);
  // Leaves `other` with its struct, of unspecified fields.
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  AttrsIndex index() const { return index_; }

  template <AttrsStruct Attrs>
  bool Is() const {
    return index_ == AttrsIndexOf<Attrs>::value;
  }
  // REQUIRES Is<Attrs>().
  template <AttrsStruct Attrs>
  const Attrs& Get() const [[clang::lifetimebound]] {
    if (!Is<Attrs>()) FailGet(AttrsIndexOf<Attrs>::value);
    return Held<Attrs>();
  }
  template <AttrsStruct Attrs>
  Attrs& Get() [[clang::lifetimebound]] {
    return const_cast<Attrs&>(std::as_const(*this).Get<Attrs>());
  }
  // Null where it is another struct.
  template <AttrsStruct Attrs>
  const Attrs* GetIf() const [[clang::lifetimebound]] {
    return Is<Attrs>() ? &Held<Attrs>() : nullptr;
  }
  template <AttrsStruct Attrs>
  Attrs* GetIf() [[clang::lifetimebound]] {
    return const_cast<Attrs*>(std::as_const(*this).GetIf<Attrs>());
  }

  // visit(attrs), with a reference to the struct.
  template <typename Visitor>
  void Visit(Visitor&& visit) const {
    switch (index_) {
#define ENCORE_ATTRS_BEGIN(Name) \
  case AttrsIndex::k##Name:      \
    return visit(Held<Name##Attrs>());
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
    }
  }
  template <typename Visitor>
  void Visit(Visitor&& visit) {
    std::as_const(*this).Visit([&]<typename Attrs>(const Attrs& attrs) {
      visit(const_cast<Attrs&>(attrs));
    });
  }

  bool operator==(const Attributes& other) const;

 private:
  // Of any of the structs.
  static constexpr size_t kBytes = std::max({
#define ENCORE_ATTRS_BEGIN(Name) sizeof(Name##Attrs),
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
  });

  template <AttrsStruct Attrs>
  const Attrs& Held() const {
    static_assert(alignof(Attrs) <= alignof(std::max_align_t));
    return *std::launder(reinterpret_cast<const Attrs*>(storage_));
  }
  [[noreturn]] void FailGet(AttrsIndex wanted) const;

  AttrsIndex index_;
  alignas(std::max_align_t) std::byte storage_[kBytes];
};

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

template <typename AttributesType, typename Visitor>
  requires std::is_same_v<std::remove_const_t<AttributesType>, Attributes>
void VisitFields(AttributesType& attributes, Visitor&& visit) {
  attributes.Visit([&](auto& attrs) { VisitFields(attrs, visit); });
}

// A hash of struct and fields, the same in every process.
uint64_t Fingerprint(const Attributes& attributes);

}  // namespace encore

#endif  // ENCORE_IR_OPS_ATTRIBUTES_H_
