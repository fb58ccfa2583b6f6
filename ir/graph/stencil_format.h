// Tags of the stencil's bytes, shared by its writer and its reader.
#ifndef ENCORE_IR_GRAPH_STENCIL_FORMAT_H_
#define ENCORE_IR_GRAPH_STENCIL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore::stencil {

// Raised whenever the same bytes would mean something else.
inline constexpr std::string_view kMagic = "ESTN\x02";

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

// Digests of constants, by the bytes that they share, dtype and dims.
using KnownDigests =
    std::map<std::tuple<const std::byte*, DType, std::vector<int64_t>>, Digest>;
inline KnownDigests::key_type KeyOf(const Literal& literal) {
  return {literal.bytes().data(), literal.dtype(), literal.dims()};
}

// MakeStencil(graph).bytes; constants of known digests are not hashed.
std::string BytesOf(const Graph& graph, const KnownDigests& known);

}  // namespace encore::stencil

#endif  // ENCORE_IR_GRAPH_STENCIL_FORMAT_H_
