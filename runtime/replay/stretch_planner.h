// PlanStretches: which operations of a flattened plan a device may record and
// do again with one call.
//
// A stretch is a run of launches, copies, records and waits in queues of one
// device that records (device.h), without anything that the host does, entered
// at its begin only. Loops over parts of a value are left out: their addresses
// are others in each trip.
#ifndef ENCORE_RUNTIME_REPLAY_STRETCH_PLANNER_H_
#define ENCORE_RUNTIME_REPLAY_STRETCH_PLANNER_H_

#include <memory>
#include <span>

#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

// Puts kStretch before each stretch of two launches or copies and more, or of a
// decision, and fills code->stretches. REQUIRES what PlanQueues left. Where no
// device records the operations stay as they are. Linear in operations.
void PlanStretches(const CompiledGraph& graph,
                   std::span<const std::shared_ptr<Device>> devices,
                   ReplayCode* code);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_STRETCH_PLANNER_H_
