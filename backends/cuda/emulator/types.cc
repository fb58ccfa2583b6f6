#include "encore/backends/cuda/emulator/types.h"

#include <cstddef>
#include <iterator>
#include <string>
#include <unordered_map>

namespace encore::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  int bits;
  TypeKind kind;
};

constexpr TypeRow kTypes[] = {
#define PTX_TYPE(Enumerator, name, bits, kind) {name, bits, TypeKind::kind},
#include "encore/backends/cuda/emulator/types.def"
#undef PTX_TYPE
};

constexpr std::string_view kModifiers[] = {
#define PTX_MODIFIER(Enumerator, name) name,
#include "encore/backends/cuda/emulator/modifiers.def"
#undef PTX_MODIFIER
};

const TypeRow& Row(Type type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

std::string_view Name(Type type) { return Row(type).name; }
int BitWidth(Type type) { return Row(type).bits; }
TypeKind KindOf(Type type) { return Row(type).kind; }

std::optional<Type> FindType(std::string_view name) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].name == name) return static_cast<Type>(i);
  }
  return std::nullopt;
}

std::string_view Name(Space space) {
  switch (space) {
    case Space::kGeneric:
      return "generic";
    case Space::kGlobal:
      return "global";
    case Space::kShared:
      return "shared";
    case Space::kLocal:
      return "local";
    case Space::kConst:
      return "const";
    case Space::kParam:
      return "param";
  }
  return "";
}

std::string_view Name(Modifier modifier) {
  return kModifiers[static_cast<size_t>(modifier)];
}

std::optional<Modifier> FindModifier(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, Modifier>;
    for (size_t i = 0; i < std::size(kModifiers); ++i) {
      map->emplace(kModifiers[i], static_cast<Modifier>(i));
    }
    return map;
  }();
  const auto found = kByName->find(name);
  if (found == kByName->end()) return std::nullopt;
  return found->second;
}

}  // namespace encore::ptx
