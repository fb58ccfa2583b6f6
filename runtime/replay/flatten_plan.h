// FlattenPlan: from a plan and those below it to one ReplayCode.
#ifndef ENCORE_RUNTIME_REPLAY_FLATTEN_PLAN_H_
#define ENCORE_RUNTIME_REPLAY_FLATTEN_PLAN_H_

#include <memory>
#include <span>

#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

// The slot whose storage `slot` lies in; `slot` itself where it has its own.
SlotId StorageOf(const CompiledGraph& graph, SlotId slot);

// REQUIRES a graph that VerifyPlan accepts, a kernel per binary and a device
// per DeviceInfo.
ReplayCode FlattenPlan(const CompiledGraph& graph, PlanId plan,
                       std::span<const std::unique_ptr<Kernel>> kernels,
                       std::span<const std::shared_ptr<Device>> devices);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_FLATTEN_PLAN_H_
