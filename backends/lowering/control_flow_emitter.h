// ControlFlowEmitter: nodes with bodies as Invoke steps.
#ifndef ENCORE_BACKENDS_LOWERING_CONTROL_FLOW_EMITTER_H_
#define ENCORE_BACKENDS_LOWERING_CONTROL_FLOW_EMITTER_H_

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "encore/backends/lowering/plan_draft.h"
#include "encore/backends/lowering/scope.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

class ControlFlowEmitter {
 public:
  // Makes the plan of a body whose arguments are `inputs` and whose outputs end
  // up in `outputs`; nobody outside of it reads the objects `owned`, some of
  // the inputs.
  using EmitBody = std::function<StatusOr<runtime::PlanId>(
      const Scope& body, std::span<const runtime::SlotId> inputs,
      const std::vector<runtime::SlotId>& outputs,
      std::span<const runtime::SlotId> owned)>;

  // `scope` and `draft` are used as long as this is.
  ControlFlowEmitter(const Scope& scope, EmitBody emit_body, PlanDraft* draft)
      : scope_(scope),
        graph_(*scope.graph),
        emit_body_(std::move(emit_body)),
        draft_(*draft) {}

  // The pool in which operand `i` of the node is best: that of the first kernel
  // of a body that reads it; `where_it_is` where there is none, or they differ.
  runtime::PoolId PoolOfOperand(NodeId node, int i,
                                runtime::PoolId where_it_is) const;

  // The node, whose operands are in `operands`. Its results get slots, in the
  // pool of whoever makes them. InvalidArgument where its op has no steps,
  // Unimplemented where it scans objects; errors of `emit_body`.
  Status Emit(NodeId node, std::vector<runtime::SlotId> operands);

 private:
  using SlotId = runtime::SlotId;

  // A value that a loop hands from trip to trip.
  struct LoopValue {
    SlotId in;   // what the body reads
    SlotId out;  // what it writes; invalid where the value never changes
  };

  Status EmitIf(NodeId node, std::vector<SlotId> reads);
  Status EmitWhile(NodeId node, const std::vector<SlotId>& initial);
  Status EmitScan(NodeId node, std::vector<SlotId> inputs);
  // The pool of what makes output `i` of a body; host memory where no kernel
  // does.
  runtime::PoolId PoolOfOutput(const Scope& body, size_t i) const;
  // The first `count` results as values that a loop carries, from `initial` on:
  // output `first_output` + i of `body` follows argument i.
  std::vector<LoopValue> Carry(NodeId node, const Scope& body, size_t count,
                               size_t first_output,
                               std::span<const SlotId> initial,
                               runtime::Invoke* invoke);
  // What the body reads of the values that do change.
  static std::vector<SlotId> Changing(std::span<const LoopValue> values);
  // The element of `whole` that a trip of a scan sees.
  SlotId NewElement(SlotId whole, const TensorType& type, bool reversed,
                    runtime::Invoke* invoke);
  // Unimplemented where trips cannot see a part of `whole`: an object.
  Status CheckStackable(NodeId node, SlotId whole) const;

  const Scope& scope_;
  const Graph& graph_;
  EmitBody emit_body_;
  PlanDraft& draft_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_CONTROL_FLOW_EMITTER_H_
