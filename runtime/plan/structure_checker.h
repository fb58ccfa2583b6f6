// CheckStructure: the invariants P1 to P11 of plan_verifier.h.
#ifndef ENCORE_RUNTIME_PLAN_STRUCTURE_CHECKER_H_
#define ENCORE_RUNTIME_PLAN_STRUCTURE_CHECKER_H_

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

inline constexpr int kMostNestedPlans = 8;
inline constexpr int kMostOperands = 4096;

Status CheckStructure(const CompiledGraph& graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_STRUCTURE_CHECKER_H_
