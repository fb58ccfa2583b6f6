// Arithmetic on indices: sums, multiples, and the positions that a reshape
// makes of them.
#ifndef ENCORE_BACKENDS_REGION_AFFINE_H_
#define ENCORE_BACKENDS_REGION_AFFINE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "encore/backends/region/region.h"

namespace encore::backends {

Index VariableIndex(uint32_t variable);

// REQUIRES divisor 1 and at most one indirect part for a sum, none for a
// multiple.
Index Sum(const Index& a, const Index& b);
Index Multiple(const Index& a, const Dim& factor);
Index Plus(Index index, const Dim& offset);

// The variable that the index is, where it is one and nothing else.
std::optional<uint32_t> PureVariable(const Index& index);
bool IsZero(const Index& index);
// Whether the variables of `index` are the digits of a number below `dim`.
bool Covers(const Index& index, const Dim& dim, std::span<const Dim> extents);

// Bounds of an index without indirect part under `extents`, both inclusive,
// before the division; nothing where they are not constant, leave int64, or the
// index has no value at all.
std::optional<std::pair<int64_t, int64_t>> Range(const Index& index,
                                                 std::span<const Dim> extents);

// Whether every index surely exists and lies in [0, dim).
bool StaysWithin(std::span<const Index> indices, std::span<const Dim> dims,
                 std::span<const Dim> extents);

// A variable that must become an outer and an inner one, the latter of extent
// `inner`, before an index can be divided.
struct Split {
  uint32_t variable = 0;
  int64_t inner = 1;
};

// index = quotient * divisor + remainder with 0 <= remainder < divisor.
struct Division {
  std::optional<std::pair<Index, Index>> parts;  // nothing: not affine
  std::optional<Split> split;                    // what would make it affine
};
Division Divide(const Index& index, const Dim& divisor,
                std::span<const Dim> extents);

// Dims [first, second) of two shapes that a reshape takes into each other.
struct ReshapeGroup {
  int from_begin, from_end, to_begin, to_end;
};
// The finest groups with equal products, in order; nothing where they cannot be
// told. Together they cover both shapes.
std::optional<std::vector<ReshapeGroup>> ReshapeGroups(
    std::span<const Dim> from, std::span<const Dim> to);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_AFFINE_H_
