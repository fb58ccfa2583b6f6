#include "encore/runtime/plan/structure_checker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/plan/step_kinds.h"

namespace encore::runtime {
namespace {

// Fails with `invariant` and the pieces of a message unless `condition`.
#define ENCORE_REQUIRE(invariant, condition, ...)        \
  do {                                                   \
    if (!(condition)) {                                  \
      return InvalidArgumentError(                       \
          StrCat(invariant, ": ", where_, __VA_ARGS__)); \
    }                                                    \
  } while (false)

class StructureChecker {
 public:
  StructureChecker(const CompiledGraph& graph,
                   std::span<const int64_t> blob_sizes)
      : graph_(graph),
        blob_sizes_(blob_sizes),
        device_of_binary_(graph.kernel_binaries.size()) {}

  Status Check() {
    ENCORE_RETURN_IF_ERROR(CheckTables());
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      where_ = StrCat("slot ", s, ": ");
      ENCORE_RETURN_IF_ERROR(CheckSlot(graph_.slots[s]));
    }
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      where_ = StrCat("slot ", s, ": ");
      ENCORE_RETURN_IF_ERROR(CheckStorage(graph_.slots[s]));
    }
    ENCORE_RETURN_IF_ERROR(CheckSignature());
    ENCORE_RETURN_IF_ERROR(CheckSymbols());
    ENCORE_RETURN_IF_ERROR(CheckPlanTree());
    for (uint32_t p = 0; p < graph_.plans.size(); ++p) {
      const std::vector<Step>& steps = graph_.plans[p].steps;
      for (size_t i = 0; i < steps.size(); ++i) {
        where_ = StrCat("plan ", p, " step ", i, ": ");
        ENCORE_RETURN_IF_ERROR(std::visit(
            [this](const auto& op) { return CheckStep(op); }, steps[i].op));
      }
    }
    return OkStatus();
  }

 private:
  template <typename Id, typename T>
  static bool In(Id id, const std::vector<T>& list) {
    return id.valid() && id.value() < list.size();
  }
  bool IsSlot(SlotId id) const { return In(id, graph_.slots); }
  bool AreSlots(const std::vector<SlotId>& ids) const {
    return std::ranges::all_of(ids, [this](SlotId id) { return IsSlot(id); });
  }
  bool IsDim(const Dim& dim) const {
    return dim.valid() && dim.SymbolLimit() <= graph_.symbols.size();
  }
  bool IsRunTime(const Dim& dim) const { return IsRunTimeSized(graph_, dim); }

  Status CheckTables() {
    ENCORE_REQUIRE("P1",
                   !graph_.pools.empty() && !graph_.pools[0].device.valid(),
                   "pool 0 is host memory");
    for (size_t p = 1; p < graph_.pools.size(); ++p) {
      ENCORE_REQUIRE(
          "P8",
          In(graph_.pools[p].device, graph_.devices) &&
              graph_.devices[graph_.pools[p].device.value()].pool == PoolId(p),
          "pool ", p, " is not its device's");
    }
    for (size_t d = 0; d < graph_.devices.size(); ++d) {
      ENCORE_REQUIRE("P1",
                     d < UINT16_MAX && In(graph_.devices[d].pool, graph_.pools),
                     "device ", d, " has no pool");
      const DeviceId owner =
          graph_.pools[graph_.devices[d].pool.value()].device;
      ENCORE_REQUIRE("P8", !owner.valid() || owner == DeviceId(d), "device ", d,
                     " has another device's pool");
    }
    for (size_t p = 0; p < graph_.kernel_binaries.size(); ++p) {
      const BlobId artifact = graph_.kernel_binaries[p].artifact;
      ENCORE_REQUIRE("P1", !artifact.valid() || In(artifact, graph_.blobs),
                     "kernel binary ", p, " has no such artifact");
    }
    return OkStatus();
  }

  Status CheckSlot(const Slot& slot) {
    ENCORE_REQUIRE("P1", In(slot.pool, graph_.pools), "no such pool");
    ENCORE_REQUIRE("P1", !slot.base.valid() || IsSlot(slot.base),
                   "no such base");
    ENCORE_REQUIRE("P1", IsDim(slot.bytes) && IsDim(slot.offset),
                   "its size or offset is no dim of this graph");
    for (const Dim& dim : slot.type.shape.dims()) {
      ENCORE_REQUIRE("P1", IsDim(dim), "an extent is no dim of this graph");
      ENCORE_REQUIRE("P2", !dim.is_constant() || dim.constant() >= 0,
                     "an extent is negative");
    }
    ENCORE_REQUIRE(
        "P2",
        (!slot.bytes.is_constant() || slot.bytes.constant() >= 0) &&
            (!slot.offset.is_constant() || slot.offset.constant() >= 0),
        "its size or offset is negative");
    const bool is_port = slot.role == SlotRole::kInput ||
                         slot.role == SlotRole::kOutput ||
                         slot.role == SlotRole::kParameter;
    const bool is_weight = slot.role == SlotRole::kParameter ||
                           slot.role == SlotRole::kDerived ||
                           slot.role == SlotRole::kConstant;
    ENCORE_REQUIRE("P2", !slot.is_arena || slot.role == SlotRole::kTemporary,
                   "an arena is a temporary");
    ENCORE_REQUIRE("P2",
                   !slot.base.valid() || slot.role == SlotRole::kTemporary,
                   "only temporaries have a base");
    if (slot.is_host_object()) {
      ENCORE_REQUIRE("P2",
                     !slot.is_arena && !slot.base.valid() && !is_weight &&
                         slot.bytes == Dim(0) && slot.pool == kHostPool,
                     "a host object lies in host memory of its own");
      return OkStatus();
    }
    ENCORE_REQUIRE("P2", !is_port || slot.bytes == DenseBytes(slot.type),
                   "inputs, outputs and parameters are dense");
    ENCORE_REQUIRE("P2", !is_weight || slot.bytes.is_constant(),
                   "weights have constant sizes");
    ENCORE_REQUIRE("P2",
                   slot.role != SlotRole::kInput || !IsRunTime(slot.bytes),
                   "the size of an input is known when it is bound");
    return OkStatus();
  }

  Status CheckStorage(const Slot& slot) {
    if (slot.role == SlotRole::kConstant) {
      ENCORE_REQUIRE("P1", In(slot.blob, graph_.blobs), "no such blob");
      const int64_t size = blob_sizes_[slot.blob.value()];
      ENCORE_REQUIRE("P3",
                     slot.blob_offset >= 0 &&
                         slot.blob_offset % kAlignment == 0 &&
                         slot.blob_offset <= size &&
                         slot.bytes.constant() <= size - slot.blob_offset,
                     "the constant leaves its blob");
    }
    ENCORE_REQUIRE(
        "P4", !slot.is_arena || (!slot.base.valid() && !IsRunTime(slot.bytes)),
        "an arena has a size and memory of its own");
    if (!slot.base.valid()) return OkStatus();
    const Slot& base = graph_.slot(slot.base);
    ENCORE_REQUIRE("P4", base.pool == slot.pool, "its base is in another pool");
    ENCORE_REQUIRE("P4", !base.is_host_object(), "its base is a host object");
    if (base.is_arena) {
      const Dim& offset = slot.offset;
      ENCORE_REQUIRE(
          "P4", offset.is_constant() && offset.constant() % kAlignment == 0,
          "its place in the arena is not aligned");
    } else {
      ENCORE_REQUIRE("P4",
                     !base.base.valid() || graph_.slot(base.base).is_arena,
                     "its base is a view");
    }
    if (slot.offset.is_constant() && slot.bytes.is_constant() &&
        base.bytes.is_constant()) {
      ENCORE_REQUIRE("P4",
                     slot.bytes.constant() <= base.bytes.constant() &&
                         slot.offset.constant() <=
                             base.bytes.constant() - slot.bytes.constant(),
                     "it leaves its base");
    }
    return OkStatus();
  }

  Status CheckSignature() {
    where_.clear();
    std::vector<bool> listed(graph_.slots.size());
    const std::pair<const std::vector<SlotId>*, SlotRole> lists[] = {
        {&graph_.inputs, SlotRole::kInput},
        {&graph_.outputs, SlotRole::kOutput},
        {&graph_.parameters, SlotRole::kParameter}};
    for (const auto& [list, role] : lists) {
      for (const SlotId id : *list) {
        ENCORE_REQUIRE(
            "P5",
            IsSlot(id) && graph_.slot(id).role == role && !listed[id.value()],
            "the signature lists a slot of another role or twice");
        listed[id.value()] = true;
      }
    }
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      const SlotRole role = graph_.slots[s].role;
      const bool wants = role == SlotRole::kInput ||
                         role == SlotRole::kOutput ||
                         role == SlotRole::kParameter;
      ENCORE_REQUIRE("P5", wants == listed[s], "slot ", s,
                     " is missing in the signature");
    }
    return OkStatus();
  }

  Status CheckSymbols() {
    for (size_t s = 0; s < graph_.symbols.size(); ++s) {
      where_ = StrCat("symbol ", s, ": ");
      const SymbolInfo& info = graph_.symbols[s];
      ENCORE_REQUIRE("P6", info.lower <= info.upper, "its bounds are empty");
      if (info.source == SymbolInfo::Source::kInputDim) {
        ENCORE_REQUIRE("P6", info.index < graph_.inputs.size(),
                       "no such input");
        const Slot& input = graph_.slot(graph_.inputs[info.index]);
        ENCORE_REQUIRE("P6", info.element < input.type.shape.rank(),
                       "no such dim");
        continue;
      }
      ENCORE_REQUIRE("P6", info.index < graph_.slots.size(), "no such slot");
      const Slot& slot = graph_.slots[info.index];
      ENCORE_REQUIRE("P6",
                     slot.type.dtype == DType::kI64 && !slot.is_arena &&
                         slot.bytes.is_constant() &&
                         info.element < slot.bytes.constant() / 8,
                     "its slot is no i64 tensor with such an element");
    }
    return OkStatus();
  }

  Status CheckPlanTree() {
    where_.clear();
    std::vector<bool> reached(graph_.plans.size());
    std::vector<std::pair<PlanId, int>> work;
    if (graph_.prepare.valid()) work.emplace_back(graph_.prepare, 1);
    work.emplace_back(graph_.run, 1);
    while (!work.empty()) {
      const auto [plan, depth] = work.back();
      work.pop_back();
      ENCORE_REQUIRE("P7", In(plan, graph_.plans), "no such plan");
      ENCORE_REQUIRE("P7", !reached[plan.value()], "plan ", plan.value(),
                     " is used twice");
      ENCORE_REQUIRE("P7", depth <= kMostNestedPlans, "plans nest too deep");
      reached[plan.value()] = true;
      for (const Step& step : graph_.plan(plan).steps) {
        for (const PlanId sub : SubPlansOf(step)) {
          work.emplace_back(sub, depth + 1);
        }
      }
    }
    ENCORE_REQUIRE("P7", std::ranges::count(reached, false) == 0,
                   "a plan is never run");
    return OkStatus();
  }

  Status CheckStep(const Allocate& op) {
    ENCORE_REQUIRE("P1", IsSlot(op.slot) && IsDim(op.bytes), "no such slot");
    const Slot& slot = graph_.slot(op.slot);
    const bool is_output =
        slot.role == SlotRole::kOutput && IsRunTime(slot.bytes);
    ENCORE_REQUIRE("P10",
                   !slot.base.valid() && !slot.is_host_object() &&
                       (slot.role == SlotRole::kTemporary || is_output),
                   "slot ", op.slot.value(), " has other storage");
    ENCORE_REQUIRE("P10", op.pool == slot.pool && op.bytes == slot.bytes,
                   "not the pool or size of slot ", op.slot.value());
    return OkStatus();
  }

  Status CheckStep(const Deallocate& op) {
    ENCORE_REQUIRE("P1", IsSlot(op.slot), "no such slot");
    const Slot& slot = graph_.slot(op.slot);
    ENCORE_REQUIRE("P10",
                   !slot.base.valid() && !slot.is_host_object() &&
                       slot.role == SlotRole::kTemporary &&
                       op.pool == slot.pool,
                   "slot ", op.slot.value(), " is not to be freed");
    return OkStatus();
  }

  Status CheckStep(const Copy& op) {
    ENCORE_REQUIRE("P1", IsSlot(op.src) && IsSlot(op.dst), "no such slot");
    return CheckCopy(op.src, op.dst);
  }

  Status CheckCopy(SlotId src_id, SlotId dst_id) {
    const Slot& src = graph_.slot(src_id);
    const Slot& dst = graph_.slot(dst_id);
    ENCORE_REQUIRE("P9",
                   src_id != dst_id && !src.is_arena && !dst.is_arena &&
                       src.is_host_object() == dst.is_host_object() &&
                       src.type.kind == dst.type.kind && src.bytes == dst.bytes,
                   "slots ", src_id.value(), " and ", dst_id.value(),
                   " cannot be copied");
    return OkStatus();
  }

  Status CheckStep(const Launch& op) {
    ENCORE_REQUIRE("P1",
                   In(op.binary, graph_.kernel_binaries) &&
                       In(op.device, graph_.devices) && AreSlots(op.reads) &&
                       AreSlots(op.writes) &&
                       std::ranges::all_of(
                           op.args, [this](const Dim& d) { return IsDim(d); }),
                   "no such kernel binary, device, slot or dim");
    const KernelBinary& binary = graph_.kernel_binary(op.binary);
    const DeviceInfo& device = graph_.devices[op.device.value()];
    ENCORE_REQUIRE(
        "P8",
        binary.backend == device.backend && op.reads.size() == binary.reads &&
            op.writes.size() == binary.writes && op.args.size() == binary.args,
        "not of its binary's backend or arity");
    ENCORE_REQUIRE("P8",
                   std::max({op.reads.size(), op.writes.size(), op.args.size(),
                             op.in_place.size()}) <= kMostOperands,
                   "too many operands");
    DeviceId& loaded = device_of_binary_[op.binary.value()];
    ENCORE_REQUIRE("P8", !loaded.valid() || loaded == op.device,
                   "the binary is launched on two devices");
    loaded = op.device;
    for (const auto* list : {&op.reads, &op.writes}) {
      for (const SlotId id : *list) {
        const Slot& slot = graph_.slot(id);
        ENCORE_REQUIRE("P8",
                       !slot.is_arena &&
                           (slot.is_host_object() || slot.pool == device.pool),
                       "slot ", id.value(), " is not in the device's pool");
      }
    }
    for (const Launch::InPlace& pair : op.in_place) {
      ENCORE_REQUIRE(
          "P1", pair.read < op.reads.size() && pair.write < op.writes.size(),
          "no such operand in place");
    }
    return OkStatus();
  }

  Status CheckStep(const Invoke& op) {
    ENCORE_REQUIRE("P1",
                   AreSlots(op.reads) && AreSlots(op.writes) &&
                       IsDim(op.trips) &&
                       (!op.selector.valid() || IsSlot(op.selector)),
                   "no such slot or dim");
    const size_t plans = op.plans.size();
    const bool fits = op.kind == InvokeKind::kIf      ? plans >= 1
                      : op.kind == InvokeKind::kWhile ? plans == 2
                                                      : plans == 1;
    ENCORE_REQUIRE("P11", fits, "not the number of plans of its kind");
    ENCORE_REQUIRE("P11", (op.kind == InvokeKind::kScan) != op.selector.valid(),
                   "a selector is what If and While have");
    if (op.selector.valid()) {
      const Slot& slot = graph_.slot(op.selector);
      const DType type = slot.type.dtype;
      ENCORE_REQUIRE("P11",
                     !slot.is_arena && slot.bytes.is_constant() &&
                         (type == DType::kBool || type == DType::kI32 ||
                          type == DType::kI64) &&
                         slot.bytes.constant() == (type == DType::kBool  ? 1
                                                   : type == DType::kI32 ? 4
                                                                         : 8),
                     "the selector is no scalar");
    }
    ENCORE_REQUIRE("P11", op.kind == InvokeKind::kScan || op.scanned.empty(),
                   "elements are what Scan has");
    ENCORE_REQUIRE("P11", op.kind != InvokeKind::kIf || op.carried.empty(),
                   "states are what loops have");
    ENCORE_RETURN_IF_ERROR(CheckCarried(op));
    for (const Invoke::StackedOperand& scanned : op.scanned) {
      ENCORE_REQUIRE("P1", IsSlot(scanned.stacked) && IsSlot(scanned.slice),
                     "no such slot");
      const Slot& element = graph_.slot(scanned.slice);
      const Slot& whole = graph_.slot(scanned.stacked);
      ENCORE_REQUIRE("P11",
                     element.base == scanned.stacked && !whole.is_arena &&
                         element.offset == Dim(0),
                     "an element is a view of its whole, at 0");
      ENCORE_REQUIRE(
          "P11",
          !ChangesSizes(op, whole.bytes) && !ChangesSizes(op, element.bytes),
          "the body changes how long the whole is");
      ENCORE_REQUIRE("P11", element.bytes * op.trips == whole.bytes,
                     "the elements of all trips are not the whole");
    }
    return OkStatus();
  }

  // Whether the sub-plans may write what says a run-time symbol of `dim`.
  bool ChangesSizes(const Invoke& op, const Dim& dim) const {
    bool changes = false;
    ForEachSymbol(dim, [&](uint32_t symbol) {
      const SymbolInfo& info = graph_.symbols[symbol];
      changes |= info.source == SymbolInfo::Source::kSlot &&
                 std::ranges::any_of(op.writes, [&](SlotId slot) {
                   return slot.value() == info.index;
                 });
    });
    return changes;
  }

  Status CheckCarried(const Invoke& op) {
    ENCORE_REQUIRE("P8", op.carried.size() <= kMostOperands, "too many states");
    std::vector<SlotId> states;
    for (const Invoke::Carried& carried : op.carried) {
      ENCORE_REQUIRE("P1", IsSlot(carried.state) && IsSlot(carried.next),
                     "no such slot");
      ENCORE_RETURN_IF_ERROR(CheckCopy(carried.next, carried.state));
      states.push_back(carried.state);
    }
    std::ranges::sort(states);
    for (const Invoke::Carried& carried : op.carried) {
      ENCORE_REQUIRE("P11", !std::ranges::binary_search(states, carried.next),
                     "a next value is also a state");
    }
    return OkStatus();
  }

  const CompiledGraph& graph_;
  const std::span<const int64_t> blob_sizes_;
  std::vector<DeviceId> device_of_binary_;
  std::string where_;
};

#undef ENCORE_REQUIRE

}  // namespace

Status CheckStructure(const CompiledGraph& graph,
                      std::span<const int64_t> blob_sizes) {
  return StructureChecker(graph, blob_sizes).Check();
}

}  // namespace encore::runtime
