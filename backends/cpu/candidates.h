// Which kernels the CPU has for a region, and what each is estimated to take.
#ifndef ENCORE_BACKENDS_CPU_CANDIDATES_H_
#define ENCORE_BACKENDS_CPU_CANDIDATES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/loops/plan.h"
#include "encore/backends/options.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// Kernels by template: loops over vectors, register tiles, and these with the
// sums along the lanes (inner/schedule.h).
inline constexpr std::string_view kLoops = "loops";
inline constexpr std::string_view kTiles = "tiles";
inline constexpr std::string_view kInner = "inner";
// Winograd convolutions have names of winograd/schedule.h, where rewrites may
// reassociate, attention in one pass those of attention/schedule.h. By oneDNN.
inline constexpr std::string_view kVendor = "onednn";
// Of regions of data-dependent sizes that have no loops.
inline constexpr std::string_view kInterpreter = "interpreter";

// By what a call is estimated to pay (CallSeconds), the one to take first; none
// for a region that the CPU does not compute. The vendor's library is loaded
// where its kernel may be worth it, and asked whether it has it.
std::vector<Candidate> CandidatesOf(const KernelRequest& request,
                                    const CompileOptions& options);

// The form that kTiles and in-place pairs are read off; of a region whose sizes
// are data-dependent, for typical sizes. Nothing where it has none.
std::optional<FlatRegion> FlattenRequest(const KernelRequest& request);
// What kLoops is generated from; nothing where FlattenRequest has none.
std::optional<LoopPlan> LoopsOf(const KernelRequest& request, Isa isa);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CANDIDATES_H_
