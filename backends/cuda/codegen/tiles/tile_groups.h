// What of a product's factors and results lies in groups of neighbours, which
// threads load and store at once, where no tensor cores multiply.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TILES_TILE_GROUPS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TILES_TILE_GROUPS_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/codegen/loops/vectors.h"
#include "encore/backends/cuda/codegen/tile_plan.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Neighbours that are read, multiplied and written together.
inline constexpr int kTileGroup = 4;
inline constexpr int kTileGroupBits = 128;

// Of a tile that is filled along k: neighbours in k that neighbouring lanes
// load, of elements and of groups.
inline constexpr int kElementsAcross = 8;
inline constexpr int kGroupsAcross = 2;

// How the tile of a factor is filled.
struct TileFill {
  const TileFactor* factor = nullptr;
  std::string_view name;  // m or n
  // Of the tile, and from one k to the next in shared memory.
  int rows = 0, pitch = 0;
  // A load of an input in groups, if the conditions are multiples of the group
  // at run time; else elements of whatever the factor is.
  std::optional<ExprId> groups = std::nullopt;
  std::vector<Size> conditions = {};
  int count = 0;  // of groups, or elements
};

// Of plan.m or plan.n, which outlives it.
TileFill FillOf(const FlatRegion& flat, const TilePlan& plan, bool of_m);

// Of what follows the sum, or of the sums of pieces, whose elements have so
// many bytes. Nothing where something that is stored does not lie in groups.
std::optional<VectorPlan> FindResultGroups(const FlatRegion& flat,
                                           const TilePlan& plan,
                                           int element_bytes);

// Of a warp: how many lanes lie along m and along n.
std::pair<int, int> LanesOf(const TilePlan& plan);

// Blocks of the plan that the registers of a multiprocessor have to suffice
// for; 0: as the compiler likes, since factors that are computed may need more.
// REQUIRES indices of 32 bits.
int LeastBlocks(const FlatRegion& flat, const TilePlan& plan);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TILES_TILE_GROUPS_H_
