// The kernels of register tiles (tile_schedule.h) whose factors are read in
// place.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_TILE_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_TILE_CODEGEN_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// The kernel for a region of WithPanels without staging.
GeneratedKernel GenerateTiles(const FlatRegion& flat,
                              const TileSchedule& schedule,
                              std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_TILE_CODEGEN_H_
