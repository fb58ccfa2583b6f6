#include "encore/backends/lowering/emitter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

using runtime::kHostPool;
using runtime::PoolId;
using runtime::SlotId;
using runtime::SlotRole;
using runtime::Step;

Dim ScratchBytes(const Dim& scratch, const std::vector<Dim>& args) {
  return scratch.is_constant() ? scratch : scratch.Substitute(args);
}

}  // namespace

Emitter::Emitter(const Scope& scope, EmitShared* shared)
    : scope_(scope),
      graph_(*scope.graph),
      shared_(shared),
      draft_(graph_, shared),
      maker_(graph_.value_count(), -1),
      definitions_(graph_),
      host_(graph_, definitions_, &draft_),
      control_flow_(
          scope,
          [shared](const Scope& body, std::span<const SlotId> inputs,
                   const std::vector<SlotId>& outputs,
                   std::span<const SlotId> owned) {
            return EmitBody(body, inputs, outputs, owned, shared);
          },
          &draft_) {
  for (size_t k = 0; k < scope.kernels.size(); ++k) {
    const BuiltRegion& built = scope.kernels[k].built;
    for (size_t i = 0; i < built.outputs.size(); ++i) {
      if (!built.region.outputs[i].layout.is_row_major()) continue;
      maker_[built.outputs[i].value()] = static_cast<int>(k);
    }
  }
}

Status Emitter::Run(const std::vector<SlotId>& destinations) {
  ENCORE_CHECK_EQ(destinations.size(), graph_.outputs().size());
  claimed_.resize(destinations.size());
  MarkDerived();
  ClaimOutputs(destinations);
  for (const ScopeKernel& kernel : scope_.kernels) {
    ENCORE_RETURN_IF_ERROR(EmitKernel(kernel));
  }
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (!destinations[i].valid()) continue;
    const ValueId value = graph_.outputs()[i].value;
    ENCORE_RETURN_IF_ERROR(Ensure(value));
    const SlotId slot = draft_.slot(value);
    if (slot == destinations[i] || claimed_[i]) continue;
    draft_.Add(runtime::Copy{slot, destinations[i]}, {});
  }
  return OkStatus();
}

// Prepared values that the run plan reads are derived.
void Emitter::MarkDerived() {
  derived_.resize(graph_.value_count());
  const auto mark = [this](ValueId value) {
    while (true) {
      const NodeId producer = graph_.producer(value);
      if (maker_[value.value()] >= 0 || !IsView(graph_, producer)) break;
      value = graph_.operand(producer, 0);
    }
    derived_[value.value()] = true;
  };
  for (const ScopeKernel& kernel : scope_.kernels) {
    if (kernel.site.prepare) continue;
    const BuiltRegion& built = kernel.built;
    for (size_t i = 0; i < built.inputs.size(); ++i) {
      const Layout& layout = built.region.inputs[i].layout;
      if (layout.is_row_major()) {
        mark(built.inputs[i]);
      } else {
        Laid(built.inputs[i], layout).derived = true;
      }
    }
  }
  for (const auto& [node, bodies] : scope_.bodies) {
    for (const ValueId operand : graph_.operands(node)) mark(operand);
  }
  for (const NodeId node : Nodes(graph_)) {
    if (!IsCheck(graph_, node) && !graph_.info(node).has(kNonFlatValues)) {
      continue;
    }
    for (const ValueId operand : graph_.operands(node)) mark(operand);
  }
  for (const Graph::Output& output : graph_.outputs()) mark(output.value);
}

void Emitter::ClaimOutputs(const std::vector<SlotId>& destinations) {
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (!destinations[i].valid()) continue;
    const ValueId output = graph_.outputs()[i].value;
    ValueId value = output;
    bool checked = false;
    while (maker_[value.value()] < 0 && !draft_.slot(value).valid()) {
      const NodeId producer = graph_.producer(value);
      const bool checks = IsCheck(graph_, producer);
      if (!checks && !IsView(graph_, producer)) break;
      checked |= checks;
      value = graph_.operand(producer, 0);
    }
    const int maker = maker_[value.value()];
    if (maker < 0 && graph_.info(graph_.producer(output)).has(kNonFlatValues)) {
      host_.Claim(output, destinations[i]);
    }
    if (maker < 0 || draft_.slot(value).valid()) continue;
    const ScopeKernel& kernel = scope_.kernels[maker];
    if (kernel.site.prepare) continue;
    if (shared_->pools[kernel.site.backend] !=
        draft_.info(destinations[i]).pool) {
      continue;
    }
    if (value != output && draft_.IsElement(destinations[i])) continue;
    if (value != output) {
      draft_.slot(value) = draft_.NewView(destinations[i], graph_.type(value));
    }
    claimed_[i] = true;
    // Behind a check it has a slot once the check is emitted.
    if (!checked) draft_.slot(output) = destinations[i];
  }
}

Status Emitter::Ensure(ValueId value) {
  std::vector<ValueId> work = {value};
  while (!work.empty()) {
    const ValueId next = work.back();
    if (draft_.slot(next).valid()) {
      work.pop_back();
      continue;
    }
    const NodeId producer = graph_.producer(next);
    if (graph_.op(producer) == Op::kConstant) {
      const Literal& constant = *graph_.constant(next);
      draft_.slot(next) = IsString(constant.dtype())
                              ? host_.Constant(constant)
                              : draft_.ConstantSlot(constant);
      continue;
    }
    const size_t before = work.size();
    for (const ValueId operand : graph_.operands(producer)) {
      if (!draft_.slot(operand).valid()) work.push_back(operand);
    }
    for (const NodeId definition : definitions_.NeededBy(producer)) {
      const ValueId defining = graph_.result(definition);
      if (!draft_.slot(defining).valid()) work.push_back(defining);
    }
    if (work.size() > before) continue;
    if (IsView(graph_, producer)) {
      draft_.slot(next) = draft_.NewView(
          draft_.slot(graph_.operand(producer, 0)), graph_.type(next));
    } else if (IsCheck(graph_, producer)) {
      ENCORE_RETURN_IF_ERROR(EmitCheck(producer));
    } else if (graph_.info(producer).has(kNonFlatValues)) {
      ENCORE_ASSIGN_OR_RETURN(std::vector<SlotId> reads,
                              HostOperands(producer));
      ENCORE_RETURN_IF_ERROR(host_.Emit(producer, std::move(reads)));
    } else {
      ENCORE_CHECK(!graph_.bodies(producer).empty())
          << graph_.op(producer) << " was not scheduled";
      ENCORE_ASSIGN_OR_RETURN(std::vector<SlotId> operands,
                              ControlFlowOperands(producer));
      ENCORE_RETURN_IF_ERROR(control_flow_.Emit(producer, std::move(operands)));
    }
  }
  return OkStatus();
}

Status Emitter::EnsureSizes(std::span<const Dim> symbols) {
  for (const Dim& dim : symbols) {
    const auto symbol = dim.symbol();
    const NodeId node = symbol ? definitions_.Of(*symbol) : NodeId();
    if (node.valid()) ENCORE_RETURN_IF_ERROR(Ensure(graph_.result(node)));
  }
  return OkStatus();
}

StatusOr<SlotId> Emitter::In(ValueId value, PoolId pool, bool prepare) {
  ENCORE_RETURN_IF_ERROR(Ensure(value));
  return SlotIn(draft_.slot(value), graph_.type(value), pool, prepare);
}

SlotId Emitter::SlotIn(SlotId slot, const TensorType& type, PoolId pool,
                       bool prepare) {
  if (draft_.info(slot).pool == pool) return slot;
  const bool weight = draft_.IsWeight(slot);
  auto& copies = weight ? shared_->copied_weights : copies_;
  const auto key = std::pair(slot, pool);
  if (const auto it = copies.find(key); it != copies.end()) return it->second;
  const SlotId copy = draft_.NewSlot(
      weight ? SlotRole::kDerived : SlotRole::kTemporary, type, pool);
  copies.emplace(key, copy);
  std::vector<Step>& steps =
      weight || prepare ? shared_->prepare : draft_.steps();
  steps.push_back({runtime::Copy{slot, copy}, {}});
  return copy;
}

Emitter::LaidSlot& Emitter::Laid(ValueId value, const Layout& layout) {
  std::vector<LaidSlot>& slots = laid_[value];
  const auto known = std::ranges::find(slots, layout, &LaidSlot::layout);
  return known != slots.end() ? *known : slots.emplace_back(layout);
}

StatusOr<SlotId> Emitter::ReadOf(const ScopeKernel& kernel, size_t input) {
  const PoolId pool = shared_->pools[kernel.site.backend];
  const ValueId value = kernel.built.inputs[input];
  const Layout& layout = kernel.built.region.inputs[input].layout;
  if (layout.is_row_major()) return In(value, pool, kernel.site.prepare);
  const SlotId slot = Laid(value, layout).slot;
  ENCORE_CHECK(slot.valid()) << "a kernel before the one that it reads from";
  return SlotIn(slot, draft_.info(slot).type, pool, kernel.site.prepare);
}

StatusOr<SlotId> Emitter::WriteOf(const ScopeKernel& kernel, size_t output) {
  const PoolId pool = shared_->pools[kernel.site.backend];
  const ValueId value = kernel.built.outputs[output];
  const Operand& operand = kernel.built.region.outputs[output];
  const auto role = [&](bool derived) {
    return kernel.site.prepare && derived ? SlotRole::kDerived
                                          : SlotRole::kTemporary;
  };
  if (operand.layout.is_row_major()) {
    SlotId& slot = draft_.slot(value);
    if (!slot.valid()) {
      slot = draft_.NewSlot(role(derived_[value.value()]), graph_.type(value),
                            pool);
    }
    return slot;
  }
  LaidSlot& laid = Laid(value, operand.layout);
  if (laid.slot.valid()) return InternalError("two kernels make one value");
  const Dim bytes = MemoryBytes(operand.dtype, operand.dims, operand.layout)
                        .Substitute(kernel.built.args);
  laid.slot =
      draft_.NewSlot(role(laid.derived), {DType::kU8, Shape({bytes})}, pool);
  return laid.slot;
}

SlotId Emitter::Packed(SlotId input, const PackedInput& packed,
                       runtime::KernelBinaryId packer,
                       const ScopeKernel& kernel) {
  const auto key = std::tuple(input, packer);
  const auto it = shared_->packed.find(key);
  if (it != shared_->packed.end()) return it->second;
  const TensorType bytes{DType::kU8, Shape({Dim(packed.bytes)})};
  const SlotId slot = draft_.NewSlot(SlotRole::kDerived, bytes,
                                     shared_->pools[kernel.site.backend]);
  shared_->packed.emplace(key, slot);
  runtime::Launch launch;
  launch.binary = packer;
  launch.device = shared_->devices[kernel.site.backend];
  launch.reads = {input};
  launch.writes = {slot};
  shared_->prepare.push_back({std::move(launch), kernel.origins});
  return slot;
}

Status Emitter::EmitKernel(const ScopeKernel& kernel) {
  const PoolId pool = shared_->pools[kernel.site.backend];
  const bool prepare = kernel.site.prepare;
  ENCORE_CHECK(!prepare || kernel.built.region.checks.empty())
      << "what may fail is for the run";
  ENCORE_RETURN_IF_ERROR(EnsureSizes(kernel.built.args));
  const CompiledKernel& compiled = shared_->table.kernel(kernel.kernel);
  runtime::Launch launch;
  launch.binary = shared_->table.binary(kernel.kernel);
  launch.device = shared_->devices[kernel.site.backend];
  for (size_t i = 0; i < kernel.built.inputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot, ReadOf(kernel, i));
    launch.reads.push_back(slot);
  }
  for (size_t i = 0; i < compiled.packed.size(); ++i) {
    SlotId& read = launch.reads[compiled.packed[i].input];
    read = Packed(read, compiled.packed[i],
                  shared_->table.packer(kernel.kernel, i), kernel);
  }
  for (size_t i = 0; i < kernel.built.outputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot, WriteOf(kernel, i));
    launch.writes.push_back(slot);
  }
  if (!(compiled.scratch == Dim(0))) {
    const Dim bytes = ScratchBytes(compiled.scratch, kernel.built.args);
    launch.writes.push_back(draft_.NewSlot(SlotRole::kTemporary,
                                           {DType::kU8, Shape({bytes})}, pool));
  }
  launch.args = kernel.built.args;
  launch.in_place = compiled.in_place;
  std::vector<Step>& steps = prepare ? shared_->prepare : draft_.steps();
  steps.push_back({std::move(launch), kernel.origins});
  return OkStatus();
}

StatusOr<SlotId> Emitter::SymbolSlot(ValueId value) {
  while (maker_[value.value()] < 0) {
    const NodeId producer = graph_.producer(value);
    if (!IsView(graph_, producer) && !IsCheck(graph_, producer)) break;
    value = graph_.operand(producer, 0);
  }
  ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(value, kHostPool, false));
  // A symbol is read when a step of the plan writes its slot.
  const bool written = maker_[value.value()] >= 0 && !draft_.IsWeight(slot);
  return written ? slot : draft_.CopyOf(slot);
}

Status Emitter::EmitCheck(NodeId node) {
  const ValueId operand = graph_.operand(node, 0);
  draft_.slot(graph_.result(node)) = draft_.slot(operand);
  if (graph_.op(node) == Op::kAssertion) {
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot,
                            SymbolSlot(graph_.operand(node, 1)));
    const std::string& message = graph_.attrs<AssertionAttrs>(node).message;
    draft_.Require(slot, 0, 1, INT64_MAX, message);
    return OkStatus();
  }
  const auto& attrs = graph_.attrs<DefineSymbolsAttrs>(node);
  ENCORE_ASSIGN_OR_RETURN(const SlotId slot, SymbolSlot(operand));
  for (uint32_t i = 0; i < attrs.dims.size(); ++i) {
    const Dim& dim = attrs.dims[i];
    if (dim.is_constant()) {
      draft_.Require(slot, i, dim.constant(), dim.constant(), attrs.message);
      continue;
    }
    ENCORE_RETURN_IF_ERROR(
        draft_.DefineSymbol(node, *dim.symbol(), slot, i, attrs.message));
  }
  return OkStatus();
}

StatusOr<std::vector<SlotId>> Emitter::ControlFlowOperands(NodeId node) {
  std::vector<SlotId> slots;
  for (int i = 0; i < static_cast<int>(graph_.operands(node).size()); ++i) {
    const ValueId operand = graph_.operand(node, i);
    ENCORE_RETURN_IF_ERROR(Ensure(operand));
    const PoolId pool = control_flow_.PoolOfOperand(
        node, i, draft_.info(draft_.slot(operand)).pool);
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(operand, pool, false));
    slots.push_back(slot);
  }
  return slots;
}

StatusOr<std::vector<SlotId>> Emitter::HostOperands(NodeId node) {
  std::vector<SlotId> slots;
  for (const ValueId operand : graph_.operands(node)) {
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(operand, kHostPool, false));
    slots.push_back(slot);
  }
  return slots;
}

StatusOr<runtime::PlanId> Emitter::EmitBody(const Scope& body,
                                            std::span<const SlotId> inputs,
                                            const std::vector<SlotId>& outputs,
                                            std::span<const SlotId> owned,
                                            EmitShared* shared) {
  Emitter emitter(body, shared);
  for (const SlotId object : owned) emitter.host_.Own(object);
  const auto arguments = body.graph->arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    emitter.Bind(arguments[i].value, inputs[i]);
  }
  ENCORE_RETURN_IF_ERROR(emitter.Run(outputs));
  runtime::Plan plan;
  plan.steps = emitter.TakeSteps();
  return runtime::AddPlan(shared->graph, std::move(plan));
}

}  // namespace encore::backends
