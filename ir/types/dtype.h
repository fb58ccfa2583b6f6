// DType: the type of a tensor's elements. The rows are in dtypes.def; nothing
// else lists them.
//
// Enumerator values are stored in files: rows are only ever added at the end.
#ifndef ENCORE_IR_TYPES_DTYPE_H_
#define ENCORE_IR_TYPES_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace encore {

enum class DType : uint8_t {
#define ENCORE_DTYPE(Enumerator, name, bits, kind, Storage) k##Enumerator,
#include "encore/ir/types/dtypes.def"
#undef ENCORE_DTYPE
};

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kHost };

// Every dtype, in the order of the table.
std::span<const DType> AllDTypes();

std::string_view Name(DType dtype);
std::optional<DType> ParseDType(std::string_view name);
DTypeKind Kind(DType dtype);

// Bits of an element in memory, a power of two; 0 for host values, which have
// no fixed size.
int BitWidth(DType dtype);

// Bytes that `count` elements take, sub-byte types packed; REQUIRES count >= 0
// and a dtype with a size. Nothing where the product leaves int64.
std::optional<int64_t> ByteSize(DType dtype, int64_t count);

inline bool IsFloat(DType dtype) { return Kind(dtype) == DTypeKind::kFloat; }
inline bool IsSigned(DType dtype) { return Kind(dtype) == DTypeKind::kSigned; }
inline bool IsUnsigned(DType dtype) {
  return Kind(dtype) == DTypeKind::kUnsigned;
}
inline bool IsInteger(DType dtype) {
  return IsSigned(dtype) || IsUnsigned(dtype);
}
inline bool IsString(DType dtype) { return Kind(dtype) == DTypeKind::kHost; }

// Whether an element is smaller than a byte.
inline bool IsPacked(DType dtype) {
  return BitWidth(dtype) > 0 && BitWidth(dtype) < 8;
}

// Where element `index` of a packed dtype lies: in which byte, and how far it
// is shifted there.
struct PackedPlace {
  int64_t byte;
  int shift;
  uint8_t mask;  // of the element's bits, unshifted
};
inline PackedPlace PlaceOfPacked(DType dtype, int64_t index) {
  const int bits = BitWidth(dtype), each = 8 / bits;
  return {index / each, static_cast<int>(index % each) * bits,
          static_cast<uint8_t>((1 << bits) - 1)};
}
inline uint8_t LoadPacked(DType dtype, const std::byte* bytes, int64_t index) {
  const PackedPlace place = PlaceOfPacked(dtype, index);
  return static_cast<uint8_t>(bytes[place.byte]) >> place.shift & place.mask;
}
// The bits of `bits` above the element's do not count.
inline void StorePacked(DType dtype, std::byte* bytes, int64_t index,
                        uint8_t bits) {
  const PackedPlace place = PlaceOfPacked(dtype, index);
  std::byte& byte = bytes[place.byte];
  byte &= ~(std::byte{place.mask} << place.shift);
  byte |= std::byte(bits & place.mask) << place.shift;
}

// Whether `value` is that of an enumerator: what a file says may be neither.
bool IsValidDType(uint8_t value);

// The dtype whose Storage is T and means its own value: DTypeOf<float>() is
// kF32. Formats without an arithmetic C++ type have none.
template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<int8_t>() {
  return DType::kI8;
}
template <>
constexpr DType DTypeOf<int16_t>() {
  return DType::kI16;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType DTypeOf<uint16_t>() {
  return DType::kU16;
}
template <>
constexpr DType DTypeOf<uint32_t>() {
  return DType::kU32;
}
template <>
constexpr DType DTypeOf<uint64_t>() {
  return DType::kU64;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}

inline std::ostream& operator<<(std::ostream& out, DType dtype) {
  return out << Name(dtype);
}
inline void AppendPiece(std::string* out, DType dtype) {
  out->append(Name(dtype));
}

}  // namespace encore

#endif  // ENCORE_IR_TYPES_DTYPE_H_
