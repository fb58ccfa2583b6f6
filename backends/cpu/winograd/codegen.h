// A Winograd convolution as one generated kernel (schedule.h).
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_CODEGEN_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/cpu/winograd/schedule.h"

namespace encore::backends::cpu {

// The function `name` (a KernelFunction) for the region of `sum`, whose weights
// are packed (weights.h). `windows`: FindWindowedSum of it.
GeneratedKernel GenerateWinograd(const SumRegion& sum,
                                 const WindowedSum& windows,
                                 const WinogradSchedule& schedule,
                                 std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_CODEGEN_H_
