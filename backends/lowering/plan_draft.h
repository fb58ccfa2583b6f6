// PlanDraft: the plan of one graph or body while it is made.
#ifndef ENCORE_BACKENDS_LOWERING_PLAN_DRAFT_H_
#define ENCORE_BACKENDS_LOWERING_PLAN_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// What all scopes of a graph share.
struct EmitShared {
  const Placement& placement;
  const KernelTable& table;
  runtime::CompiledGraph* graph;
  std::vector<runtime::DeviceId> devices = {};  // by backend of the placement
  std::vector<runtime::PoolId> pools = {};      // likewise
  std::vector<runtime::Step> prepare = {};
  // Weights in another pool or form -> derived slot.
  std::map<std::pair<runtime::SlotId, runtime::PoolId>, runtime::SlotId>
      copied_weights = {};
  std::map<std::tuple<runtime::SlotId, runtime::KernelBinaryId>,
           runtime::SlotId>
      packed = {};
  // What trips of scans see of their wholes: other bytes in each trip, so that
  // no view of one is made and nothing of it is known before.
  std::set<runtime::SlotId> elements = {};
  // By symbol: whether something says its value.
  std::vector<bool> symbols_found = {};
  // The device for host objects, once there is a kernel for it, and its
  // programs by their bytes.
  runtime::DeviceId host_device = {};
  std::map<std::vector<std::byte>, runtime::KernelBinaryId> host_binaries = {};
};

// The slots of a graph's values, and the steps so far.
class PlanDraft {
 public:
  using SlotId = runtime::SlotId;
  using SlotRole = runtime::SlotRole;

  // Both must outlive this.
  PlanDraft(const Graph& graph, EmitShared* shared)
      : graph_(graph), shared_(shared), slots_(graph.value_count()) {}

  EmitShared& shared() { return *shared_; }
  const EmitShared& shared() const { return *shared_; }
  const runtime::Slot& info(SlotId slot) const {
    return shared_->graph->slot(slot);
  }

  // Invalid where the value has none yet.
  SlotId& slot(ValueId value) { return slots_[value.value()]; }
  SlotId slot(ValueId value) const { return slots_[value.value()]; }

  std::vector<runtime::Step>& steps() { return steps_; }
  template <typename Op>
  void Add(Op op, std::vector<uint32_t> origins) {
    steps_.push_back({std::move(op), std::move(origins)});
  }
  // What a step for the node says that it comes from.
  std::vector<uint32_t> OriginOf(NodeId node) const;

  SlotId NewSlot(SlotRole role, const TensorType& type, runtime::PoolId pool);
  SlotId NewHostValue(const TensorType& type);
  // A slot of `type` over the bytes of `base`.
  SlotId NewView(SlotId base, const TensorType& type);
  SlotId ConstantSlot(const Literal& literal);
  // A slot of this plan, in the pool of `slot`, with what that holds.
  SlotId CopyOf(SlotId slot);

  bool IsElement(SlotId slot) const { return shared_->elements.contains(slot); }
  // Whether a slot holds the same for all replays with the same weights.
  bool IsWeight(SlotId slot) const;

  // Says that element `element` of `slot` is the value of a symbol, which the
  // node defines; the message as SymbolInfo's. InvalidArgument where it has one
  // already.
  Status DefineSymbol(NodeId node, uint32_t symbol, SlotId slot,
                      uint32_t element, std::string message = {});
  // The run ends with the message where element `element` of `slot` is outside
  // of [lower, upper]: a symbol that no dim has.
  void Require(SlotId slot, uint32_t element, int64_t lower, int64_t upper,
               std::string message);

 private:
  const Graph& graph_;
  EmitShared* shared_;
  std::vector<SlotId> slots_;  // by value
  std::vector<runtime::Step> steps_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_PLAN_DRAFT_H_
