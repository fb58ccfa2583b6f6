// VectorPlan: which accesses are of several neighbours at once.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_VECTORS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_VECTORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

constexpr int kMostVectorWidth = 8;

// Groups of `width` neighbours in one variable are a lane's. Addresses in them
// are multiples of the width; whether memory is aligned to it is known at run
// time only.
struct VectorPlan {
  int width = 1;                // a power of two
  std::vector<uint32_t> loads;  // expressions: inputs that lie side by side
  std::vector<bool> stores;     // by store of the stage
};

// Of elementwise launches, in the innermost outer variable. Nothing where the
// region is not one elementwise stage, has too few points, or nothing in it
// lies side by side in groups.
std::optional<VectorPlan> FindVectors(const FlatRegion& flat,
                                      int64_t least_points);

// What of `stage` lies side by side in groups in the last of `variables`, which
// lanes share. Nothing where nothing does, or more than 16 bytes.
std::optional<VectorPlan> FindGroups(const FlatRegion& flat, uint32_t stage,
                                     std::span<const uint32_t> variables,
                                     int width);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_VECTORS_H_
