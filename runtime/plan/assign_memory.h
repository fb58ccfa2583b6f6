// AssignMemory: gives every temporary of a compiled graph its storage.
//
// Lowering builds slots and steps without Allocate and Deallocate and calls
// this last. It finds when each temporary is live, puts those of bounded size
// into one arena per plan and pool (memory_plan.h), lets outputs of a launch
// take the place of reads that end there (Launch::in_place), and gives those of
// run-time or unbounded size, and outputs of run-time size, Allocate and
// Deallocate steps around their uses. Symbolic sizes are planned at their upper
// bounds.
//
// Where devices have queues, steps run beside one another, and one that writes
// where another still reads has to wait. There a temporary does not get the
// place of one whose users may still run beside its maker (step_order.h): for
// as many steps after these as the arena has room for within `growth`. Places
// only make waits: whatever the arena, the order of a replay is sound.
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

struct MemoryOptions {
  // By device of the graph, whether it has queues; those beyond have none.
  // Without any true one steps run one after the other.
  std::vector<bool> queued = {};
  // What an arena may grow by, as a part of the smallest that was found, so
  // that less has to wait.
  double growth = 0.1;
};

// REQUIRES ids in range, plans that form trees under prepare and run, and
// temporaries used under one of the two only. InvalidArgument where sizes leave
// int64. Where devices have queues the arenas are planned some ten times.
StatusOr<MemoryReport> AssignMemory(CompiledGraph* graph,
                                    const MemoryOptions& options = {});

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_ASSIGN_MEMORY_H_
