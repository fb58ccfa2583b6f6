// ChoosePlan: the plan of a graph that measurements of whole plans say.
#ifndef ENCORE_BACKENDS_PLAN_CHOICE_H_
#define ENCORE_BACKENDS_PLAN_CHOICE_H_

#include <functional>
#include <span>
#include <string_view>

#include "encore/backends/artifact_store.h"
#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/backends/plan_forms.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

struct MadePlan {
  runtime::CompiledGraph graph;
  // False where the time for measuring kernels was over first: with more of it
  // this may be another plan.
  bool kernels_measured = false;
};

// Compiles the graph in a form, and measures its kernels for so many seconds.
using MakePlan = std::function<StatusOr<MadePlan>(const PlanForm& form,
                                                  double tune_seconds)>;

// The most of options.tune_seconds that measuring the kernels of the first form
// takes.
inline constexpr double kKernelShare = 0.6;

// In the form that the measurement in `store`, which may be null, says; the
// first one where there is none. Then, for what kernels leave of
// options.tune_seconds, the other forms are made, and those that are other
// plans are replayed by turns with the first one: it stays unless one of them
// takes 2 % less in both halves of the turns. What they took is put into
// `store`; nothing where the time is over before all kernels were measured and
// all plans timed, where memory was short, or where the first plan does not run
// here; another form that does not compile or run is left out. With max_seconds
// nothing is timed: what a search came to by the clock is not what the
// measurement is kept under. REQUIRES HasPlanForms. `stencil`: its bytes.
// Errors are those of the form that is to be taken.
StatusOr<MadePlan> ChoosePlan(const Graph& graph, std::string_view stencil,
                              std::span<const Backend* const> backends,
                              const CompileOptions& options,
                              const MakePlan& make, ArtifactStore* store);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_PLAN_CHOICE_H_
