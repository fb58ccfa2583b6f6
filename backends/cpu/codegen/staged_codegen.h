// The kernels of register tiles with a staged factor (staging.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_STAGED_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_STAGED_CODEGEN_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// The kernel of a schedule with staging: `flat` is the original region,
// `staged` the one of WithPanels(schedule.staging->region).
GeneratedKernel GenerateStagedTiles(const FlatRegion& flat,
                                    const FlatRegion& staged,
                                    const TileSchedule& schedule,
                                    std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_STAGED_CODEGEN_H_
