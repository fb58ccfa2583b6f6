// What is asked of a step whatever its kind. Each answer names every kind, so
// that a new one does not compile until it has its own.
#ifndef ENCORE_RUNTIME_PLAN_STEP_KINDS_H_
#define ENCORE_RUNTIME_PLAN_STEP_KINDS_H_

#include <span>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// Results point into `step`, which outlives them.

// The plans that a step runs; empty but for Invoke.
std::span<const PlanId> SubPlansOf(const Step& step);

// The kernel's launch that a step is; null where it is none.
const Launch* LaunchOf(const Step& step);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_STEP_KINDS_H_
