// GenerateKernel: a region by the candidate that was chosen for it, as LLVM IR.
#ifndef ENCORE_BACKENDS_CPU_KERNEL_GENERATOR_H_
#define ENCORE_BACKENDS_CPU_KERNEL_GENERATOR_H_

#include "encore/backends/cpu/kernel_spec.h"
#include "encore/backends/cpu/relocatable_kernel.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// Functions are texts of LLVM IR, equal ones for equal code. Deterministic,
// thread-safe. Internal where the candidate is none of the region's; errors of
// the vendor's library where it is that one. REQUIRES that the candidate is not
// kInterpreter, which has no code.
StatusOr<RelocatableKernel> GenerateKernel(const KernelSpec& spec);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_KERNEL_GENERATOR_H_
