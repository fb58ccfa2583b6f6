// PlanQueues: which queue each operation of a flattened plan goes through, and
// what it must wait for.
//
// Two operations conflict when one writes bytes that the other reads or writes
// (hazards.h); the later one waits where nothing else puts them in order
// (wait_planner.h). What an operation may come after is found by following
// every path of jumps until nothing changes. An event stands for the latest
// time that its operation ran: one that was left out, or did not run yet, is
// not waited for, and what runs again waits for the trip before.
//
// Queues. A device with one queue gets all of its work there. Of more, copies
// have their own (device.h), and a kernel goes behind the last kernel whose
// result it takes where nothing stands between them, else into the queue that
// has the least to do. Kernels and copies between which nothing else stands are
// put into an order in which the engines have little to wait for
// (operation_order.h).
#ifndef ENCORE_RUNTIME_REPLAY_QUEUE_PLANNER_H_
#define ENCORE_RUNTIME_REPLAY_QUEUE_PLANNER_H_

#include <memory>
#include <span>

#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

// Sets `queue` of code->ops, puts kRecord, kWait and kHostWait among them, and
// fills queues, events and host_works. `op_devices`: by operation, the device
// that it runs on or copies with, invalid for the host. Where no device has
// queues the operations stay as they are. Cost: linear in operations, times the
// accesses that one storage has in flight.
void PlanQueues(const CompiledGraph& graph,
                std::span<const std::shared_ptr<Device>> devices,
                std::span<const DeviceId> op_devices, ReplayCode* code);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_QUEUE_PLANNER_H_
