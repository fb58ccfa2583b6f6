// The schedule of register tiles whose windows are read from copies (planes.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_

#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// Puts a kernel with planes in place of `best` where it costs less. `weights`:
// inputs that may be packed.
void PlanPlanes(const FlatRegion& flat, const std::vector<bool>& weights,
                Isa isa, std::optional<TileSchedule>* best);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PLANE_SCHEDULE_H_
