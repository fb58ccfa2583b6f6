// The schedules of register tiles whose windows are read from copies (planes.h)
// or where they lie (window_tiles.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_

#include <cstdint>
#include <optional>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {

// Puts a kernel with planes in place of `best` where it costs less. Its tiles
// are of the rows that share a copy, which each read their own part of it, or
// of another variable, such as the results of a group, which all read the same.
void PlanPlanes(const FlatRegion& flat, Isa isa,
                std::optional<TileSchedule>* best);

// Puts a kernel that reads windows where they lie in place of `best` where it
// costs less: of a window that is unrolled whole, with range checks along the
// rows and the lanes of its tiles only.
void PlanWindows(const FlatRegion& flat, Isa isa,
                 std::optional<TileSchedule>* best);

// A variable's values as tiles of `size`: those of [begin, end), a multiple of
// it, are whole and inside, where no window leaves what it reads. Before and
// behind them lie tiles at the edges, smaller ones last.
struct TilesInside {
  int64_t size = 1, extent = 0, begin = 0, end = 0;

  // Tiles of so many values.
  int64_t Tiles(int64_t values) const { return CeilDiv(values, size); }
  int64_t at_edges() const { return Tiles(begin) + Tiles(extent - end); }
  int64_t tiles() const { return at_edges() + (end - begin) / size; }
};
// `anywhere`: the inside begins where no window leaves any more, not at a
// multiple of the size. REQUIRES of range checks what PlanWindows does.
TilesInside FindTilesInside(const FlatRegion& flat, uint32_t variable,
                            int64_t size, bool anywhere);
// The tiles of a schedule with in_place: along its vector variable, and along
// its row variable, of which there are few where code of their own at the edges
// would be long.
TilesInside FindColumnTiles(const FlatRegion& flat,
                            const TileSchedule& schedule);
TilesInside FindRowTiles(const FlatRegion& flat, const TileSchedule& schedule);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
