// Regions, each by the candidate that was chosen for it, as one module.
#ifndef ENCORE_BACKENDS_CUDA_MODULE_BUILDER_H_
#define ENCORE_BACKENDS_CUDA_MODULE_BUILDER_H_

#include <span>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/codegen/program.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// Adds the functions of a candidate to the program: the kernel, but for its
// artifact. Internal where it is none of the region's.
StatusOr<CompiledKernel> AddKernel(const CompileRequest& request,
                                   Precision precision,
                                   const PlanLimits& limits,
                                   KernelProgram* program);

// One artifact, in which equal functions are one, with machine code for
// `architectures` and PTX for the first. Internal where a candidate is none of
// its region's; errors of CompileDeviceCode.
StatusOr<CompiledModule> BuildModule(
    std::span<const CompileRequest> requests, Precision precision,
    const std::vector<Architecture>& architectures, ArtifactStore* store);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_MODULE_BUILDER_H_
