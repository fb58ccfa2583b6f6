// AssignMemory: gives every temporary of a compiled graph its storage.
//
// Lowering builds slots and steps without Allocate and Deallocate and calls
// this last. It finds when each temporary is live, puts those of bounded size
// into one arena per plan and pool (memory_plan.h), lets outputs of a launch
// take the place of reads that end there (Launch::in_place), and gives those of
// run-time or unbounded size, and outputs of run-time size, Allocate and
// Deallocate steps around their uses. Symbolic sizes are planned at their upper
// bounds.
#ifndef ENCORE_RUNTIME_PLAN_ASSIGN_MEMORY_H_
#define ENCORE_RUNTIME_PLAN_ASSIGN_MEMORY_H_

#include <cstdint>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

struct ArenaReport {
  PlanId plan;  // prepare or run
  PoolId pool;
  SlotId arena;
  int64_t bytes = 0;
  int64_t lower_bound = 0;  // as OffsetPlan's
};

struct MemoryReport {
  std::vector<ArenaReport> arenas;
};

// REQUIRES ids in range, plans that form trees under prepare and run, and
// temporaries used under one of the two only. InvalidArgument where sizes leave
// int64.
StatusOr<MemoryReport> AssignMemory(CompiledGraph* graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_ASSIGN_MEMORY_H_
