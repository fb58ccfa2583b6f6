// What a program needs of the machine that loads it, as the texts of
// KernelBinary::requirements:
//
//   sm_80         a device of that compute capability or a later one; with the
//                 suffix a, of that one alone
//   driver=13.0   a driver that serves that CUDA or a later one
//
// They are those of what was compiled, wherever that was: the machine's own
// versions are looked at when it loads, and enter no key. All is thread-safe.
#ifndef ENCORE_BACKENDS_CUDA_REQUIREMENTS_H_
#define ENCORE_BACKENDS_CUDA_REQUIREMENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// "13.0" of a version as cuDriverGetVersion gives it, 13000.
std::string CudaVersionText(uint32_t version);

// Of code whose lowest image is for `lowest` and whose least driver is that.
std::vector<std::string> RequirementsOf(const Architecture& lowest,
                                        uint32_t driver);

// FailedPrecondition for the first of `requirements` that a device of compute
// capability `device` under a driver of that version lacks: what is needed and
// what is there. The same for one that this release does not know.
Status CheckRequirements(std::span<const std::string> requirements,
                         const Architecture& device, uint32_t driver);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_REQUIREMENTS_H_
