// Attention in one pass over the keys as a generated kernel (schedule.h).
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_CODEGEN_H_

#include <string_view>

#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/region/flat/attention_region.h"

namespace encore::backends::cpu {

// The function `name` (a KernelFunction) of the region, with its epilogue.
GeneratedKernel GenerateAttention(const AttentionRegion& attention,
                                  const AttentionSchedule& schedule,
                                  std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_CODEGEN_H_
