// The schedule of register tiles whose windows are read from copies (planes.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_

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

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
