// What register tiles cost, in cycles, and which shape of tile is best.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_TILE_COSTER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_TILE_COSTER_H_

#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// Whether a stage is a sum that tiles compute.
bool IsSum(const Region& region, const Stage& stage);

class TileCoster {
 public:
  // `weights`: inputs that may be packed. All are used as long as this is.
  TileCoster(const FlatRegion& flat, const std::vector<bool>& weights, Isa isa);

  int lanes() const { return lanes_; }

  // The best tile with `v` along the lanes and `m` along the rows, without
  // partitions.
  TileSchedule Plan(uint32_t v, uint32_t m) const;

  // Of the whole region with that tile and these variables.
  double Cost(const TileSchedule& plan) const;
  // Of staging one vector of `value` along `v`.
  double StageCycles(ExprId value, uint32_t v) const;

 private:
  void Panels(TileSchedule* plan) const;
  // The blocked dim, then the others as the reduction walks through them.
  std::vector<int> Order(uint32_t input, int dim) const;
  // The reduced variables of all stages as they are walked through, each
  // behind those that were merged into it.
  std::vector<uint32_t> LoopOrder() const;
  // The dim of the input that can be packed along `v`; -1: none.
  int CanPack(uint32_t input, uint32_t v) const;
  // Whether an input is packed along `v`.
  bool PacksAlong(uint32_t v) const;
  // `page_share`: of PageCycles, what falls to one vector.
  double AccessCycles(const FlatAccess& access, const Access* load, uint32_t v,
                      bool along, double page_share = 1) const;
  double PageCycles(const FlatAccess& access) const;
  double Body(const TileSchedule& plan, const std::vector<bool>& needed) const;

  const FlatRegion& flat_;
  const Region& region_;
  const std::vector<bool>& weights_;
  const std::vector<bool> read_by_maps_;
  Isa isa_;
  int lanes_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_TILE_COSTER_H_
