// The weights of a Winograd convolution, transformed.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_WEIGHTS_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_WEIGHTS_H_

#include <string_view>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/winograd/schedule.h"

namespace encore::backends::cpu {

// The function `name` (a KernelFunction) that reads the weights where `sum` has
// them, and writes G g G^T of each window as the schedule has it: computed in
// f64 and rounded once. Rows that do not exist are 0.
GeneratedKernel GenerateWinogradWeights(const WindowedSum& sum,
                                        const WinogradSchedule& schedule,
                                        std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_WEIGHTS_H_
