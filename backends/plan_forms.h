// Plan forms: the ways in which a compile may cut a graph into kernels, from
// which measurements of whole plans (plan_tuner.h) choose.
#ifndef ENCORE_BACKENDS_PLAN_FORMS_H_
#define ENCORE_BACKENDS_PLAN_FORMS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "encore/backends/backend.h"
#include "encore/backends/measurement.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct PlanForm {
  std::string_view name = {};  // as timings are called
  bool rewritten = true;       // by rules, where options allow any
  Optimizer optimizer = Optimizer::kEGraph;
  // PartitionOptions::least_gain.
  double least_gain = 0;
};

// The first is what is taken where nothing is measured; then those that differ
// least from it.
std::span<const PlanForm> PlanForms();

// Whether a compile chooses between forms: what the user asked for leaves a
// choice, the backends are ones that measure, and data can be made up for the
// graph. Results that are to be equal for any number of threads are not to
// depend on what was measured with one.
bool HasPlanForms(const Graph& graph, const CompileOptions& options,
                  std::span<const Backend* const> backends);

// What the plans of a graph are measured under: everything that they depend on
// but the compiler. `stencil`: its bytes.
std::string PlanMeasurementKey(std::string_view stencil,
                               const CompileOptions& options,
                               std::span<const Backend* const> backends);

// The number of the form to take; the first where a timing names none.
size_t BestForm(const Measurement& measurement, const CompileOptions& options);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_PLAN_FORMS_H_
