// TransposePlan: an elementwise launch in which what lies side by side in
// memory is not the same for loads and stores.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TRANSPOSE_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TRANSPOSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Blocks take tiles of m and n: `loads` go to shared memory by neighbours in m,
// and what is stored comes from there by neighbours in n.
struct TransposePlan {
  static constexpr int kTile = 32, kRows = 8;

  uint32_t m = 0, n = 0;
  std::vector<uint32_t> others;  // outermost first
  std::vector<uint32_t> loads;   // expressions

  int threads() const { return kTile * kRows; }
};

// Nothing where the region is not one elementwise stage of that kind, or is too
// small for tiles.
std::optional<TransposePlan> FindTranspose(const FlatRegion& flat);

// The body of the launch's function, as LaunchEmitter's.
void EmitTranspose(const EmitContext& context, const TransposePlan& plan,
                   std::string* out);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TRANSPOSE_H_
