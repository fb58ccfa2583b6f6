// One register tile as code: what tile_codegen.cc and staged_codegen.cc put
// their loops around.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_TILE_EMITTER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_TILE_EMITTER_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// Where a tile lies and how much of it there is.
struct Tile {
  Value row, column;
  int rows = 0, vectors = 0;
  int64_t last_lanes = 0;  // of the last vector; all where it is `lanes`
};

class TileEmitter {
 public:
  // All are used as long as this is.
  TileEmitter(RegionEmitter& e, const FlatRegion& flat,
              const TileSchedule& schedule);

  // All stages for the tile. REQUIRES that the other variables are set.
  void Emit(const Tile& tile);
  // The stages behind the first one, all maps, of a tile of which that one
  // gives `sums`: of each row its vectors. REQUIRES that the other variables
  // are set.
  void EmitMaps(const Tile& tile, std::vector<Value> sums);

 private:
  bool has_rows() const { return s_.row_variable != s_.vector_variable; }
  void EmitSum(const Tile& tile, size_t stage);
  void EmitMap(const Tile& tile, size_t stage);
  // A map's value, if it has one, and its stores at the current point.
  Value EmitPoint(size_t stage);
  // The stages from `first` on, all maps.
  void EmitMapsFrom(const Tile& tile, size_t first);
  // The stages from `first` on, all maps, one after the other at each point, in
  // a loop over the rows.
  void EmitMapsByRows(const Tile& tile, size_t first);
  // The results of a stage, transposed, in memory: of each lane all rows.
  Value EmitTurned(const Tile& tile, size_t stage);
  // The stages from `first` on, all maps, of sums that are transposed.
  void EmitTurnedMaps(const Tile& tile, size_t first);
  // Whether that is worth the detour of the results through memory: where the
  // code of a point is long.
  bool WantsRows(const Tile& tile, size_t first) const;
  // The point (r, u) of the tile becomes the current one.
  void Place(const Tile& tile, int r, int u);
  // The vector `u` of a row.
  void PlaceVector(const Tile& tile, int u);
  // `body` for every point of reduced[first…]; those from `unrolled` on are
  // unrolled.
  void Reduce(const std::vector<uint32_t>& reduced, size_t first,
              size_t unrolled, const std::function<void()>& body);
  std::vector<uint32_t> SharingOrder(size_t stage) const;
  size_t FirstUnrolled(const Tile& tile,
                       const std::vector<uint32_t>& reduced) const;
  // Panels of weights come from far, and each page of them anew.
  void PrefetchPanels(const Tile& tile);
  // What rows read where it lies, a line of each point of the sum, for a tile
  // that follows this one: into the second level, as the first has no room for
  // a line of each point.
  void PrefetchRows(const Tile& tile, uint32_t innermost);
  // Adds the stage's value at each point of the tile to its sum.
  void AddValues(const Tile& tile, size_t stage,
                 const std::vector<Value>& sums);

  const FlatRegion& flat_;
  const Region& region_;
  const TileSchedule& s_;
  RegionEmitter& e_;
  IrBuilder& b_;
  std::vector<std::vector<Value>> results_;  // by stage and point
};

// A number of units, the one with the number `unit` cut into its digits: the
// last extent varies fastest. Digits of extent 1 are 0.
std::vector<Value> Digits(IrBuilder& b, const Value& unit,
                          const std::vector<int64_t>& extents);

// The same of a unit of tiles: a digit for each of `schedule.others`, variables
// of `flat`, then one for each of `inner`.
std::vector<Value> UnitDigits(IrBuilder& b, const Value& unit,
                              const FlatRegion& flat,
                              const TileSchedule& schedule,
                              std::initializer_list<int64_t> inner);

// Sets the variables of `original`, which `e` emits, that `variable` of
// `merged` stands for (OriginalVariables) where that one is `value`.
void SetOriginal(RegionEmitter& e, const FlatRegion& original,
                 const FlatRegion& merged, uint32_t variable,
                 const Value& value);

// `bytes` for this call alone: on the stack, or of the launch's scratch, which
// then is to have `*scratch_bytes`.
Value PartitionMemory(IrBuilder& b, const Region& region, int64_t bytes,
                      int64_t partitions, int64_t* scratch_bytes);

// `body` for each unit of this call's partition.
void PartitionLoop(IrBuilder& b, int64_t units, int64_t partitions,
                   const std::function<void(const Value&)>& body);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_TILE_EMITTER_H_
