// TransposePlan: an elementwise launch in which what lies side by side in
// memory is not the same for loads and stores.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TRANSPOSE_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TRANSPOSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/cuda/codegen/loops/vectors.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Blocks take tiles of m and n, 32 x 32 units of `width` neighbours in either.
// `loads` go to shared memory by neighbours in m; what is stored comes from
// there by neighbours in n, for which a lane has a square of width x width.
struct TransposePlan {
  static constexpr int kUnits = 32;

  uint32_t m = 0, n = 0;
  int width = 1;                 // a power of two
  std::vector<uint32_t> others;  // outermost first
  std::vector<uint32_t> loads;   // expressions
  VectorPlan vectors;            // what lies side by side in n

  int tile() const { return kUnits * width; }
  // Warps of a block: few, each with many loads under way.
  int warps() const { return width == 1 ? 4 : 8; }
  int threads() const { return 32 * warps(); }
};

// Nothing where the region is not one elementwise stage of that kind, or is too
// small for tiles.
std::optional<TransposePlan> FindTranspose(const FlatRegion& flat);

// The body of the launch's function, as LaunchEmitter's.
void EmitTranspose(const EmitContext& context, const TransposePlan& plan,
                   std::string* out);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TRANSPOSE_H_
