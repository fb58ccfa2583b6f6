#include "encore/backends/cpu/fit/measured_kernels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/measure/rates.h"
#include "encore/backends/lowering/trial.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/testing/parsed_graph.h"

namespace encore::backends::cpu {
namespace {

constexpr int kLeastRounds = 5;
// Launches that are timed together take at least about this long.
constexpr double kBatchSeconds = 20e-6;
constexpr int kMostBatch = 1000;

// Seconds of a launch, of `batch` in a row.
StatusOr<double> TimeBatch(const Trial& trial, int batch, bool alone) {
  const double start = WorkSeconds(alone);
  for (int i = 0; i < batch; ++i) ENCORE_RETURN_IF_ERROR(trial.Launch());
  return (WorkSeconds(alone) - start) / batch;
}

}  // namespace

KernelProblem::KernelProblem(const DrawnKernel& kernel)
    : graph(ParsedGraph(kernel.text)), built(BuildWhole(graph)) {
  request.region = &built.region;
  for (const ValueId input : built.inputs) {
    for (const Graph::Argument& argument : graph.arguments()) {
      if (argument.value != input) continue;
      request.weights.push_back(argument.is_parameter);
    }
  }
}

StatusOr<std::vector<MeasuredCandidate>> MeasureCandidates(
    const KernelProblem& problem, const CompileOptions& options,
    double most_ratio, double budget_seconds, runtime::ThreadPool* threads) {
  const Backend& backend = *CpuBackend();
  std::vector<Candidate> candidates =
      backend.Candidates(problem.request, options);
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    least = std::min(least, candidate.seconds);
  }
  ENCORE_ASSIGN_OR_RETURN(
      Bench bench, Bench::Make(backend, *problem.request.region, threads));
  const runtime::ThreadPool::Caller caller(*threads);
  std::vector<MeasuredCandidate> measured;
  std::vector<Trial> trials;
  for (Candidate& candidate : candidates) {
    if (!measured.empty() && candidate.seconds > most_ratio * least) continue;
    ENCORE_ASSIGN_OR_RETURN(
        Trial trial,
        Trial::Make(backend, {problem.request, candidate}, options, &bench));
    trials.push_back(std::move(trial));
    measured.push_back(
        {std::move(candidate), std::numeric_limits<double>::infinity()});
  }
  const bool alone = threads->size() == 1;
  const double start = WorkSeconds(alone);
  for (int round = 0;
       round < kLeastRounds || WorkSeconds(alone) - start < budget_seconds;
       ++round) {
    for (size_t i = 0; i < trials.size(); ++i) {
      // The first launch after another kernel's finds other things in the
      // caches.
      ENCORE_ASSIGN_OR_RETURN(const double first,
                              TimeBatch(trials[i], 1, alone));
      const int batch = static_cast<int>(std::clamp(
          kBatchSeconds / std::max(first, 1e-9), 1.0, double{kMostBatch}));
      for (int again = 0; again < 2; ++again) {
        ENCORE_ASSIGN_OR_RETURN(const double seconds,
                                TimeBatch(trials[i], batch, alone));
        measured[i].seconds = std::min(measured[i].seconds, seconds);
      }
    }
  }
  return measured;
}

double CallSeconds(const MeasuredCandidate& measured,
                   const CompileOptions& options) {
  Candidate candidate = measured.candidate;
  candidate.seconds = measured.seconds;
  return CallSeconds(candidate, options);
}

}  // namespace encore::backends::cpu
