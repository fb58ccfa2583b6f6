// PlanTuner: whole compiled graphs timed against each other, on the machine
// that compiles.
//
// Estimates of kernels that are cut in different ways are off by more than the
// plans differ, and what a kernel takes by itself is not what it takes between
// others. So a compile with tune_seconds makes a few plans of the graph
// (plan_forms.h) and replays them by turns. What they took is a measurement
// like those of kernels, by which later compiles choose.
#ifndef ENCORE_BACKENDS_PLAN_TUNER_H_
#define ENCORE_BACKENDS_PLAN_TUNER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

class PlanTuner {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether a run on made-up data takes what one on others does. Arguments are
  // tensors of numbers of known sizes, 2 GiB at most. No data say how much
  // there is to do: a loop whose trips they count, or that they end, may never
  // end on others, and a size that is known at run time only may be any.
  static bool CanTime(const Graph& graph);

  // Plans of `graph` run on as many threads as `options` plan for. The backends
  // outlive this. REQUIRES CanTime.
  PlanTuner(const Graph& graph, std::span<const Backend* const> backends,
            const CompileOptions& options);
  ~PlanTuner();

  // Loads the plan that others are timed by turns with, on this machine, with
  // weights and inputs that depend on their types alone, and runs it once.
  // Errors are those of devices.
  Status SetIncumbent(std::shared_ptr<const runtime::CompiledGraph> plan);

  // Seconds of a plan that is loaded likewise, and given back when this
  // returns; what its load takes is not among them. Nothing where `deadline`
  // comes first. REQUIRES an incumbent.
  StatusOr<std::optional<double>> Time(
      std::shared_ptr<const runtime::CompiledGraph> plan,
      Clock::time_point deadline);
  // The least seconds of the incumbent in all of these; infinite before.
  double incumbent_seconds() const { return incumbent_seconds_; }

 private:
  class Trial;

  const std::span<const Backend* const> backends_;
  runtime::ThreadPool threads_;
  std::vector<runtime::Blob> parameters_;
  std::vector<Literal> inputs_;
  std::unique_ptr<Trial> incumbent_;
  double incumbent_seconds_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_PLAN_TUNER_H_
