#include "encore/backends/plan_choice.h"

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "encore/backends/lowering/paired_times.h"
#include "encore/backends/measurement.h"
#include "encore/backends/plan_tuner.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::backends {
namespace {

using Clock = PlanTuner::Clock;
using PlanPtr = std::shared_ptr<const runtime::CompiledGraph>;

// Whether plans are unlike those before.
class DistinctPlans {
 public:
  bool Add(const runtime::CompiledGraph& plan) {
    const auto bytes = runtime::SerializeCompiledGraph(plan);
    return seen_.insert(Sha256Of(bytes)).second;
  }

 private:
  std::set<Digest> seen_;
};

// Whether a form may do what it did not, once there is more memory.
bool IsForNow(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted;
}

// What the first form's plan, `incumbent`, and the others took, each other one
// behind its form's name; nothing where the time was over first. `least`
// becomes the other one that took least.
std::optional<Measurement> MeasurePlans(
    const Graph& graph, std::span<const Backend* const> backends,
    const CompileOptions& options, const MakePlan& make,
    Clock::time_point deadline, const PlanPtr& incumbent, PlanPtr* least) {
  PlanTuner tuner(graph, backends, options);
  if (!tuner.SetIncumbent(incumbent).ok()) return std::nullopt;
  DistinctPlans distinct;
  distinct.Add(*incumbent);
  Measurement measurement;
  measurement.timings.push_back({std::string(PlanForms()[0].name), 0, 0});
  double least_seconds = std::numeric_limits<double>::infinity();
  for (const PlanForm& form : PlanForms().subspan(1)) {
    const std::chrono::duration<double> left = deadline - Clock::now();
    if (left.count() <= 0) return std::nullopt;
    auto made = make(form, left.count() / 2);
    if (IsForNow(made.status())) return std::nullopt;
    if (!made.ok()) continue;
    if (!made->kernels_measured) return std::nullopt;
    if (!distinct.Add(made->graph)) continue;
    const PlanPtr plan =
        std::make_shared<const runtime::CompiledGraph>(std::move(made->graph));
    const auto seconds = tuner.Time(plan, deadline);
    if (IsForNow(seconds.status())) return std::nullopt;
    if (!seconds.ok()) continue;
    if (!seconds->has_value()) return std::nullopt;
    measurement.timings.push_back({std::string(form.name), **seconds, 0});
    if (**seconds >= least_seconds) continue;
    least_seconds = **seconds;
    *least = plan;
  }
  measurement.timings[0].seconds = tuner.incumbent_seconds();
  return measurement;
}

}  // namespace

StatusOr<MadePlan> ChoosePlan(const Graph& graph, std::string_view stencil,
                              std::span<const Backend* const> backends,
                              const CompileOptions& options,
                              const MakePlan& make, ArtifactStore* store) {
  const Clock::time_point deadline = DeadlineIn(options.tune_seconds);
  const PlanForm& first = PlanForms()[0];
  if (store == nullptr) return make(first, options.tune_seconds);
  const std::string key = PlanMeasurementKey(stencil, options, backends);
  const auto bytes = store->Get(kPlanMeasurementKind, key);
  const auto known = bytes ? DecodeMeasurement(*bytes) : std::nullopt;
  if (known) {
    return make(PlanForms()[BestForm(*known, options)], options.tune_seconds);
  }
  if (options.max_seconds > 0) return make(first, options.tune_seconds);
  ENCORE_ASSIGN_OR_RETURN(MadePlan made,
                          make(first, options.tune_seconds * kKernelShare));
  if (!made.kernels_measured || Clock::now() >= deadline) return made;
  PlanPtr incumbent =
      std::make_shared<const runtime::CompiledGraph>(std::move(made.graph));
  PlanPtr least;
  const auto measured =
      MeasurePlans(graph, backends, options, make, deadline, incumbent, &least);
  if (measured) {
    const std::string encoded = EncodeMeasurement(*measured);
    store->Put(kPlanMeasurementKind, key, std::as_bytes(std::span(encoded)));
    if (BestOf(*measured, CallsPerLoad(options)) > 0) incumbent = least;
  }
  return MadePlan{*incumbent, /*kernels_measured=*/true};
}

}  // namespace encore::backends
