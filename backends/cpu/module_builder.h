// Regions, each by the candidate that was chosen for it, as one module.
#ifndef ENCORE_BACKENDS_CPU_MODULE_BUILDER_H_
#define ENCORE_BACKENDS_CPU_MODULE_BUILDER_H_

#include <span>
#include <string_view>

#include "encore/backends/artifact_store.h"
#include "encore/backends/backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// Generated code is one image, in which equal functions are one. What `store`,
// which may be null, has of kernels (kernel_spec.h, relocatable_kernel.h) is
// taken from there, the others are compiled with `threads` threads and put
// there; the image is the same. Internal where a candidate is none of its
// region's.
StatusOr<CompiledModule> BuildModule(std::span<const CompileRequest> requests,
                                     Isa isa, int threads,
                                     ArtifactStore* store);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_MODULE_BUILDER_H_
