// Emitter: the steps of one graph or body; emit.h is what others use.
#ifndef ENCORE_BACKENDS_LOWERING_EMITTER_H_
#define ENCORE_BACKENDS_LOWERING_EMITTER_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/host/program.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_definitions.h"
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
  std::map<std::vector<std::byte>, runtime::KernelBinaryId> host_programs = {};
};

class Emitter {
 public:
  Emitter(const Scope& scope, EmitShared* shared);

  // REQUIRES a slot for each argument (Bind) before. The outputs end up in
  // `destinations`, slots in host memory; those of invalid ones nobody wants.
  Status Run(const std::vector<runtime::SlotId>& destinations);

  void Bind(ValueId value, runtime::SlotId slot) {
    slots_[value.value()] = slot;
  }

  std::vector<runtime::Step> TakeSteps() { return std::move(steps_); }

 private:
  using SlotId = runtime::SlotId;
  using SlotRole = runtime::SlotRole;

  // A value that a loop hands from trip to trip.
  struct LoopValue {
    SlotId in;   // what the body reads
    SlotId out;  // what it writes; invalid where the value never changes
  };

  template <typename Op>
  void Add(Op op, std::vector<uint32_t> origins) {
    steps_.push_back({std::move(op), std::move(origins)});
  }

  // --- Slots.
  SlotId NewSlot(SlotRole role, const TensorType& type, runtime::PoolId pool);
  SlotId NewHostValue(const TensorType& type);
  bool IsElement(SlotId slot) const { return shared_->elements.contains(slot); }
  // A slot of `type` over the bytes of `base`.
  SlotId NewView(SlotId base, const TensorType& type);
  SlotId ConstantSlot(const Literal& literal);
  // A host slot of this plan with what `slot`, in host memory, holds.
  SlotId CopyOf(SlotId slot);
  // Whether a slot holds the same for all replays with the same weights.
  bool IsWeight(SlotId slot) const;
  // The value's slot in `pool`, copied there if need be.
  StatusOr<SlotId> In(ValueId value, runtime::PoolId pool, bool prepare);
  // Gives `value`, which no kernel makes, a slot: a constant, a view, or a
  // result of control flow.
  Status Ensure(ValueId value);

  // --- Outputs.
  void MarkDerived();
  // Lets kernels write the outputs where the caller wants them.
  void ClaimOutputs(const std::vector<SlotId>& destinations);

  // --- Kernels.
  Status EmitKernel(const ScopeKernel& kernel);
  // Whether nothing reads what the kernel writes, but a size is known by it.
  bool OnlyDefinesSymbol(const ScopeKernel& kernel) const;
  // The input in the kernel's own form.
  SlotId Packed(SlotId input, const PackedInput& packed,
                runtime::KernelBinaryId packer, const ScopeKernel& kernel);
  // Gives the symbol that a count_up node defines its value.
  Status DefineSize(NodeId node);
  // The first operand, once the second is known to be positive.
  Status EmitAssertion(NodeId node);
  // The value, an i64 in host memory, in a slot that a step of this plan
  // writes: what a run-time symbol is read from.
  StatusOr<SlotId> SymbolSlot(ValueId value);

  // --- Host objects (emit_host.cc).
  Status EmitHost(NodeId node);
  // A launch of `program`, without operands.
  runtime::Launch HostLaunch(const host::HostProgram& program);
  // An object of this plan with the constant, a tensor of strings.
  SlotId ConstantObject(const Literal& literal);
  // Whether the node is the only one that reads the object, so that it may have
  // what is in it.
  bool MayDonate(NodeId node, int operand) const;
  // Whether a dim of the shape is a symbol that the node defines.
  bool DefinesSymbols(NodeId node, const Shape& shape) const;
  // Says that these symbols are in `dims`, a vector that the node writes.
  Status DefineSizes(NodeId node, const Shape& shape, SlotId dims);
  // The tensor `value` out of the object `box`.
  void Unpack(NodeId node, SlotId box, ValueId value);
  // Emits the nodes on the host that define these symbols.
  Status EnsureSizes(std::span<const Dim> symbols);
  // A slot for a result of a node on the host.
  SlotId ResultSlot(ValueId value);

  // --- Control flow (emit_control_flow.cc).
  Status EmitControlFlow(NodeId node);
  Status EmitIf(NodeId node);
  Status EmitWhile(NodeId node);
  Status EmitScan(NodeId node);
  // The plan of a body whose arguments are `inputs` and whose outputs end up in
  // `outputs`; `states` are those of the inputs that it changes from trip to
  // trip.
  StatusOr<runtime::PlanId> EmitBody(const Scope& body,
                                     std::span<const SlotId> inputs,
                                     const std::vector<SlotId>& outputs,
                                     std::span<const LoopValue> states = {});
  // Slots of the operands from `first` on, in host memory.
  StatusOr<std::vector<SlotId>> HostOperands(NodeId node, int first);
  // The first `count` results as values that a loop carries, from `initial` on:
  // output `first_output` + i of `body` follows argument i.
  std::vector<LoopValue> Carry(NodeId node, const Graph& body, size_t count,
                               size_t first_output,
                               std::span<const SlotId> initial,
                               runtime::Invoke* invoke);
  // The element of `whole` that a trip of a scan sees.
  SlotId NewElement(SlotId whole, const TensorType& type, bool reversed,
                    runtime::Invoke* invoke);
  // Unimplemented where trips cannot see a part of `whole`: an object.
  Status CheckStackable(NodeId node, SlotId whole) const;
  std::vector<uint32_t> OriginOf(NodeId node) const;

  const Scope& scope_;
  const Graph& graph_;
  EmitShared* shared_;
  std::vector<SlotId> slots_;  // by value
  std::vector<int> maker_;     // by value: number of the kernel
  std::vector<bool> derived_;  // by value
  SymbolDefinitions finders_;
  std::vector<int> uses_;       // by value
  std::set<SlotId> donatable_;  // objects that nobody outside of this reads
  // Where results of nodes on the host are wanted, by value.
  std::map<ValueId, SlotId> claims_;
  std::map<std::pair<SlotId, runtime::PoolId>, SlotId> copies_;
  std::vector<runtime::Step> steps_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_EMITTER_H_
