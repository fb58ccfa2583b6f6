#include "encore/backends/plan_forms.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "encore/backends/lowering/choose_partition.h"
#include "encore/backends/plan_tuner.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/sha256.h"

namespace encore::backends {
namespace {

constexpr PlanForm kForms[] = {
    {.name = "extracted", .least_gain = PartitionOptions().least_gain},
    {.name = "cheapest", .least_gain = 0},
    {.name = "greedy", .optimizer = Optimizer::kGreedy},
    {.name = "as written",
     .rewritten = false,
     .least_gain = PartitionOptions().least_gain},
};

template <typename Value>
void Write(const Value& value, ByteWriter* out) {
  if constexpr (std::is_same_v<Value, std::string>) {
    out->String(value);
  } else if constexpr (std::is_same_v<Value, double>) {
    out->Fixed64(std::bit_cast<uint64_t>(value));
  } else {
    out->Signed(static_cast<int64_t>(value));
  }
}

}  // namespace

std::span<const PlanForm> PlanForms() { return kForms; }

bool HasPlanForms(const Graph& graph, const CompileOptions& options,
                  std::span<const Backend* const> backends) {
  return options.optimizer == Optimizer::kEGraph && options.fuse &&
         !options.deterministic &&
         std::ranges::all_of(backends,
                             [](const Backend* backend) {
                               return backend->Uses("tune_seconds");
                             }) &&
         PlanTuner::CanTime(graph);
}

std::string PlanMeasurementKey(std::string_view stencil,
                               const CompileOptions& options,
                               std::span<const Backend* const> backends) {
  ByteWriter out;
  for (const Backend* backend : backends) {
    out.String(backend->name());
    for (const auto& [name, value] : backend->Target(options)) {
      out.String(name);
      out.String(value);
    }
  }
  VisitOptions(options, [&](const OptionInfo& info, const auto& value) {
    if (!info.in_key) return;
    out.String(info.name);
    Write(value, &out);
  });
  out.Raw(stencil);
  return Sha256Of(out.str()).ToHex();
}

size_t BestForm(const Measurement& measurement, const CompileOptions& options) {
  const size_t best = BestOf(measurement, CallsPerLoad(options));
  const auto form = std::ranges::find(kForms, measurement.timings[best].kernel,
                                      &PlanForm::name);
  return form == std::end(kForms) ? 0 : form - std::begin(kForms);
}

}  // namespace encore::backends
