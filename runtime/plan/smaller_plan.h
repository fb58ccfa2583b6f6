// SmallerPlan: the plans of a compiled graph with less memory and more time,
// for where there is not enough for them as they are.
//
// What is given up for memory, as far as it helps:
//   * steps that run beside one another: temporaries get their places as where
//     steps run one after the other (assign_memory.h without queues), and what
//     meets in a place waits;
//   * the order of the steps: of those that could be next, one after which
//     least is live comes first (list scheduling);
//   * values that are kept for later users: a step whose result lies unused
//     where most is live, and whose operands are there or are given anyway, is
//     done again before the next user (rematerialization, greedily, where it
//     lowers the peak).
//
// Source of the last: Kumar et al., "Efficient Rematerialization for Deep
// Networks", 2019, which has the problem; what is done here is one step at a
// time. Kernels are functions of what they read, so every output has the same
// value, but for kernels that add in any order, whose sums may differ in their
// rounding from one use to another.
#ifndef ENCORE_RUNTIME_PLAN_SMALLER_PLAN_H_
#define ENCORE_RUNTIME_PLAN_SMALLER_PLAN_H_

#include <cstdint>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The graph with other run and prepare plans: slots, binaries and plans have
// the numbers that they have in `graph`, and the signature is the same; steps
// are other ones, and temporaries are added. `queued`: by device, whether it
// has queues. REQUIRES a graph that VerifyPlan accepts. InvalidArgument where
// sizes leave int64, Unimplemented where there are more than 8,192 temporaries:
// planning takes time with their number squared. Deterministic.
//
// Order and rematerialization are for run plans of at most 4,096 steps in
// graphs without run-time symbols, and left out elsewhere. Cost: steps squared,
// and four memory plans.
StatusOr<CompiledGraph> SmallerPlan(const CompiledGraph& graph,
                                    const std::vector<bool>& queued);

// Bytes of all arenas of the run plan at the symbols' upper bounds, those in
// host memory left out where another pool has any.
int64_t RunArenaBytes(const CompiledGraph& graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_SMALLER_PLAN_H_
