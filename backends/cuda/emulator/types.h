// The words of a PTX instruction: scalar types, state spaces, modifiers.
//
// An instruction is written op.word.word…; each word is a type or a modifier.
// Words that no table names are errors of the parser.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_TYPES_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_TYPES_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace encore::ptx {

enum class Type : uint8_t {
#define PTX_TYPE(Enumerator, name, bits, kind) k##Enumerator,
#include "encore/backends/cuda/emulator/types.def"
#undef PTX_TYPE
};

enum class TypeKind : uint8_t {
  kBits,
  kUnsigned,
  kSigned,
  kFloat,
  kPacked,  // two numbers in one register
  kPredicate,
};

std::string_view Name(Type type);
// Bits of a register of `type`; 1 for a predicate.
int BitWidth(Type type);
TypeKind KindOf(Type type);
std::optional<Type> FindType(std::string_view name);

// The low bits of a value, as many as `bits`; zeros above.
inline uint64_t LowBits(uint64_t value, int bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

inline int ByteWidth(Type type) { return BitWidth(type) / 8; }
inline bool IsFloat(Type type) { return KindOf(type) == TypeKind::kFloat; }
inline bool IsSigned(Type type) { return KindOf(type) == TypeKind::kSigned; }

// Where an address points to.
enum class Space : uint8_t {
  kGeneric,
  kGlobal,
  kShared,
  kLocal,
  kConst,
  kParam,  // parameters of the kernel
};

std::string_view Name(Space space);

enum class Modifier : uint8_t {
#define PTX_MODIFIER(Enumerator, name) k##Enumerator,
#include "encore/backends/cuda/emulator/modifiers.def"
#undef PTX_MODIFIER
  kCount,
};

using ModifierSet = std::bitset<static_cast<size_t>(Modifier::kCount)>;

std::string_view Name(Modifier modifier);
std::optional<Modifier> FindModifier(std::string_view name);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_TYPES_H_
