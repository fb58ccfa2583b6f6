// Where the dims of an operand lie in memory.
#ifndef ENCORE_BACKENDS_REGION_FLAT_DIM_PLACE_H_
#define ENCORE_BACKENDS_REGION_FLAT_DIM_PLACE_H_

#include <cstdint>
#include <vector>

#include "encore/backends/region/flat/size.h"
#include "encore/backends/region/layout.h"

namespace encore::backends {

// Position i of a dim is `stride` * i elements from the first, or, where block
// is above 1, i / block * block_stride + i % block * stride.
struct DimPlace {
  Size stride = 1;
  int64_t block = 1;
  Size block_stride = 0;
};

// By dim. REQUIRES a layout that region/verify.h accepts for the dims.
std::vector<DimPlace> PlaceDims(const std::vector<Size>& dims,
                                const Layout& layout);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_DIM_PLACE_H_
