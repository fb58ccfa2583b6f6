// SharedPrograms: programs of two results that share work when they are
// written in another way.
#ifndef ENCORE_OPT_TENSOR_FIND_SHARED_PROGRAMS_H_
#define ENCORE_OPT_TENSOR_FIND_SHARED_PROGRAMS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "encore/opt/tensor/find/expressions.h"

namespace encore::opt {

// Both compute the same two values.
struct SharedProgram {
  std::array<uint32_t, 2> apart;   // the representatives of both values
  std::array<uint32_t, 2> shared;  // at least a node is in both
};

// For each two values, the first of the cheapest ways to write both with a node
// in common and at most `operators` nodes in all, where it costs less than
// their representatives, by `seconds` of a program. No result is an input or 0
// everywhere. Programs that differ in
// what inputs are called are one. `expressions` were enumerated for two
// results. In an order that depends on the expressions alone.
std::vector<SharedProgram> SharedPrograms(
    const Expressions& expressions, int operators,
    const std::function<std::optional<double>(std::array<uint32_t, 2>)>&
        seconds);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_SHARED_PROGRAMS_H_
