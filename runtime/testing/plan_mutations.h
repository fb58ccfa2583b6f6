// MutatePlan: a small mistake in a plan, for tests of who finds it or survives
// it.
#ifndef ENCORE_RUNTIME_TESTING_PLAN_MUTATIONS_H_
#define ENCORE_RUNTIME_TESTING_PLAN_MUTATIONS_H_

#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/testing/sample_plans.h"

namespace encore::runtime {

// Drops, repeats or exchanges steps of one plan, gives a step another operand,
// or a slot another place, size or base. REQUIRES plans and slots.
void MutatePlan(CompiledGraph* graph, Random& random);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_PLAN_MUTATIONS_H_
