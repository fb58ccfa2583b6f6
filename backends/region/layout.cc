#include "encore/backends/region/layout.h"

#include <algorithm>

namespace encore::backends {

int64_t Layout::BlockSize(int dim) const {
  for (const Block& block : blocks) {
    if (block.dim == dim) return block.size;
  }
  return 1;
}

std::vector<Dim> MemoryDims(std::span<const Dim> dims, const Layout& layout) {
  std::vector<Dim> result;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int dim = layout.DimAt(i);
    const int64_t block = layout.BlockSize(dim);
    result.push_back(block == 1
                         ? dims[dim]
                         : FloorDiv(dims[dim] + Dim(block - 1), Dim(block)));
  }
  for (const Layout::Block& block : layout.blocks) {
    result.push_back(Dim(block.size));
  }
  return result;
}

Dim MemoryBytes(DType dtype, std::span<const Dim> dims, const Layout& layout) {
  Dim elements = 1;
  for (const Dim& dim : MemoryDims(dims, layout)) elements = elements * dim;
  const int bits = BitWidth(dtype);
  if (bits % 8 == 0) return elements * Dim(bits / 8);
  return FloorDiv(elements * Dim(bits) + Dim(7), Dim(8));
}

bool HasPadding(std::span<const Dim> dims, const Layout& layout) {
  return std::ranges::any_of(layout.blocks, [dims](const Layout::Block& block) {
    return dims[block.dim].constant() % block.size != 0;
  });
}

}  // namespace encore::backends
