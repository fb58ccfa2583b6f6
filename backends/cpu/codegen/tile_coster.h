// What register tiles cost, in cycles, and which shape of tile is best.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_TILE_COSTER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_TILE_COSTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/strided_reads.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// Whether a stage is a sum that tiles compute.
bool IsSum(const Region& region, const Stage& stage);

class TileCoster {
 public:
  // `weights`: inputs that may be packed; all are used as long as this is.
  // `staged`: an input that is had in scratch memory, panel by panel.
  TileCoster(const FlatRegion& flat, const std::vector<bool>& weights, Isa isa,
             std::optional<uint32_t> staged = {});

  int lanes() const { return lanes_; }

  // The best tile with `v` along the lanes and `m` along the rows, without
  // partitions.
  TileSchedule Plan(uint32_t v, uint32_t m) const;

  // Of the whole region with that tile and these variables.
  double Cost(const TileSchedule& plan) const;
  // Of what follows the sums of one tile.
  double MapCycles(const TileSchedule& plan) const;
  // What lines of large results, and of what is read beside them, take beyond
  // that where a tile's rows are on pages of their own and the next tile has
  // others.
  double FarRowCycles(const TileSchedule& plan) const;
  // The input in blocks of so many elements along `v`; nothing where it cannot
  // be packed so.
  std::optional<TileSchedule::Panel> PanelOf(uint32_t input, uint32_t v,
                                             int64_t block) const;
  // Of staging one vector of a factor of the sum `stage` along `v`, of `block`
  // neighbours that are staged at once.
  double StageCycles(size_t stage, ExprId value, uint32_t v,
                     int64_t block) const;

 private:
  // Elements between neighbours that are read as vectors.
  static constexpr int64_t kMostDenseStep = 2;

  void Panels(TileSchedule* plan) const;
  // The blocked dim, then the others as the reduction walks through them.
  std::vector<int> Order(uint32_t input, int dim) const;
  // The reduced variables of all stages as they are walked through, each
  // behind those that were merged into it.
  std::vector<uint32_t> LoopOrder() const;
  // The dim of the input that can be packed along `v`; -1: none.
  int CanPack(uint32_t input, uint32_t v) const;
  // Whether what is loaded, any input, is packed along `v`.
  bool IsPacked(const Access& load, uint32_t v) const;
  bool PacksAlong(uint32_t v) const;
  // Of a vector, once its lines are in the first level of cache.
  double AccessCycles(const FlatAccess& access, const Access* load, uint32_t v,
                      bool along) const;
  // What the lines of an input take that are not in the first level of cache,
  // per point of the reduced variables of `stage`: where the input is read
  // along `along` for `width` points, at as many places as `rows` says, and by
  // `passes` tiles one after the other.
  double FarCycles(size_t stage, const FlatAccess& access, const Access& load,
                   uint32_t along, int64_t width, StridedReads::Step rows,
                   int64_t passes) const;
  // The same of what a tile reads.
  double FarCycles(const TileSchedule& plan, size_t stage,
                   const FlatAccess& access, const Access& load) const;
  // What the lines take, per point of the sum, that the rows of a tile do not
  // share, such as the same point of several images, where each point of the
  // sum is on other lines.
  double RowLineCycles(const TileSchedule& plan, size_t stage,
                       const FlatAccess& access, const Access& load) const;
  // The tile of results that is mapped behind the transposed sums of a plan.
  TileSchedule Turned(const TileSchedule& plan) const;
  // Of one point of the stage's sum, or of what it maps.
  double Body(const TileSchedule& plan, size_t stage) const;

  const FlatRegion& flat_;
  const Region& region_;
  const std::vector<bool>& weights_;
  const std::vector<bool> read_by_maps_;
  Isa isa_;
  std::optional<uint32_t> staged_;
  int lanes_;
  bool multiplies_ = false;  // some sum is of products
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_TILE_COSTER_H_
