// Tags of the stencil's bytes, shared by its writer and its reader.
#ifndef ENCORE_IR_GRAPH_STENCIL_FORMAT_H_
#define ENCORE_IR_GRAPH_STENCIL_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "encore/ir/ops/attributes.h"

namespace encore::stencil {

// Raised whenever the same bytes would mean something else.
inline constexpr std::string_view kMagic = "ESTN\x02", kAsIsMagic = "ESTA\x02";
inline constexpr std::string_view MagicOf(bool as_is) {
  return as_is ? kAsIsMagic : kMagic;
}

// The type of an attribute field.
enum class FieldTag : uint8_t {
  kBool = 1,
  kInt,
  kDouble,
  kDType,
  kString,
  kInts,
  kDims,
  kAxisPairs,
  kLiteral,
  kEnum,
};

template <typename Field>
constexpr FieldTag TagOf() {
  if constexpr (std::is_same_v<Field, bool>) return FieldTag::kBool;
  if constexpr (std::is_same_v<Field, int64_t>) return FieldTag::kInt;
  if constexpr (std::is_same_v<Field, double>) return FieldTag::kDouble;
  if constexpr (std::is_same_v<Field, DType>) return FieldTag::kDType;
  if constexpr (std::is_same_v<Field, std::string>) return FieldTag::kString;
  if constexpr (std::is_same_v<Field, Ints>) return FieldTag::kInts;
  if constexpr (std::is_same_v<Field, Dims>) return FieldTag::kDims;
  if constexpr (std::is_same_v<Field, AxisPairs>) return FieldTag::kAxisPairs;
  if constexpr (std::is_same_v<Field, Literal>) return FieldTag::kLiteral;
  return FieldTag::kEnum;
}

// How a literal's elements are given.
enum class LiteralForm : uint8_t { kBytes, kStrings, kDigest };

}  // namespace encore::stencil

#endif  // ENCORE_IR_GRAPH_STENCIL_FORMAT_H_
