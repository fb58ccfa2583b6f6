#include "encore/backends/lowering/emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/fusion.h"
#include "encore/ir/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/sizes.h"

namespace encore::backends {
namespace {

using runtime::kHostPool;
using runtime::PlanId;
using runtime::PoolId;
using runtime::Slot;
using runtime::SlotId;
using runtime::SlotRole;
using runtime::Step;

// What all scopes of a graph share.
struct Shared {
  const Placement& placement;
  const KernelTable& table;
  runtime::CompiledGraph* graph;
  std::vector<runtime::DeviceId> devices;  // by backend of the placement
  std::vector<PoolId> pools;               // likewise
  std::vector<Step> prepare;
  // Weights in another pool or form -> derived slot.
  std::map<std::pair<SlotId, PoolId>, SlotId> copied_weights;
  std::map<std::tuple<SlotId, runtime::ProgramId>, SlotId> packed;
};

class Emitter {
 public:
  Emitter(const Scope& scope, bool outermost, Shared* shared)
      : scope_(scope),
        graph_(*scope.graph),
        outermost_(outermost),
        shared_(shared),
        slots_(graph_.value_count()),
        maker_(graph_.value_count(), -1) {
    for (size_t k = 0; k < scope.kernels.size(); ++k) {
      for (const ValueId output : scope.kernels[k].built.outputs) {
        maker_[output.value()] = static_cast<int>(k);
      }
    }
  }

  // REQUIRES a slot for each argument (Bind) before. The outputs end up in
  // `destinations`, slots in host memory.
  Status Run(const std::vector<SlotId>& destinations) {
    ENCORE_CHECK_EQ(destinations.size(), graph_.outputs().size());
    MarkDerived();
    ClaimOutputs(destinations);
    for (const ScopeKernel& kernel : scope_.kernels) {
      ENCORE_RETURN_IF_ERROR(EmitKernel(kernel));
    }
    for (size_t i = 0; i < destinations.size(); ++i) {
      const ValueId value = graph_.outputs()[i].value;
      ENCORE_RETURN_IF_ERROR(Ensure(value));
      const SlotId slot = slots_[value.value()];
      if (slot == destinations[i]) continue;
      Add(runtime::Copy{slot, destinations[i]}, {});
    }
    return OkStatus();
  }

  void Bind(ValueId value, SlotId slot) { slots_[value.value()] = slot; }

  std::vector<Step> TakeSteps() { return std::move(steps_); }

 private:
  template <typename Op>
  void Add(Op op, std::vector<uint32_t> origins) {
    steps_.push_back({std::move(op), std::move(origins)});
  }

  SlotId NewSlot(SlotRole role, const TensorType& type, PoolId pool) {
    Slot slot;
    slot.role = role;
    slot.type = type;
    slot.pool = pool;
    slot.bytes = runtime::DenseBytes(type);
    return runtime::AddSlot(shared_->graph, std::move(slot));
  }

  // A slot of `type` over the bytes of `base`.
  SlotId NewView(SlotId base, const TensorType& type) {
    const Slot& under = shared_->graph->slot(base);
    Slot slot;
    slot.type = type;
    slot.pool = under.pool;
    slot.bytes = runtime::DenseBytes(type);
    const bool view = under.base.valid();
    slot.base = view ? under.base : base;
    slot.offset = view ? under.offset : Dim(0);
    return runtime::AddSlot(shared_->graph, std::move(slot));
  }

  bool IsPrepared(const ScopeKernel& kernel) const {
    return outermost_ && kernel.prepare;
  }

  // Prepared values that the run plan reads are derived.
  void MarkDerived() {
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
      if (IsPrepared(kernel)) continue;
      for (const ValueId input : kernel.built.inputs) mark(input);
    }
    for (const auto& [node, bodies] : scope_.bodies) {
      for (const ValueId operand : graph_.operands(node)) mark(operand);
    }
    for (const Graph::Output& output : graph_.outputs()) mark(output.value);
  }

  // Lets kernels write the outputs where the caller wants them.
  void ClaimOutputs(const std::vector<SlotId>& destinations) {
    for (size_t i = 0; i < destinations.size(); ++i) {
      const ValueId output = graph_.outputs()[i].value;
      ValueId value = output;
      while (maker_[value.value()] < 0 &&
             IsView(graph_, graph_.producer(value)) &&
             !slots_[value.value()].valid()) {
        value = graph_.operand(graph_.producer(value), 0);
      }
      const int maker = maker_[value.value()];
      if (maker < 0 || slots_[value.value()].valid()) continue;
      const ScopeKernel& kernel = scope_.kernels[maker];
      if (IsPrepared(kernel)) continue;
      if (shared_->pools[kernel.backend] != kHostPool) continue;
      slots_[output.value()] = destinations[i];
      if (value != output) {
        slots_[value.value()] = NewView(destinations[i], graph_.type(value));
      }
    }
  }

  // Gives `value`, which no kernel makes, a slot: a constant, a view, or a
  // result of control flow.
  Status Ensure(ValueId value) {
    std::vector<ValueId> work = {value};
    while (!work.empty()) {
      const ValueId next = work.back();
      if (slots_[next.value()].valid()) {
        work.pop_back();
        continue;
      }
      const NodeId producer = graph_.producer(next);
      if (graph_.op(producer) == Op::kConstant) {
        slots_[next.value()] = ConstantSlot(*graph_.constant(next));
        continue;
      }
      const size_t before = work.size();
      for (const ValueId operand : graph_.operands(producer)) {
        if (!slots_[operand.value()].valid()) work.push_back(operand);
      }
      if (work.size() > before) continue;
      if (IsView(graph_, producer)) {
        slots_[next.value()] = NewView(
            slots_[graph_.operand(producer, 0).value()], graph_.type(next));
      } else {
        ENCORE_CHECK(!graph_.bodies(producer).empty())
            << graph_.op(producer) << " was not scheduled";
        ENCORE_RETURN_IF_ERROR(EmitControlFlow(producer));
      }
    }
    return OkStatus();
  }

  SlotId ConstantSlot(const Literal& literal) {
    Slot slot;
    slot.role = SlotRole::kConstant;
    slot.type = literal.type();
    if (IsHost(literal.dtype())) return runtime::AddSlot(shared_->graph, slot);
    slot.bytes = runtime::DenseBytes(slot.type);
    slot.blob =
        runtime::AddBlob(shared_->graph, runtime::Blob::Copy(literal.bytes()));
    return runtime::AddSlot(shared_->graph, std::move(slot));
  }

  // Whether a slot holds the same for all replays with the same weights.
  bool IsWeight(SlotId id) const {
    const Slot& slot = shared_->graph->slot(id);
    if (slot.base.valid()) return IsWeight(slot.base);
    return slot.role == SlotRole::kParameter ||
           slot.role == SlotRole::kConstant || slot.role == SlotRole::kDerived;
  }

  // The value's slot in `pool`, copied there if need be.
  StatusOr<SlotId> In(ValueId value, PoolId pool, bool prepare) {
    ENCORE_RETURN_IF_ERROR(Ensure(value));
    const SlotId slot = slots_[value.value()];
    if (shared_->graph->slot(slot).pool == pool) return slot;
    const bool weight = IsWeight(slot);
    auto& copies = weight ? shared_->copied_weights : copies_;
    const auto key = std::pair(slot, pool);
    if (const auto it = copies.find(key); it != copies.end()) return it->second;
    const SlotId copy =
        NewSlot(weight ? SlotRole::kDerived : SlotRole::kTemporary,
                graph_.type(value), pool);
    copies.emplace(key, copy);
    std::vector<Step>& steps = weight || prepare ? shared_->prepare : steps_;
    steps.push_back({runtime::Copy{slot, copy}, {}});
    return copy;
  }

  // The input in the kernel's own form.
  SlotId Packed(SlotId input, const PackedInput& packed,
                runtime::ProgramId packer, const ScopeKernel& kernel) {
    const auto key = std::tuple(input, packer);
    const auto it = shared_->packed.find(key);
    if (it != shared_->packed.end()) return it->second;
    const TensorType bytes{DType::kU8, Shape({Dim(packed.bytes)})};
    const SlotId slot =
        NewSlot(SlotRole::kDerived, bytes, shared_->pools[kernel.backend]);
    shared_->packed.emplace(key, slot);
    runtime::Launch launch;
    launch.program = packer;
    launch.device = shared_->devices[kernel.backend];
    launch.reads = {input};
    launch.writes = {slot};
    shared_->prepare.push_back({std::move(launch), kernel.origins});
    return slot;
  }

  Status EmitKernel(const ScopeKernel& kernel) {
    const PoolId pool = shared_->pools[kernel.backend];
    const bool prepare = IsPrepared(kernel);
    const CompiledKernel& compiled = shared_->table.kernel(kernel.kernel);
    runtime::Launch launch;
    launch.program = shared_->table.program(kernel.kernel);
    launch.device = shared_->devices[kernel.backend];
    for (const ValueId input : kernel.built.inputs) {
      ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(input, pool, prepare));
      launch.reads.push_back(slot);
    }
    for (size_t i = 0; i < compiled.packed.size(); ++i) {
      SlotId& read = launch.reads[compiled.packed[i].input];
      read = Packed(read, compiled.packed[i],
                    shared_->table.packer(kernel.kernel, i), kernel);
    }
    for (const ValueId output : kernel.built.outputs) {
      SlotId& slot = slots_[output.value()];
      if (!slot.valid()) {
        const bool derived = prepare && derived_[output.value()];
        slot = NewSlot(derived ? SlotRole::kDerived : SlotRole::kTemporary,
                       graph_.type(output), pool);
      }
      launch.writes.push_back(slot);
    }
    if (!(compiled.scratch == Dim(0))) {
      const Dim bytes = ScratchBytes(compiled.scratch, kernel.built.args);
      launch.writes.push_back(
          NewSlot(SlotRole::kTemporary, {DType::kU8, Shape({bytes})}, pool));
    }
    launch.args = kernel.built.args;
    launch.in_place = compiled.in_place;
    std::vector<Step>& steps = prepare ? shared_->prepare : steps_;
    steps.push_back({std::move(launch), kernel.origins});
    return OkStatus();
  }

  static Dim ScratchBytes(const Dim& scratch, const std::vector<Dim>& args) {
    return scratch.is_constant() ? scratch : scratch.Substitute(args);
  }

  std::vector<uint32_t> OriginOf(NodeId node) const {
    const std::optional<uint32_t> number = StencilNumber(graph_.origin(node));
    if (!number.has_value()) return {};
    return {*number};
  }

  Status EmitControlFlow(NodeId node) {
    switch (graph_.op(node)) {
      case Op::kIf:
        return EmitIf(node);
      case Op::kWhile:
        return EmitWhile(node);
      default:
        return InvalidArgumentError(StrCat("node ", node.value(), ": ",
                                           graph_.op(node),
                                           " has no steps on any backend"));
    }
  }

  // The plan of a body whose arguments are `inputs` and whose outputs end up in
  // `outputs`; what it uses of this plan goes to `reads`.
  StatusOr<PlanId> EmitBody(const Scope& body, std::span<const SlotId> inputs,
                            const std::vector<SlotId>& outputs) {
    Emitter emitter(body, false, shared_);
    const auto arguments = body.graph->arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      emitter.Bind(arguments[i].value, inputs[i]);
    }
    ENCORE_RETURN_IF_ERROR(emitter.Run(outputs));
    runtime::Plan plan;
    plan.steps = emitter.TakeSteps();
    return runtime::AddPlan(shared_->graph, std::move(plan));
  }

  // Slots of the operands from `first` on, in host memory.
  StatusOr<std::vector<SlotId>> HostOperands(NodeId node, int first) {
    std::vector<SlotId> slots;
    const auto operands = graph_.operands(node);
    for (size_t i = first; i < operands.size(); ++i) {
      ENCORE_ASSIGN_OR_RETURN(const SlotId slot,
                              In(operands[i], kHostPool, false));
      slots.push_back(slot);
    }
    return slots;
  }

  SlotId NewHostValue(ValueId value) {
    return NewSlot(SlotRole::kTemporary, graph_.type(value), kHostPool);
  }

  Status EmitIf(NodeId node) {
    ENCORE_ASSIGN_OR_RETURN(std::vector<SlotId> reads, HostOperands(node, 0));
    runtime::Invoke invoke;
    invoke.kind = runtime::InvokeKind::kIf;
    invoke.selector = reads[0];
    for (int i = 0; i < graph_.result_count(node); ++i) {
      SlotId& slot = slots_[graph_.result(node, i).value()];
      if (!slot.valid()) slot = NewHostValue(graph_.result(node, i));
      invoke.writes.push_back(slot);
    }
    // Plan 0 is run for false.
    for (const int body : {1, 0}) {
      ENCORE_ASSIGN_OR_RETURN(
          const PlanId plan,
          EmitBody(scope_.bodies.at(node)[body], std::span(reads).subspan(1),
                   invoke.writes));
      invoke.plans.push_back(plan);
    }
    invoke.reads = Unique(std::move(reads));
    Add(std::move(invoke), OriginOf(node));
    return OkStatus();
  }

  Status EmitWhile(NodeId node) {
    ENCORE_ASSIGN_OR_RETURN(const std::vector<SlotId> initial,
                            HostOperands(node, 0));
    runtime::Invoke invoke;
    invoke.kind = runtime::InvokeKind::kWhile;
    invoke.selector =
        NewSlot(SlotRole::kTemporary, {DType::kBool, Shape()}, kHostPool);
    std::vector<SlotId> states, nexts;
    for (int i = 0; i < graph_.result_count(node); ++i) {
      const ValueId result = graph_.result(node, i);
      states.push_back(NewHostValue(result));
      nexts.push_back(NewHostValue(result));
      invoke.carried.push_back({states.back(), nexts.back()});
      Add(runtime::Copy{initial[i], states.back()}, {});
      slots_[result.value()] = states.back();
    }
    const std::vector<Scope>& bodies = scope_.bodies.at(node);
    ENCORE_ASSIGN_OR_RETURN(const PlanId condition,
                            EmitBody(bodies[0], states, {invoke.selector}));
    ENCORE_ASSIGN_OR_RETURN(const PlanId body,
                            EmitBody(bodies[1], states, nexts));
    invoke.plans = {condition, body};
    invoke.reads = states;
    invoke.reads.push_back(invoke.selector);
    invoke.writes = invoke.reads;
    invoke.writes.insert(invoke.writes.end(), nexts.begin(), nexts.end());
    invoke.reads.insert(invoke.reads.end(), nexts.begin(), nexts.end());
    Add(std::move(invoke), OriginOf(node));
    return OkStatus();
  }

  static std::vector<SlotId> Unique(std::vector<SlotId> slots) {
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    return slots;
  }

  const Scope& scope_;
  const Graph& graph_;
  bool outermost_;
  Shared* shared_;
  std::vector<SlotId> slots_;  // by value
  std::vector<int> maker_;     // by value: number of the kernel
  std::vector<bool> derived_;  // by value
  std::map<std::pair<SlotId, PoolId>, SlotId> copies_;
  std::vector<Step> steps_;
};

// Where the values of the symbols come from: dims of inputs that are one.
Status AddSymbols(const Graph& graph, runtime::CompiledGraph* compiled) {
  std::vector<bool> found(graph.symbols().size());
  for (const Symbol& symbol : graph.symbols()) {
    runtime::SymbolInfo info;
    info.lower = symbol.lower;
    info.upper = symbol.upper;
    compiled->symbols.push_back(info);
  }
  uint32_t input = 0;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) continue;
    const Shape& shape = graph.shape(argument.value);
    for (int d = 0; d < shape.rank(); ++d) {
      const std::optional<uint32_t> symbol = shape[d].symbol();
      if (!symbol.has_value() || found[*symbol]) continue;
      found[*symbol] = true;
      compiled->symbols[*symbol].index = input;
      compiled->symbols[*symbol].element = static_cast<uint32_t>(d);
    }
    ++input;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      return InvalidArgumentError(StrCat("no input's shape says the value of ",
                                         graph.symbols()[i].name));
    }
  }
  return OkStatus();
}

void AddDevices(const Placement& placement, Shared* shared) {
  for (size_t i = 0; i < placement.backends.size(); ++i) {
    runtime::CompiledGraph* graph = shared->graph;
    const runtime::DeviceId device(
        static_cast<uint32_t>(graph->devices.size()));
    PoolId pool = kHostPool;
    if (!placement.backends[i]->uses_host_memory()) {
      pool = PoolId(static_cast<uint32_t>(graph->pools.size()));
      graph->pools.push_back({device});
    }
    graph->devices.push_back({std::string(placement.backends[i]->name()),
                              placement.ordinals[i], pool});
    shared->devices.push_back(device);
    shared->pools.push_back(pool);
  }
}

SlotId AddPort(SlotRole role, const TensorType& type,
               runtime::CompiledGraph* graph) {
  Slot slot;
  slot.role = role;
  slot.type = type;
  slot.bytes = runtime::DenseBytes(type);
  return runtime::AddSlot(graph, std::move(slot));
}

}  // namespace

Status EmitSteps(const Scope& scope, const Placement& placement,
                 const KernelTable& table, runtime::CompiledGraph* compiled) {
  const Graph& graph = *scope.graph;
  ENCORE_RETURN_IF_ERROR(AddSymbols(graph, compiled));
  Shared shared{placement, table, compiled, {}, {}, {}, {}, {}};
  AddDevices(placement, &shared);
  Emitter emitter(scope, true, &shared);
  for (const Graph::Argument& argument : graph.arguments()) {
    const bool parameter = argument.is_parameter;
    const SlotId slot =
        AddPort(parameter ? SlotRole::kParameter : SlotRole::kInput,
                graph.type(argument.value), compiled);
    (parameter ? compiled->parameters : compiled->inputs).push_back(slot);
    emitter.Bind(argument.value, slot);
  }
  for (const Graph::Output& output : graph.outputs()) {
    compiled->outputs.push_back(
        AddPort(SlotRole::kOutput, graph.type(output.value), compiled));
  }
  ENCORE_RETURN_IF_ERROR(emitter.Run(compiled->outputs));
  if (!shared.prepare.empty()) {
    compiled->prepare = runtime::AddPlan(compiled, {std::move(shared.prepare)});
  }
  compiled->run = runtime::AddPlan(compiled, {emitter.TakeSteps()});
  return OkStatus();
}

}  // namespace encore::backends
