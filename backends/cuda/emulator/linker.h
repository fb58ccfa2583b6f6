// A kernel and what it calls, in one program.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_LINKER_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_LINKER_H_

#include <cstdint>
#include <span>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/program.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// `addresses` are those of the module's variables, of shared ones anything.
// FailedPrecondition for a function that calls itself, or has no body.
StatusOr<Program> LinkKernel(const Module& module, uint32_t kernel,
                             std::span<const uint64_t> addresses);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_LINKER_H_
