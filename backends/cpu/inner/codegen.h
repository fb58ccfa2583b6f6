// The kernels of products whose sums run along the lanes.
#ifndef ENCORE_BACKENDS_CPU_INNER_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_INNER_CODEGEN_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/inner/schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// The kernel for the region of the schedule with its panels (WithPanels).
GeneratedKernel GenerateInner(const FlatRegion& flat,
                              const InnerSchedule& schedule,
                              std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_INNER_CODEGEN_H_
