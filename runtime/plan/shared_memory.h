// Whether an output may lie where an input does.
#ifndef ENCORE_RUNTIME_PLAN_SHARED_MEMORY_H_
#define ENCORE_RUNTIME_PLAN_SHARED_MEMORY_H_

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// Whether the results are the same where the caller gives one buffer of host
// memory for the input and the output, so that the input is given up: the run
// reads the input no more once it writes the output, or one step does both,
// which copies the whole of one to the other or says that it is `in_place` of
// it. So it is where a graph updates a part of a tensor, and never where it
// puts tensors one behind the other.
//
// REQUIRES a graph that VerifyPlan accepts, and an input and an output of it,
// of equal size. False where a sub-plan uses the input. Cost: linear in the
// steps.
bool MayShareMemory(const CompiledGraph& graph, SlotId input, SlotId output);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_SHARED_MEMORY_H_
