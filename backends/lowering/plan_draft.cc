#include "encore/backends/lowering/plan_draft.h"

#include <optional>
#include <utility>

#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::backends {
namespace {

using runtime::kHostPool;
using runtime::PoolId;
using runtime::Slot;
using runtime::SlotId;
using runtime::SlotRole;

}  // namespace

SlotId PlanDraft::NewSlot(SlotRole role, const TensorType& type, PoolId pool) {
  Slot slot;
  slot.role = role;
  slot.type = type;
  slot.pool = pool;
  slot.bytes = runtime::DenseBytes(type);
  return runtime::AddSlot(shared_->graph, std::move(slot));
}

SlotId PlanDraft::NewHostValue(const TensorType& type) {
  return NewSlot(SlotRole::kTemporary, type, kHostPool);
}

SlotId PlanDraft::CopyOf(SlotId slot) {
  const SlotId copy =
      NewSlot(SlotRole::kTemporary, info(slot).type, info(slot).pool);
  Add(runtime::Copy{slot, copy}, {});
  return copy;
}

SlotId PlanDraft::NewView(SlotId base, const TensorType& type) {
  if (IsElement(base)) base = CopyOf(base);
  const Slot& under = info(base);
  Slot slot;
  slot.type = type;
  slot.pool = under.pool;
  slot.bytes = runtime::DenseBytes(type);
  const bool view = under.base.valid();
  slot.base = view ? under.base : base;
  slot.offset = view ? under.offset : Dim(0);
  return runtime::AddSlot(shared_->graph, std::move(slot));
}

SlotId PlanDraft::ConstantSlot(const Literal& literal) {
  Slot slot;
  slot.role = SlotRole::kConstant;
  slot.type = literal.type();
  slot.bytes = runtime::DenseBytes(slot.type);
  slot.blob =
      runtime::AddBlob(shared_->graph, runtime::Blob::Copy(literal.bytes()));
  return runtime::AddSlot(shared_->graph, std::move(slot));
}

bool PlanDraft::IsWeight(SlotId id) const {
  if (IsElement(id)) return false;
  const Slot& slot = info(id);
  if (slot.base.valid()) return IsWeight(slot.base);
  return slot.role == SlotRole::kParameter ||
         slot.role == SlotRole::kConstant || slot.role == SlotRole::kDerived;
}

std::vector<uint32_t> PlanDraft::OriginOf(NodeId node) const {
  const std::optional<uint32_t> number = StencilNumber(graph_.origin(node));
  if (!number.has_value()) return {};
  return {*number};
}

Status PlanDraft::DefineSymbol(NodeId node, uint32_t symbol, SlotId slot,
                               uint32_t element, std::string message) {
  if (shared_->symbols_found[symbol]) {
    return InvalidArgumentError(
        StrCat("node ", node.value(),
               ": its size is a symbol that has a value already"));
  }
  shared_->symbols_found[symbol] = true;
  runtime::SymbolInfo& info = shared_->graph->symbols[symbol];
  info.source = runtime::SymbolInfo::Source::kSlot;
  info.index = slot.value();
  info.element = element;
  info.message = std::move(message);
  return OkStatus();
}

void PlanDraft::Require(SlotId slot, uint32_t element, int64_t lower,
                        int64_t upper, std::string message) {
  shared_->graph->symbols.push_back(
      {.lower = lower,
       .upper = upper,
       .source = runtime::SymbolInfo::Source::kSlot,
       .index = slot.value(),
       .element = element,
       .message = std::move(message)});
  shared_->symbols_found.push_back(true);
}

}  // namespace encore::backends
