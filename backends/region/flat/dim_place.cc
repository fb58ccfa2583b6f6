#include "encore/backends/region/flat/dim_place.h"

#include <cstddef>

namespace encore::backends {

std::vector<DimPlace> PlaceDims(const std::vector<Size>& dims,
                                const Layout& layout) {
  std::vector<DimPlace> places(dims.size());
  Size stride = 1;
  for (size_t b = layout.blocks.size(); b-- > 0;) {
    const auto& [dim, size] = layout.blocks[b];
    if (size == 1) continue;
    places[dim].block = size;
    places[dim].stride = stride;
    stride *= size;
  }
  for (size_t i = dims.size(); i-- > 0;) {
    const int dim = layout.DimAt(i);
    auto& [inner, block, block_stride] = places[dim];
    (block > 1 ? block_stride : inner) = stride;
    if (dims[dim] == 0) continue;
    stride *= block > 1 ? Size((dims[dim] + block - 1) / block) : dims[dim];
  }
  return places;
}

}  // namespace encore::backends
