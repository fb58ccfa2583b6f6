// Literals in layouts, for tests: packed by a walk through memory that shares
// nothing with what computes addresses.
#ifndef ENCORE_BACKENDS_REGION_PACKED_LITERAL_H_
#define ENCORE_BACKENDS_REGION_PACKED_LITERAL_H_

#include <cstdint>
#include <random>
#include <vector>

#include "encore/backends/region/layout.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

// A layout for `dims` with blocks of 8 and 16, and some of odd sizes; in half
// of the cases where there are two dims or more, of two of them. A third is
// row-major but for the blocks.
Layout RandomLayout(const std::vector<int64_t>& dims, std::mt19937_64& random);

// The bytes of `plain` in that layout, as a literal with the extents in memory;
// the padding is zeros.
Literal Pack(const Literal& plain, const Layout& layout);

// What Pack made `packed` of, whatever is in the padding.
Literal Unpack(const Literal& packed, const std::vector<int64_t>& dims,
               const Layout& layout);

// Elements of the padding that are not zero.
int64_t CountStray(const Literal& packed, const std::vector<int64_t>& dims,
                   const Layout& layout);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_PACKED_LITERAL_H_
