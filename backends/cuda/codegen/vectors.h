// VectorPlan: which accesses of an elementwise launch are of several neighbours
// at once.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_VECTORS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_VECTORS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Neighbours in the innermost outer variable are `width` points of one thread.
struct VectorPlan {
  int width = 1;                // a power of two
  std::vector<uint32_t> loads;  // expressions: inputs that lie side by side
  std::vector<bool> stores;     // by store of the stage
};

// Nothing where the region is not one elementwise stage, has too few points, or
// nothing in it lies side by side in groups. Addresses are multiples of the
// width; whether memory is aligned to it is known at run time only.
std::optional<VectorPlan> FindVectors(const FlatRegion& flat,
                                      int64_t least_points);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_VECTORS_H_
