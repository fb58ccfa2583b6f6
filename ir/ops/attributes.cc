#include "encore/ir/ops/attributes.h"

#include <bit>
#include <cstdlib>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

class Hasher {
 public:
  uint64_t hash() const { return hash_; }

  void Add(uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 31;
  }
  void Add(double value) { Add(std::bit_cast<uint64_t>(value)); }
  void Add(const std::string& text) {
    Add(uint64_t{text.size()});
    for (const char c : text)
      Add(static_cast<uint64_t>(static_cast<uint8_t>(c)));
  }
  void Add(const Dim& dim) { Add(dim.Fingerprint()); }
  void Add(const Literal& literal) { Add(literal.Fingerprint()); }
  void Add(const AxisPairs& pairs) {
    Add(pairs.lhs);
    Add(pairs.rhs);
  }
  template <typename T>
  void Add(const std::vector<T>& list) {
    Add(uint64_t{list.size()});
    for (const T& item : list) Add(item);
  }
  template <typename T>
    requires(std::is_enum_v<T> || std::is_integral_v<T>)
  void Add(T value) {
    Add(static_cast<uint64_t>(value));
  }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

#define ENCORE_ENUM_BEGIN(Type)           \
  template <>                             \
  std::string_view EnumText(Type value) { \
    using Enum = Type;                    \
    static constexpr std::string_view kTexts[] = {
#define ENCORE_ENUM_VALUE(Type, Enumerator, text) text,
#define ENCORE_ENUM_END(Type)                \
  }                                          \
  ;                                          \
  static_assert(std::is_enum_v<Enum>);       \
  return kTexts[static_cast<size_t>(value)]; \
  }
#include "encore/ir/ops/enums.def"
#undef ENCORE_ENUM_BEGIN
#undef ENCORE_ENUM_VALUE
#undef ENCORE_ENUM_END

#define ENCORE_ENUM_BEGIN(Type) \
  template <>                   \
  std::optional<Type> EnumValue(std::string_view text) {
#define ENCORE_ENUM_VALUE(Type, Enumerator, spelling) \
  if (text == spelling) return Type::Enumerator;
#define ENCORE_ENUM_END(Type) \
  return std::nullopt;        \
  }
#include "encore/ir/ops/enums.def"
#undef ENCORE_ENUM_BEGIN
#undef ENCORE_ENUM_VALUE
#undef ENCORE_ENUM_END

#define ENCORE_ENUM_BEGIN(Type) \
  template <>                   \
  std::optional<Type> EnumFromInt(uint64_t value) {
#define ENCORE_ENUM_VALUE(Type, Enumerator, spelling) \
  if (value == static_cast<uint64_t>(Type::Enumerator)) return Type::Enumerator;
#define ENCORE_ENUM_END(Type) \
  return std::nullopt;        \
  }
#include "encore/ir/ops/enums.def"
#undef ENCORE_ENUM_BEGIN
#undef ENCORE_ENUM_VALUE
#undef ENCORE_ENUM_END

#define ENCORE_ATTRS_BEGIN(Name)                                           \
  bool Name##Attrs::operator==([[maybe_unused]] const Name##Attrs & other) \
      const {                                                              \
    return true
#define ENCORE_FIELD(type, name, ...) &&SameBits(name, other.name)
#define ENCORE_ATTRS_END(Name) \
  ;                            \
  }
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END

Attributes::Attributes(const Attributes& other) : index_(other.index_) {
  other.Visit([this]<typename Attrs>(const Attrs& attrs) {
    std::construct_at(reinterpret_cast<Attrs*>(storage_), attrs);
  });
}

Attributes::Attributes(Attributes&& other) noexcept : index_(other.index_) {
  other.Visit([this]<typename Attrs>(Attrs& attrs) {
    std::construct_at(reinterpret_cast<Attrs*>(storage_), std::move(attrs));
  });
}

Attributes& Attributes::operator=(const Attributes& other) {
  return *this = Attributes(other);
}

Attributes& Attributes::operator=(Attributes&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

Attributes::~Attributes() {
  Visit([](auto& attrs) { std::destroy_at(&attrs); });
}

bool Attributes::operator==(const Attributes& other) const {
  if (index_ != other.index_) return false;
  bool equal = false;
  Visit([&]<typename Attrs>(const Attrs& attrs) {
    equal = attrs == other.Held<Attrs>();
  });
  return equal;
}

void Attributes::FailGet(AttrsIndex wanted) const {
  ENCORE_CHECK(false) << "attributes are " << Name(index_) << ", not "
                      << Name(wanted);
  std::abort();
}

Attributes DefaultAttributes(AttrsIndex index) {
  switch (index) {
#define ENCORE_ATTRS_BEGIN(Name) \
  case AttrsIndex::k##Name:      \
    return Name##Attrs();
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
  }
  ENCORE_CHECK(false) << "no attributes of index " << static_cast<int>(index);
  return NoneAttrs();
}

std::string_view Name(AttrsIndex index) {
  switch (index) {
#define ENCORE_ATTRS_BEGIN(Name) \
  case AttrsIndex::k##Name:      \
    return #Name;
#define ENCORE_FIELD(type, name, ...)
#define ENCORE_ATTRS_END(Name)
#include "encore/ir/ops/attributes.def"
#undef ENCORE_ATTRS_BEGIN
#undef ENCORE_FIELD
#undef ENCORE_ATTRS_END
  }
  return "";
}

uint64_t Fingerprint(const Attributes& attributes) {
  Hasher hasher;
  hasher.Add(static_cast<uint64_t>(attributes.index()));
  VisitFields(attributes, [&](std::string_view, const auto& field,
                              const auto&) { hasher.Add(field); });
  return hasher.hash();
}

}  // namespace encore
