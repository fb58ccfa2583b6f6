#include "encore/backends/lowering/emitter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/lowering/fusion.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::backends {
namespace {

using runtime::kHostPool;
using runtime::PoolId;
using runtime::Slot;
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
      slots_(graph_.value_count()),
      maker_(graph_.value_count(), -1),
      finders_(graph_),
      uses_(UseCounts(graph_)) {
  for (size_t k = 0; k < scope.kernels.size(); ++k) {
    for (const ValueId output : scope.kernels[k].built.outputs) {
      maker_[output.value()] = static_cast<int>(k);
    }
  }
}

Status Emitter::Run(const std::vector<SlotId>& destinations) {
  ENCORE_CHECK_EQ(destinations.size(), graph_.outputs().size());
  MarkDerived();
  ClaimOutputs(destinations);
  for (const ScopeKernel& kernel : scope_.kernels) {
    ENCORE_RETURN_IF_ERROR(EmitKernel(kernel));
  }
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (!destinations[i].valid()) continue;
    const ValueId value = graph_.outputs()[i].value;
    ENCORE_RETURN_IF_ERROR(Ensure(value));
    const SlotId slot = slots_[value.value()];
    if (slot == destinations[i]) continue;
    Add(runtime::Copy{slot, destinations[i]}, {});
  }
  return OkStatus();
}

SlotId Emitter::NewSlot(SlotRole role, const TensorType& type, PoolId pool) {
  Slot slot;
  slot.role = role;
  slot.type = type;
  slot.pool = pool;
  slot.bytes = runtime::DenseBytes(type);
  return runtime::AddSlot(shared_->graph, std::move(slot));
}

SlotId Emitter::NewHostValue(const TensorType& type) {
  return NewSlot(SlotRole::kTemporary, type, kHostPool);
}

SlotId Emitter::CopyOf(SlotId slot) {
  const SlotId copy = NewHostValue(shared_->graph->slot(slot).type);
  Add(runtime::Copy{slot, copy}, {});
  return copy;
}

SlotId Emitter::NewView(SlotId base, const TensorType& type) {
  if (IsElement(base)) base = CopyOf(base);
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
    // The run plan defines symbols.
    for (const NodeId node : kernel.counts) mark(graph_.operand(node, 0));
    if (kernel.site.prepare) continue;
    for (const ValueId input : kernel.built.inputs) mark(input);
  }
  for (const auto& [node, bodies] : scope_.bodies) {
    for (const ValueId operand : graph_.operands(node)) mark(operand);
  }
  for (const NodeId node : Nodes(graph_)) {
    if (graph_.op(node) != Op::kAssertion &&
        !graph_.info(node).has(kNonFlatValues)) {
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
    while (maker_[value.value()] < 0 &&
           IsView(graph_, graph_.producer(value)) &&
           !slots_[value.value()].valid()) {
      value = graph_.operand(graph_.producer(value), 0);
    }
    const int maker = maker_[value.value()];
    if (maker < 0 && graph_.info(graph_.producer(output)).has(kNonFlatValues)) {
      claims_.emplace(output, destinations[i]);
    }
    if (maker < 0 || slots_[value.value()].valid()) continue;
    const ScopeKernel& kernel = scope_.kernels[maker];
    if (kernel.site.prepare) continue;
    if (shared_->pools[kernel.site.backend] != kHostPool) continue;
    if (value != output && IsElement(destinations[i])) continue;
    slots_[output.value()] = destinations[i];
    if (value != output) {
      slots_[value.value()] = NewView(destinations[i], graph_.type(value));
    }
  }
}

Status Emitter::Ensure(ValueId value) {
  std::vector<ValueId> work = {value};
  while (!work.empty()) {
    const ValueId next = work.back();
    if (slots_[next.value()].valid()) {
      work.pop_back();
      continue;
    }
    const NodeId producer = graph_.producer(next);
    if (graph_.op(producer) == Op::kConstant) {
      const Literal& constant = *graph_.constant(next);
      slots_[next.value()] = IsString(constant.dtype())
                                 ? ConstantObject(constant)
                                 : ConstantSlot(constant);
      continue;
    }
    const size_t before = work.size();
    for (const ValueId operand : graph_.operands(producer)) {
      // A kernel that was left out: see EmitKernel.
      if (graph_.op(producer) == Op::kAssertion &&
          maker_[operand.value()] >= 0) {
        continue;
      }
      if (!slots_[operand.value()].valid()) work.push_back(operand);
    }
    for (const NodeId finder : finders_.NeededBy(producer)) {
      const ValueId found = graph_.result(finder);
      if (graph_.info(finder).has(kNonFlatValues) &&
          !slots_[found.value()].valid()) {
        work.push_back(found);
      }
    }
    if (work.size() > before) continue;
    if (IsView(graph_, producer)) {
      slots_[next.value()] = NewView(
          slots_[graph_.operand(producer, 0).value()], graph_.type(next));
    } else if (graph_.op(producer) == Op::kAssertion) {
      ENCORE_RETURN_IF_ERROR(EmitAssertion(producer));
    } else if (graph_.info(producer).has(kNonFlatValues)) {
      ENCORE_RETURN_IF_ERROR(EmitHost(producer));
    } else {
      ENCORE_CHECK(!graph_.bodies(producer).empty())
          << graph_.op(producer) << " was not scheduled";
      ENCORE_RETURN_IF_ERROR(EmitControlFlow(producer));
    }
  }
  return OkStatus();
}

SlotId Emitter::ConstantSlot(const Literal& literal) {
  Slot slot;
  slot.role = SlotRole::kConstant;
  slot.type = literal.type();
  slot.bytes = runtime::DenseBytes(slot.type);
  slot.blob =
      runtime::AddBlob(shared_->graph, runtime::Blob::Copy(literal.bytes()));
  return runtime::AddSlot(shared_->graph, std::move(slot));
}

bool Emitter::IsWeight(SlotId id) const {
  if (IsElement(id)) return false;
  const Slot& slot = shared_->graph->slot(id);
  if (slot.base.valid()) return IsWeight(slot.base);
  return slot.role == SlotRole::kParameter ||
         slot.role == SlotRole::kConstant || slot.role == SlotRole::kDerived;
}

StatusOr<SlotId> Emitter::In(ValueId value, PoolId pool, bool prepare) {
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
  // Blocks are copied with their padding.
  shared_->graph->slots[copy.value()].bytes = shared_->graph->slot(slot).bytes;
  copies.emplace(key, copy);
  std::vector<Step>& steps = weight || prepare ? shared_->prepare : steps_;
  steps.push_back({runtime::Copy{slot, copy}, {}});
  return copy;
}

SlotId Emitter::Packed(SlotId input, const PackedInput& packed,
                       runtime::KernelBinaryId packer,
                       const ScopeKernel& kernel) {
  const auto key = std::tuple(input, packer);
  const auto it = shared_->packed.find(key);
  if (it != shared_->packed.end()) return it->second;
  const TensorType bytes{DType::kU8, Shape({Dim(packed.bytes)})};
  const SlotId slot =
      NewSlot(SlotRole::kDerived, bytes, shared_->pools[kernel.site.backend]);
  shared_->packed.emplace(key, slot);
  runtime::Launch launch;
  launch.program = packer;
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
  for (const NodeId node : kernel.counts) {
    ENCORE_RETURN_IF_ERROR(DefineSize(node));
  }
  if (OnlyDefinesSymbol(kernel)) return OkStatus();
  ENCORE_RETURN_IF_ERROR(EnsureSizes(kernel.built.args));
  const CompiledKernel& compiled = shared_->table.kernel(kernel.kernel);
  runtime::Launch launch;
  launch.program = shared_->table.program(kernel.kernel);
  launch.device = shared_->devices[kernel.site.backend];
  for (const ValueId input : kernel.built.inputs) {
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(input, pool, prepare));
    launch.reads.push_back(slot);
  }
  for (size_t i = 0; i < compiled.packed.size(); ++i) {
    SlotId& read = launch.reads[compiled.packed[i].input];
    read = Packed(read, compiled.packed[i],
                  shared_->table.packer(kernel.kernel, i), kernel);
  }
  for (size_t i = 0; i < kernel.built.outputs.size(); ++i) {
    const ValueId output = kernel.built.outputs[i];
    const Operand& operand = kernel.built.region.outputs[i];
    SlotId& slot = slots_[output.value()];
    if (slot.valid() && !operand.layout.is_row_major()) {
      return InternalError("a kernel writes an output in a layout of its own");
    }
    if (!slot.valid()) {
      const bool derived = prepare && derived_[output.value()];
      slot = NewSlot(derived ? SlotRole::kDerived : SlotRole::kTemporary,
                     graph_.type(output), pool);
      if (!operand.layout.blocks.empty()) {
        shared_->graph->slots[slot.value()].bytes =
            MemoryBytes(operand.dtype, operand.dims, operand.layout)
                .Substitute(kernel.built.args);
      }
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

bool Emitter::OnlyDefinesSymbol(const ScopeKernel& kernel) const {
  if (kernel.counts.empty()) return false;
  const auto is_read = [this](ValueId value) {
    if (std::ranges::any_of(graph_.outputs(), [&](const Graph::Output& output) {
          return output.value == value;
        })) {
      return true;
    }
    for (const NodeId node : Nodes(graph_)) {
      const auto operands = graph_.operands(node);
      const size_t read =
          graph_.op(node) == Op::kAssertion ? 2 : operands.size();
      const auto end = operands.begin() + read;
      if (std::find(operands.begin(), end, value) != end) return true;
    }
    return false;
  };
  return std::ranges::none_of(kernel.built.outputs, is_read);
}

StatusOr<SlotId> Emitter::SymbolSlot(ValueId value) {
  ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(value, kHostPool, false));
  // A symbol is read when a step of the plan writes its slot.
  const bool written = maker_[value.value()] >= 0 && !IsWeight(slot);
  return written ? slot : CopyOf(slot);
}

Status Emitter::EmitAssertion(NodeId node) {
  ENCORE_ASSIGN_OR_RETURN(const SlotId slot,
                          SymbolSlot(graph_.operand(node, 1)));
  runtime::SymbolInfo info;
  info.lower = 1;
  info.source = runtime::SymbolInfo::Source::kSlot;
  info.index = slot.value();
  info.message = graph_.attrs<AssertionAttrs>(node).message;
  shared_->graph->symbols.push_back(std::move(info));
  shared_->symbols_found.push_back(true);
  slots_[graph_.result(node).value()] = slots_[graph_.operand(node, 0).value()];
  return OkStatus();
}

Status Emitter::DefineSize(NodeId node) {
  const Dim& size = graph_.attrs<CountUpAttrs>(node).size[0];
  const std::optional<uint32_t> symbol = size.symbol();
  if (!symbol.has_value()) return OkStatus();
  ENCORE_ASSIGN_OR_RETURN(const SlotId slot,
                          SymbolSlot(graph_.operand(node, 0)));
  if (shared_->symbols_found[*symbol]) {
    return InvalidArgumentError(
        StrCat("node ", node.value(),
               ": its size is a symbol that has a value "
               "already"));
  }
  shared_->symbols_found[*symbol] = true;
  runtime::SymbolInfo& info = shared_->graph->symbols[*symbol];
  info.source = runtime::SymbolInfo::Source::kSlot;
  info.index = slot.value();
  info.element = 0;
  return OkStatus();
}

std::vector<uint32_t> Emitter::OriginOf(NodeId node) const {
  const std::optional<uint32_t> number = StencilNumber(graph_.origin(node));
  if (!number.has_value()) return {};
  return {*number};
}

}  // namespace encore::backends
