// The schedules of register tiles whose windows are read from copies (planes.h)
// or where they lie (window_tiles.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_

#include <cstdint>
#include <optional>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"

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

// Tiles of `size` values of a variable, the first and those from `end` on
// apart, for which a window may leave what it reads, or which have less values.
struct TilesInside {
  int64_t begin = 0, end = 0, tiles = 0;

  int64_t at_edges() const { return tiles - (end - begin); }
};
// REQUIRES of range checks what PlanWindows does.
TilesInside FindTilesInside(const FlatRegion& flat, uint32_t variable,
                            int64_t size);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
