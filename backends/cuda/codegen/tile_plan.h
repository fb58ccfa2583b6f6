// TilePlan: a sum of products by tiles that blocks keep in shared memory.
//
// The outer variables fall into batch (both factors depend on them), m (the
// first factor does) and n (the second); what is reduced is k. So products and
// convolutions are of one kind: of a convolution m are the sample and the
// position, n the output channel, k the window and the input channel, batch the
// group. Factors may be any expressions; what follows in the region is done to
// each element of a tile.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TILE_PLAN_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TILE_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// A factor of the product.
struct TileFactor {
  ExprId value;
  std::vector<uint32_t> rows;  // m, or n; outermost first
  // Whether neighbours in k, rather than in a row, lie side by side.
  bool along_k = true;
};

struct TilePlan {
  uint32_t stage = 0;  // the first of the region
  std::vector<uint32_t> batch, k;
  TileFactor m, n;  // n has what neighbours of the result differ in
  // Of a tile; and what a thread computes of it.
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int thread_m = 0, thread_n = 0;

  int threads() const { return tile_m / thread_m * (tile_n / thread_n); }
};

// Nothing where the region's first stage is no such sum, or more than
// elementwise stages follow, or a factor has no rows of its own.
std::optional<TilePlan> MakeTilePlan(const FlatRegion& flat);

// The product of the variables' extents at the sizes that are planned for.
double TypicalPoints(const FlatRegion& flat,
                     const std::vector<uint32_t>& variables);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TILE_PLAN_H_
