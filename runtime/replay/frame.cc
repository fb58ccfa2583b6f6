#include "encore/runtime/replay/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

void* Offset(void* base, int64_t offset) {
  return base == nullptr ? nullptr : static_cast<std::byte*>(base) + offset;
}

}  // namespace

Frame::Frame(const CompiledGraph& graph, const ReplayCode& code,
             std::span<const std::shared_ptr<Device>> devices,
             ThreadPool* threads)
    : graph_(graph),
      code_(code),
      devices_(devices),
      threads_(threads),
      table_(code.entries.size()),
      sizes_(code.entries.size()),
      args_(code.args.size()),
      symbols_(graph.symbols.size()),
      bytes_(graph.slots.size()),
      offsets_(graph.slots.size()),
      addresses_(graph.slots.size()),
      trips_(code.loops.size()),
      owned_(code.owned.size()) {
  for (size_t s = 0; s < symbols_.size(); ++s) {
    symbols_[s] = graph.symbols[s].lower;
  }
  for (const SlotId slot : code.slots) {
    if (!graph.slot(slot).is_host_object()) continue;
    const TensorType& type = graph.slot(slot).type;
    objects_.push_back(std::make_unique<HostObject>(
        HostObject{type.kind == ValueKind::kTensor
                       ? Literal(type.dtype, {0})
                       : Literal::Absent(type.dtype, type.kind)}));
    SetAddress(slot, objects_.back().get());
  }
  // Without dims, so that assigning one allocates nothing.
  for (const SlotId slot : code.moved) {
    const TensorType& type = graph.slot(slot).type;
    empty_.push_back(type.kind == ValueKind::kTensor
                         ? Literal(type.dtype, {})
                         : Literal::Absent(type.dtype, type.kind));
  }
  for (const PoolInfo& pool : graph.pools) {
    warm_pools_.push_back(std::make_unique<WarmPool>(
        pool.device.valid() ? devices[pool.device.value()].get() : nullptr));
  }
  for (const ReplayOp& op : code.ops) {
    if (op.code != Code::kAllocate) continue;
    run_time_.resize(graph.slots.size());
    offered_.resize(graph.slots.size());
  }
}

Frame::~Frame() {
  (void)Synchronize();  // queued work may still use the memory
  for (size_t i = 0; i < owned_.size(); ++i) {
    if (owned_[i].data == nullptr) continue;
    DeallocateOn(PoolDevice(graph_.slot(code_.owned[i]).pool), owned_[i].data,
                 owned_[i].bytes);
  }
  for (uint32_t s = 0; s < run_time_.size(); ++s) {
    DeallocateRunTime(SlotId(s), graph_.slots[s].pool);
  }
}

Status Frame::Init() {
  for (const std::shared_ptr<Device>& device : devices_) {
    ENCORE_ASSIGN_OR_RETURN(std::unique_ptr<Queue> queue, device->NewQueue());
    has_queues_ |= queue != nullptr;
    queues_.push_back(std::move(queue));
  }
  return OkStatus();
}

Device* Frame::PoolDevice(PoolId pool) const {
  const DeviceId device = graph_.pools[pool.value()].device;
  return device.valid() ? devices_[device.value()].get() : nullptr;
}

Status Frame::EvaluateSlot(SlotId id, bool whole) {
  const Slot& slot = graph_.slot(id);
  std::optional<int64_t> bytes = slot.bytes.Evaluate(symbols_);
  int64_t total = 0;
  for (SlotId at = id; graph_.slot(at).base.valid();
       at = graph_.slot(at).base) {
    const std::optional<int64_t> offset =
        graph_.slot(at).offset.Evaluate(symbols_);
    if (!offset || *offset < 0 ||
        __builtin_add_overflow(total, *offset, &total)) {
      bytes.reset();
      break;
    }
  }
  if (!bytes || *bytes < 0) {
    if (whole) {
      return InvalidArgumentError(
          StrCat("slot ", id.value(), " has no size under these input shapes"));
    }
    bytes = 0;
    total = 0;
  }
  bytes_[id.value()] = *bytes;
  offsets_[id.value()] = total;
  for (const uint32_t use : code_.uses[id]) sizes_[use] = *bytes;
  return OkStatus();
}

Status Frame::EvaluateArg(uint32_t arg, bool whole) {
  const std::optional<int64_t> value = code_.args[arg].Evaluate(symbols_);
  if (!value && whole) {
    return InvalidArgumentError(
        StrCat("an extent has no value under these input shapes: ",
               code_.args[arg].ToString()));
  }
  args_[arg] = value.value_or(0);
  return OkStatus();
}

Status Frame::CheckMembers(SlotId slot) const {
  const int64_t size = bytes_[slot.value()];
  for (const uint32_t member : code_.members[slot]) {
    if (bytes_[member] > size || offsets_[member] > size - bytes_[member]) {
      return InvalidArgumentError(StrCat("slot ", member, " leaves the ", size,
                                         " bytes of slot ", slot.value()));
    }
  }
  return OkStatus();
}

Status Frame::Resize() {
  // What depends on run-time symbols is whole when they are read.
  for (const SlotId id : code_.slots) {
    const Slot& slot = graph_.slot(id);
    const bool found = IsRunTimeSized(graph_, slot.bytes) ||
                       IsRunTimeSized(graph_, slot.offset);
    ENCORE_RETURN_IF_ERROR(EvaluateSlot(id, !found));
  }
  for (uint32_t arg = 0; arg < args_.size(); ++arg) {
    const bool found = IsRunTimeSized(graph_, code_.args[arg]);
    ENCORE_RETURN_IF_ERROR(EvaluateArg(arg, !found));
  }
  for (const SlotId slot : code_.slots) {
    if (StorageOf(graph_, slot) != slot ||
        IsRunTimeSized(graph_, graph_.slot(slot).bytes)) {
      continue;
    }
    ENCORE_RETURN_IF_ERROR(CheckMembers(slot));
    // Members have moved where offsets did.
    SetAddress(slot, addresses_[slot.value()]);
  }
  return AllocateOwned();
}

Status Frame::AllocateOwned() {
  for (size_t i = 0; i < owned_.size(); ++i) {
    const SlotId slot = code_.owned[i];
    const int64_t bytes = bytes_[slot.value()];
    Block& block = owned_[i];
    if (block.data == nullptr || block.bytes < bytes) {
      Device* device = PoolDevice(graph_.slot(slot).pool);
      if (block.data != nullptr) DeallocateOn(device, block.data, block.bytes);
      block = {};
      ENCORE_ASSIGN_OR_RETURN(block.data, AllocateOn(device, bytes));
      block.bytes = bytes;
    }
    SetAddress(slot, block.data);
  }
  return OkStatus();
}

void Frame::SetAddress(SlotId slot, void* address) {
  for (const uint32_t member : code_.members[slot]) {
    void* at = Offset(address, offsets_[member]);
    addresses_[member] = at;
    for (const uint32_t use : code_.uses[SlotId(member)]) table_[use] = at;
  }
}

void Frame::SetRunTimeBuffer(SlotId slot, void* data, int64_t capacity) {
  if (offered_.empty()) return;
  offered_[slot.value()] = {data, capacity, true};
}

int64_t Frame::warm_pool_misses() const {
  int64_t misses = 0;
  for (const auto& pool : warm_pools_) misses += pool->misses();
  return misses;
}

int64_t Frame::owned_bytes() const {
  int64_t bytes = 0;
  for (const Block& block : owned_) bytes += block.bytes;
  return bytes;
}

Status Frame::Synchronize() {
  if (!has_queues_) return OkStatus();
  Status first;
  for (const std::unique_ptr<Queue>& queue : queues_) {
    if (queue == nullptr) continue;
    Status status = queue->Synchronize();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace encore::runtime
