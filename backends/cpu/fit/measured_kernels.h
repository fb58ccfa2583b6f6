// What the candidates for a kernel take on this machine, beside what they are
// estimated to take.
#ifndef ENCORE_BACKENDS_CPU_FIT_MEASURED_KERNELS_H_
#define ENCORE_BACKENDS_CPU_FIT_MEASURED_KERNELS_H_

#include <memory>
#include <string>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/fit/drawn_kernels.h"
#include "encore/backends/options.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {

// The region of a drawn kernel, as lowering would ask for it.
struct KernelProblem {
  Graph graph;
  BuiltRegion built;
  KernelRequest request;

  // Dies where the text is no region.
  explicit KernelProblem(const DrawnKernel& kernel);
  KernelProblem(const KernelProblem&) = delete;
  KernelProblem& operator=(const KernelProblem&) = delete;
};

struct MeasuredCandidate {
  Candidate candidate;
  double seconds = 0;  // the least of its launches
};

// Each candidate but those that are estimated to take over `most_ratio` times
// the least, launched in turns until all together took `budget_seconds`, five
// times at least. The first is the one that is chosen by estimate. Errors of
// compiling and of launching.
StatusOr<std::vector<MeasuredCandidate>> MeasureCandidates(
    const KernelProblem& problem, const CompileOptions& options,
    double most_ratio, double budget_seconds, runtime::ThreadPool* threads);

// What a call pays for a candidate: a launch, and its share of loading.
double CallSeconds(const MeasuredCandidate& measured,
                   const CompileOptions& options);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_FIT_MEASURED_KERNELS_H_
