// Emitter: the steps of one graph or body; emit.h is what others use.
#ifndef ENCORE_BACKENDS_LOWERING_EMITTER_H_
#define ENCORE_BACKENDS_LOWERING_EMITTER_H_

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "encore/backends/lowering/control_flow_emitter.h"
#include "encore/backends/lowering/host_emitter.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/plan_draft.h"
#include "encore/backends/lowering/scope.h"
#include "encore/backends/lowering/scope_kernel.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

class Emitter {
 public:
  // Both are used as long as this is.
  Emitter(const Scope& scope, EmitShared* shared);
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  // REQUIRES a slot for each argument (Bind) before. The outputs end up in
  // `destinations`, slots in any memory; those of invalid ones nobody wants.
  Status Run(const std::vector<runtime::SlotId>& destinations);

  void Bind(ValueId value, runtime::SlotId slot) { draft_.slot(value) = slot; }

  std::vector<runtime::Step> TakeSteps() { return std::move(draft_.steps()); }

 private:
  using SlotId = runtime::SlotId;
  using SlotRole = runtime::SlotRole;

  // --- Values.
  // The value's slot in `pool`, copied there if need be.
  StatusOr<SlotId> In(ValueId value, runtime::PoolId pool, bool prepare);
  // The same of a slot with a value of that type.
  SlotId SlotIn(SlotId slot, const TensorType& type, runtime::PoolId pool,
                bool prepare);
  // Gives `value`, which no kernel makes, a slot: a constant, a view, or a
  // result of control flow.
  Status Ensure(ValueId value);

  // Emits the nodes that define these symbols.
  Status EnsureSizes(std::span<const Dim> symbols);
  // Slots of the operands, each where the bodies use it.
  StatusOr<std::vector<SlotId>> ControlFlowOperands(NodeId node);
  // The same in host memory.
  StatusOr<std::vector<SlotId>> HostOperands(NodeId node);

  // --- Outputs.
  void MarkDerived();
  // Lets kernels write the outputs where the caller wants them.
  void ClaimOutputs(const std::vector<SlotId>& destinations);

  // --- Kernels.
  Status EmitKernel(const ScopeKernel& kernel);
  // Where the kernel reads its input, or writes its output, of that number.
  StatusOr<SlotId> ReadOf(const ScopeKernel& kernel, size_t input);
  StatusOr<SlotId> WriteOf(const ScopeKernel& kernel, size_t output);
  // The input in the kernel's own form.
  SlotId Packed(SlotId input, const PackedInput& packed,
                runtime::KernelBinaryId packer, const ScopeKernel& kernel);
  // The first operand of an assertion or a definition of symbols, and what the
  // run looks at for it.
  Status EmitCheck(NodeId node);
  // The value, an i64 in host memory, in a slot that a step of this plan
  // writes: what a run-time symbol is read from.
  StatusOr<SlotId> SymbolSlot(ValueId value);

  // --- Bodies; see ControlFlowEmitter::EmitBody.
  static StatusOr<runtime::PlanId> EmitBody(const Scope& body,
                                            std::span<const SlotId> inputs,
                                            const std::vector<SlotId>& outputs,
                                            std::span<const SlotId> owned,
                                            EmitShared* shared);

  const Scope& scope_;
  const Graph& graph_;
  EmitShared* shared_;
  PlanDraft draft_;
  // The slot of a value in a layout other than row-major, of opaque bytes.
  struct LaidSlot {
    Layout layout;
    SlotId slot;  // once a kernel wrote it
    bool derived = false;
  };
  LaidSlot& Laid(ValueId value, const Layout& layout);

  std::vector<int> maker_;     // by value: number of the kernel
  std::vector<bool> derived_;  // by value
  std::map<ValueId, std::vector<LaidSlot>> laid_;
  std::vector<bool>
      claimed_;  // by output: a kernel writes it where it is to be
  SymbolDefinitions definitions_;
  HostEmitter host_;
  ControlFlowEmitter control_flow_;
  std::map<std::pair<SlotId, runtime::PoolId>, SlotId> copies_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_EMITTER_H_
