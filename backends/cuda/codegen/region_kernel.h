// From a region to the functions that compute it.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_REGION_KERNEL_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_REGION_KERNEL_H_

#include <optional>
#include <string>
#include <vector>

#include "encore/backends/cuda/codegen/attention_plan.h"
#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/codegen/tile_plan.h"
#include "encore/backends/cuda/codegen/transpose.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends::cuda {

// What a function's text calls itself, in place of the name that it is given.
inline constexpr std::string_view kEntryPlaceholder = "ENTRY";

struct GeneratedKernel {
  // The functions, in the order of the launches; equal texts are one function.
  std::vector<std::string> functions;
  // Without the entries' names.
  KernelParams params;
  Dim scratch;  // bytes
  std::vector<runtime::Launch::InPlace> in_place;
};

// Nothing where sizes outgrow what Dims can say.
std::optional<GeneratedKernel> GenerateKernel(const FlatRegion& flat,
                                              const PlanLimits& limits = {});

// The same with atomic stores. REQUIRES that their order is not fixed
// (atomics.h).
std::optional<GeneratedKernel> GenerateAtomics(const FlatRegion& flat,
                                               const PlanLimits& limits = {});

// The same by tiles, and with tiles that are transposed.
std::optional<GeneratedKernel> GenerateTranspose(const FlatRegion& flat,
                                                 const TransposePlan& plan);
std::optional<GeneratedKernel> GenerateTiles(const FlatRegion& flat,
                                             const TilePlan& tile);
// The region of `attention` in one pass over its keys.
std::optional<GeneratedKernel> GenerateAttention(
    const AttentionRegion& attention, const AttentionPlan& plan);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_REGION_KERNEL_H_
