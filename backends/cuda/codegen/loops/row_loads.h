// What stages load at the elements of a row.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_ROW_LOADS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_ROW_LOADS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Whether `stage` evaluates it, by expression.
std::vector<bool> NeededBy(const Region& region, uint32_t stage);

// Expressions that load, each once, in order.
struct RowLoads {
  std::vector<uint32_t> inputs;   // of inputs
  std::vector<uint32_t> results;  // of what earlier stages made
  // Of `inputs`: what differs along the row and with nothing else, a norm's
  // scale, and always exists.
  std::vector<uint32_t> shared;
};

// Of `stages`, of which the elements are the points of `row`.
RowLoads FindRowLoads(const FlatRegion& flat, std::span<const uint32_t> stages,
                      std::span<const uint32_t> row);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_ROW_LOADS_H_
