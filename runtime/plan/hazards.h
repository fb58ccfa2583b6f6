// What steps touch, and the order that this demands.
//
// Two steps depend when one writes bytes that the other reads or writes. Both
// are derived from the steps' declarations alone; executors with several
// streams or devices order themselves by it.
#ifndef ENCORE_RUNTIME_PLAN_HAZARDS_H_
#define ENCORE_RUNTIME_PLAN_HAZARDS_H_

#include <cstdint>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The slots that a step declares to read and write. Allocate and Deallocate
// write their slot: what lies in it is gone. What a run-time size is read from
// counts as read. Sub-plans do not show but through their Invoke.
struct StepAccess {
  std::vector<SlotId> reads, writes;
};
StepAccess AccessOf(const CompiledGraph& graph, const Step& step);

// For each step of `plan` the earlier steps it must come after, ascending.
// Steps that others of the list come after anyway may be left out. Places that
// may overlap under some values of the symbols count as overlapping. REQUIRES a
// graph that VerifyPlan accepts.
std::vector<std::vector<uint32_t>> StepDependencies(const CompiledGraph& graph,
                                                    PlanId plan);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_HAZARDS_H_
