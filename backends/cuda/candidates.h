// Which kernels CUDA has for a region, and what each is estimated to take.
#ifndef ENCORE_BACKENDS_CUDA_CANDIDATES_H_
#define ENCORE_BACKENDS_CUDA_CANDIDATES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/codegen/region_kernel.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/options.h"

namespace encore::backends::cuda {

// Kernels by template: loops computes any region, transpose what stores along
// other variables than it loads, tiles sums of products, on tensor cores where
// dtypes and precision allow it.
inline constexpr std::string_view kLoops = "loops";
inline constexpr std::string_view kTiles = "tiles";
inline constexpr std::string_view kTranspose = "transpose";
inline constexpr std::string_view kTensorTiles = "tensor_tiles";
// The same where there are few tiles: several blocks share what one sums.
inline constexpr std::string_view kSplitTiles = "split_tiles";
inline constexpr std::string_view kSplitTensorTiles = "split_tensor_tiles";
// cuBLASLt's (library/recipe.h), with the best generated one beside it.
inline constexpr std::string_view kCublasLtKernel = "cublaslt";

// Attention in one pass over the keys, where sums may be computed in another
// order; and on tensor cores.
inline constexpr std::string_view kAttention = "attention";
inline constexpr std::string_view kTensorAttention = "tensor_attention";

// Loops with reductions that read one another as one (../region/online.h),
// where they would read rows again.
inline constexpr std::string_view kOnlineLoops = "online_loops";

// Loops with stores that threads make in any order (scatter): where that gives
// equal bits, and under `--rewrites fast` where floats are summed, the bits of
// which then differ from launch to launch.
inline constexpr std::string_view kAtomicLoops = "atomic_loops";

// By estimated cost; none for a region with strings, or with sizes that outgrow
// what Dims can say.
std::vector<Candidate> CandidatesOf(const KernelRequest& request,
                                    const CompileOptions& options);

// The recipe of a candidate called kCublasLtKernel, and the candidate that is
// generated beside it. Nothing where the region has none.
struct LibraryCandidate {
  LibraryRecipe recipe;
  Candidate generated;
};
std::optional<LibraryCandidate> FindLibraryCandidate(
    const KernelRequest& request, const CompileOptions& options);

// The code of a generated candidate. Nothing where it is none of the region's.
std::optional<GeneratedKernel> GenerateCandidate(const KernelRequest& request,
                                                 std::string_view kernel,
                                                 const CompileOptions& options,
                                                 const PlanLimits& limits = {});

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CANDIDATES_H_
