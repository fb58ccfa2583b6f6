// The kernels of register tiles whose windows are read from copies (planes.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PLANE_TILES_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PLANE_TILES_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// The kernel of a schedule with plane_rows for the region it was made for.
GeneratedKernel GeneratePlaneTiles(const FlatRegion& flat,
                                   const TileSchedule& schedule,
                                   std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PLANE_TILES_H_
