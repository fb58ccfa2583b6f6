// CheckFlow: the invariants P12 to P20 of plan_verifier.h.
#ifndef ENCORE_RUNTIME_PLAN_FLOW_CHECKER_H_
#define ENCORE_RUNTIME_PLAN_FLOW_CHECKER_H_

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// REQUIRES a graph that CheckStructure accepts.
Status CheckFlow(const CompiledGraph& graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_FLOW_CHECKER_H_
