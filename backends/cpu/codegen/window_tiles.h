// The kernels of register tiles whose windows are read where they lie.
//
// What planes.h copies with its padding is read in place where a window moves
// along the rows and the lanes of tiles alone and is unrolled whole. Most tiles
// are inside, and read without range checks. At the edges of rows and columns
// tiles are at constant places, so that what lanes may read is a constant too.
// Rows of a tile share what their windows have in common.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_WINDOW_TILES_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_WINDOW_TILES_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// The kernel of a schedule with in_place for the region it was made for.
GeneratedKernel GenerateWindowTiles(const FlatRegion& flat,
                                    const TileSchedule& schedule,
                                    std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_WINDOW_TILES_H_
