// Regions, each by the candidate that was chosen for it, as a module.
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
                                   const CompileOptions& options,
                                   const PlanLimits& limits,
                                   KernelProgram* program);

// An artifact for each kernel, equal ones once, with machine code for
// `architectures` and PTX for the first. Each is a program of its own, so that
// it is the same bytes whatever is compiled beside it, and is kept in `store`
// under all that they depend on; what is not there is compiled, `threads` at a
// time. Internal where a candidate is none of its region's; errors of
// CompileDeviceCode.
StatusOr<CompiledModule> BuildModule(
    std::span<const CompileRequest> requests, const CompileOptions& options,
    const std::vector<Architecture>& architectures, int threads,
    ArtifactStore* store);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_MODULE_BUILDER_H_
