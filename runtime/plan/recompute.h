// Recompute: rematerialization, one step at a time, in a plan whose memory has
// not been assigned.
#ifndef ENCORE_RUNTIME_PLAN_RECOMPUTE_H_
#define ENCORE_RUNTIME_PLAN_RECOMPUTE_H_

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// Lowers the most bytes of temporaries of `pool` that are live at a step of the
// run plan: a temporary that is used before and behind that step, but not in
// it, is let go of, and the launch that makes it is done again before the next
// user, into a temporary of its own. That launch reads what is given or still
// unchanged by then; what it reads lives as much longer. Goes on as long as
// that helps, for at most as many launches as the plan has steps.
//
// REQUIRES a sound graph without run-time symbols and without steps of memory,
// none of whose temporaries has a place in an arena. Cost: linear in the plan's
// accesses for each launch that is done again.
void Recompute(CompiledGraph* graph, PoolId pool);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_RECOMPUTE_H_
