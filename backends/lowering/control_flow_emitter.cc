#include "encore/backends/lowering/control_flow_emitter.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

using runtime::kHostPool;
using runtime::PlanId;
using runtime::PoolId;
using runtime::SlotId;
using runtime::SlotRole;

std::vector<SlotId> Unique(std::vector<SlotId> slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

}  // namespace

PoolId ControlFlowEmitter::PoolOfOperand(NodeId node, int i,
                                         PoolId where_it_is) const {
  const std::vector<Scope>& bodies = scope_.bodies.at(node);
  const int argument = BodyArgumentOf(graph_, node, i);
  if (argument < 0) return where_it_is;
  if (graph_.type(graph_.operand(node, i)).kind != ValueKind::kTensor ||
      IsString(graph_.dtype(graph_.operand(node, i)))) {
    return kHostPool;
  }
  std::optional<PoolId> best;
  for (const Scope& body : bodies) {
    const ScopeKernel* user =
        FirstUserOf(body, body.graph->arguments()[argument].value);
    if (user == nullptr) continue;
    const PoolId pool = draft_.shared().pools[user->site.backend];
    if (best && *best != pool) return where_it_is;
    best = pool;
  }
  return best.value_or(where_it_is);
}

PoolId ControlFlowEmitter::PoolOfOutput(const Scope& body, size_t i) const {
  const ScopeKernel* maker = MakerOf(body, body.graph->outputs()[i].value);
  return maker == nullptr ? kHostPool
                          : draft_.shared().pools[maker->site.backend];
}

Status ControlFlowEmitter::Emit(NodeId node, std::vector<SlotId> operands) {
  switch (graph_.op(node)) {
    case Op::kIf:
      return EmitIf(node, std::move(operands));
    case Op::kWhile:
      return EmitWhile(node, operands);
    case Op::kScan:
      return EmitScan(node, std::move(operands));
    default:
      return InvalidArgumentError(StrCat("node ", node.value(), ": ",
                                         graph_.op(node),
                                         " has no steps on any backend"));
  }
}

Status ControlFlowEmitter::EmitIf(NodeId node, std::vector<SlotId> reads) {
  runtime::Invoke invoke;
  invoke.kind = runtime::InvokeKind::kIf;
  invoke.selector = reads[0];
  for (int i = 0; i < graph_.result_count(node); ++i) {
    SlotId& slot = draft_.slot(graph_.result(node, i));
    if (!slot.valid()) {
      const std::vector<Scope>& bodies = scope_.bodies.at(node);
      const PoolId pool = PoolOfOutput(bodies[0], i);
      const bool both = pool == PoolOfOutput(bodies[1], i);
      slot = draft_.NewSlot(SlotRole::kTemporary,
                            graph_.type(graph_.result(node, i)),
                            both ? pool : kHostPool);
    }
    invoke.writes.push_back(slot);
  }
  // Plan 0 is run for false.
  for (const int body : {1, 0}) {
    ENCORE_ASSIGN_OR_RETURN(
        const PlanId plan,
        emit_body_(scope_.bodies.at(node)[body], std::span(reads).subspan(1),
                   invoke.writes, {}));
    invoke.plans.push_back(plan);
  }
  // A branch may compute with what it gives.
  reads.insert(reads.end(), invoke.writes.begin(), invoke.writes.end());
  invoke.reads = Unique(std::move(reads));
  draft_.Add(std::move(invoke), draft_.OriginOf(node));
  return OkStatus();
}

std::vector<ControlFlowEmitter::LoopValue> ControlFlowEmitter::Carry(
    NodeId node, const Scope& body, size_t count, size_t first_output,
    std::span<const SlotId> initial, runtime::Invoke* invoke) {
  const Graph& graph = *body.graph;
  std::vector<LoopValue> values;
  for (size_t i = 0; i < count; ++i) {
    const ValueId result = graph_.result(node, static_cast<int>(i));
    LoopValue value;
    const bool unchanged =
        graph.outputs()[first_output + i].value == graph.arguments()[i].value;
    if (unchanged) {
      value.in = initial[i];
    } else {
      const PoolId pool = PoolOfOutput(body, first_output + i);
      const TensorType& type = graph_.type(result);
      value.in = draft_.NewSlot(SlotRole::kTemporary, type, pool);
      value.out = draft_.NewSlot(SlotRole::kTemporary, type, pool);
      draft_.Add(runtime::Copy{initial[i], value.in}, {});
      invoke->carried.push_back({value.in, value.out});
      for (const SlotId slot : {value.in, value.out}) {
        invoke->reads.push_back(slot);
        invoke->writes.push_back(slot);
      }
    }
    draft_.slot(result) = value.in;
    values.push_back(value);
  }
  return values;
}

std::vector<SlotId> ControlFlowEmitter::Changing(
    std::span<const LoopValue> values) {
  std::vector<SlotId> slots;
  for (const LoopValue& value : values) {
    if (value.out.valid()) slots.push_back(value.in);
  }
  return slots;
}

Status ControlFlowEmitter::EmitWhile(NodeId node,
                                     const std::vector<SlotId>& initial) {
  runtime::Invoke invoke;
  invoke.kind = runtime::InvokeKind::kWhile;
  const std::vector<Scope>& bodies = scope_.bodies.at(node);
  invoke.selector =
      draft_.NewSlot(SlotRole::kTemporary, {DType::kBool, Shape()},
                     PoolOfOutput(bodies[0], 0));
  const std::vector<LoopValue> values =
      Carry(node, bodies[1], initial.size(), 0, initial, &invoke);
  std::vector<SlotId> inputs, nexts;
  for (const LoopValue& value : values) {
    inputs.push_back(value.in);
    nexts.push_back(value.out);
  }
  ENCORE_ASSIGN_OR_RETURN(const PlanId condition,
                          emit_body_(bodies[0], inputs, {invoke.selector}, {}));
  ENCORE_ASSIGN_OR_RETURN(
      const PlanId body,
      emit_body_(bodies[1], inputs, nexts, Changing(values)));
  invoke.plans = {condition, body};
  invoke.reads.push_back(invoke.selector);
  invoke.writes.push_back(invoke.selector);
  invoke.reads.insert(invoke.reads.end(), inputs.begin(), inputs.end());
  invoke.reads = Unique(std::move(invoke.reads));
  draft_.Add(std::move(invoke), draft_.OriginOf(node));
  return OkStatus();
}

SlotId ControlFlowEmitter::NewElement(SlotId whole, const TensorType& type,
                                      bool reversed, runtime::Invoke* invoke) {
  const SlotId element = draft_.NewView(whole, type);
  draft_.shared().elements.insert(element);
  invoke->scanned.push_back({whole, element, reversed});
  return element;
}

Status ControlFlowEmitter::CheckStackable(NodeId node, SlotId whole) const {
  const runtime::Slot& slot = draft_.info(whole);
  if (!slot.is_host_object()) return OkStatus();
  return UnimplementedError(StrCat("node ", node.value(), " (origin ",
                                   graph_.origin(node), "): ", graph_.op(node),
                                   " over slices of ", slot.type,
                                   "; a sequence has them one by one"));
}

// LowerLoops has put all scanned axes in front.
Status ControlFlowEmitter::EmitScan(NodeId node, std::vector<SlotId> inputs) {
  const ScanAttrs& attrs = graph_.attrs<ScanAttrs>(node);
  const Scope& scope = scope_.bodies.at(node)[0];
  const Graph& body = *scope.graph;
  const auto carried = static_cast<size_t>(attrs.carried);
  const size_t scanned = inputs.size() - carried - attrs.captures;
  runtime::Invoke invoke;
  invoke.kind = runtime::InvokeKind::kScan;
  invoke.trips = graph_.shape(graph_.operand(node, attrs.carried))[0];
  std::vector<SlotId> outputs;
  const std::vector<LoopValue> states =
      Carry(node, scope, carried, 0, inputs, &invoke);
  for (const LoopValue& value : states) {
    inputs[outputs.size()] = value.in;
    outputs.push_back(value.out);
  }
  invoke.reads.insert(invoke.reads.end(), inputs.begin(), inputs.end());
  for (size_t i = 0; i < scanned; ++i) {
    SlotId& slot = inputs[carried + i];
    ENCORE_RETURN_IF_ERROR(CheckStackable(node, slot));
    // An element is a view of its whole, and no view has views.
    if (draft_.info(slot).base.valid()) {
      slot = draft_.CopyOf(slot);
      invoke.reads.push_back(slot);
    }
    slot = NewElement(slot, body.type(body.arguments()[carried + i].value),
                      attrs.directions[i] == 1, &invoke);
  }
  for (size_t k = carried; k < body.outputs().size(); ++k) {
    const ValueId result = graph_.result(node, static_cast<int>(k));
    const SlotId whole = draft_.NewSlot(
        SlotRole::kTemporary, graph_.type(result), PoolOfOutput(scope, k));
    ENCORE_RETURN_IF_ERROR(CheckStackable(node, whole));
    draft_.slot(result) = whole;
    invoke.reads.push_back(whole);
    invoke.writes.push_back(whole);
    outputs.push_back(NewElement(whole, body.type(body.outputs()[k].value),
                                 attrs.directions[scanned + k - carried] == 1,
                                 &invoke));
  }
  ENCORE_ASSIGN_OR_RETURN(const PlanId plan,
                          emit_body_(scope, inputs, outputs, Changing(states)));
  invoke.plans = {plan};
  invoke.reads = Unique(std::move(invoke.reads));
  draft_.Add(std::move(invoke), draft_.OriginOf(node));
  return OkStatus();
}

}  // namespace encore::backends
