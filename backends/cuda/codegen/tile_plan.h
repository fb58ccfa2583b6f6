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

#include "encore/backends/cuda/codegen/tiles/tile_choice.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// A factor of the product.
struct TileFactor {
  ExprId value;
  // m, or n; outermost first. Of m none where it is one row.
  std::vector<uint32_t> rows;
  // Whether neighbours in k, rather than in a row, lie side by side.
  bool along_k = true;
  // Above 1: of an input that is loaded as it lies; groups of so many elements
  // in that direction, of 16 bytes, begin at multiples of their size.
  int group = 1;
};

struct TilePlan {
  uint32_t stage = 0;  // the first of the region
  std::vector<uint32_t> batch, k;
  TileFactor m, n;  // n has what neighbours of the result differ in
  // Of a tile; and what a thread, with tensor cores a warp, computes of it.
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int part_m = 0, part_n = 0;
  // Above 1: what is reduced is cut into so many pieces, each a block's, whose
  // sums a second launch adds, always in the same order.
  int pieces = 1;
  // On tensor cores: what factors are rounded to, f32 for TF32. And how many
  // tiles along k a block keeps, of which one is multiplied and the others are
  // being copied.
  std::optional<DType> tensor = std::nullopt;
  int stages = 1;
  // Whether a tile's k differ in the last of its variables alone.
  bool steps_in_last = false;
  double cycles = 0;  // of a device, by estimate

  // Bytes of an element, and of dynamic shared memory, on tensor cores.
  int element_bytes() const { return *tensor == DType::kF32 ? 4 : 2; }
  int64_t shared_bytes() const;
  int parts_m() const { return tile_m / part_m; }
  int parts_n() const { return tile_n / part_n; }
  int threads() const { return parts_m() * parts_n() * (tensor ? 32 : 1); }
};

// Nothing where the region's first stage is no such sum, or more than
// elementwise stages follow, or neither factor has rows of its own; or one has
// none and a factor is computed.
std::optional<TilePlan> MakeTilePlan(const FlatRegion& flat,
                                     const TileMachine& machine = {});

// The same on tensor cores, with the tile that takes least by estimate, and as
// many pieces, where it is to be `split`. Products are of f16 or bf16; of f32
// where `precision` is one of these, or f32 for TF32.
std::optional<TilePlan> MakeTensorPlan(const FlatRegion& flat,
                                       std::optional<DType> precision,
                                       const TileMachine& machine, bool split);

// The same without tensor cores in as many pieces as the device takes least
// time for; nothing where one piece takes less, or too little is reduced.
std::optional<TilePlan> SplitTilePlan(const FlatRegion& flat, TilePlan plan,
                                      const TileMachine& machine);

// Whether tiles lie in one variable of k each (`steps_in_last`), which comes
// last then. Where no factor is loaded in groups another order of k may give
// that: of a convolution all of a tile are then at one place of the window, in
// as many channels.
void OrderSums(const FlatRegion& flat, TilePlan* plan);

// How often neighbours in one of `variables` lie side by side in what `value`
// loads.
int Contiguous(const FlatRegion& flat, ExprId value,
               const std::vector<uint32_t>& variables);

// Whether `value` is an element of an input, loaded as it lies, of which groups
// of so many along `variable`, in which neighbours lie side by side, begin at
// multiples of their size.
bool InGroups(const FlatRegion& flat, ExprId value, uint32_t variable,
              int group);

// Whether tensor cores multiply the dtype as it is.
bool IsTensor(DType dtype);

// `value` without casts of floats to wider ones, which keep every value. Those
// from less than 16 bits are left: they have no products of their own.
ExprId WithoutWidening(const Region& region, ExprId value);

// Blocks of the plan's first launch at the sizes that are planned for, 1 where
// there is nothing to compute.
double TypicalBlocks(const FlatRegion& flat, const TilePlan& plan);

// The product of the variables' extents at the sizes that are planned for.
double TypicalPoints(const FlatRegion& flat,
                     const std::vector<uint32_t>& variables);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TILE_PLAN_H_
