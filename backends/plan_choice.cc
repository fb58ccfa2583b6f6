#include "encore/backends/plan_choice.h"

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/lowering/tuner.h"
#include "encore/backends/measurement.h"
#include "encore/backends/plan_tuner.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::backends {
namespace {

using Clock = PlanTuner::Clock;
using PlanPtr = std::shared_ptr<const runtime::CompiledGraph>;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The plans of all forms but the first that are unlike those before.
class OtherPlans {
 public:
  explicit OtherPlans(const runtime::CompiledGraph& first) {
    seen_.insert(runtime::SerializeCompiledGraph(first));
  }
  // Nothing where there is one like it.
  PlanPtr Add(runtime::CompiledGraph plan) {
    if (!seen_.insert(runtime::SerializeCompiledGraph(plan)).second) {
      return nullptr;
    }
    return std::make_shared<const runtime::CompiledGraph>(std::move(plan));
  }

 private:
  std::set<std::vector<std::byte>> seen_;
};

// What the first form's plan and the others took, each other one behind its
// form's name; nothing where the time was over first. `best` becomes the plan
// to take.
std::optional<Measurement> MeasurePlans(
    const Graph& graph, std::span<const Backend* const> backends,
    const CompileOptions& options, const MakePlan& make,
    Clock::time_point begin, Clock::time_point deadline, PlanPtr* best) {
  PlanTuner tuner(graph, backends, options);
  if (!tuner.Add(*best).ok()) return std::nullopt;
  OtherPlans others(**best);
  Measurement measurement;
  measurement.timings.push_back({std::string(PlanForms()[0].name), 0, 0});
  std::vector<PlanPtr> plans = {*best};
  for (const PlanForm& form : PlanForms().subspan(1)) {
    const double left = options.tune_seconds - SecondsSince(begin);
    if (left <= 0) return std::nullopt;
    auto made = make(form, left / 2);
    if (!made.ok()) continue;
    PlanPtr plan = others.Add(*std::move(made));
    if (plan == nullptr || !tuner.Add(plan).ok()) continue;
    const auto seconds = tuner.Time(plans.size(), deadline);
    if (seconds.ok() && !seconds->has_value()) return std::nullopt;
    plans.push_back(std::move(plan));
    measurement.timings.push_back(
        {std::string(form.name),
         seconds.ok() ? **seconds : std::numeric_limits<double>::infinity(),
         0});
  }
  measurement.timings[0].seconds = tuner.incumbent_seconds();
  *best = plans[BestOf(measurement, CallsPerLoad(options))];
  return measurement;
}

}  // namespace

StatusOr<runtime::CompiledGraph> ChoosePlan(
    const Graph& graph, std::string_view stencil,
    std::span<const Backend* const> backends, const CompileOptions& options,
    const MakePlan& make, ArtifactStore* store) {
  const Clock::time_point begin = Clock::now();
  const Clock::time_point deadline = Tuner::Deadline(options.tune_seconds);
  const PlanForm& first = PlanForms()[0];
  if (store == nullptr) return make(first, options.tune_seconds);
  const std::string key = PlanMeasurementKey(stencil, options, backends);
  const auto bytes = store->Get(kPlanMeasurementKind, key);
  const auto known = bytes ? DecodeMeasurement(*bytes) : std::nullopt;
  if (known) {
    return make(PlanForms()[BestForm(*known, options)], options.tune_seconds);
  }
  const double for_kernels = options.tune_seconds * kKernelShare;
  ENCORE_ASSIGN_OR_RETURN(runtime::CompiledGraph compiled,
                          make(first, for_kernels));
  // Kernels that are still to be measured would make other plans.
  if (SecondsSince(begin) >= for_kernels) return compiled;
  PlanPtr best = std::make_shared<const runtime::CompiledGraph>(compiled);
  const auto measured =
      MeasurePlans(graph, backends, options, make, begin, deadline, &best);
  if (!measured) return compiled;
  const std::string encoded = EncodeMeasurement(*measured);
  store->Put(kPlanMeasurementKind, key, std::as_bytes(std::span(encoded)));
  return *best;
}

}  // namespace encore::backends
