#include "encore/runtime/replay/frame.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/replay/flatten_plan.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

void* Offset(void* base, int64_t offset) {
  return base == nullptr ? nullptr : static_cast<std::byte*>(base) + offset;
}

// In the place of an NvtxRange where nothing is named.
struct NoRange {
  NoRange(const Nvtx*, Nvtx::Name) {}
};

template <typename T>
T Load(const void* data, uint32_t i = 0) {
  T value;
  std::memcpy(&value, static_cast<const T*>(data) + i, sizeof(value));
  return value;
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
      owned_(code.owned.size()),
      queues_(code, devices),
      recordings_(code, devices, &queues_,
                  [this](const ReplayOp& op, Queue& queue) {
                    return Submit(op, queue);
                  }) {
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
  if (nvtx_ != nullptr) NameSteps();
}

Frame::~Frame() {
  (void)queues_.Synchronize();  // queued work may still use the memory
  for (size_t i = 0; i < owned_.size(); ++i) {
    if (owned_[i].data == nullptr) continue;
    DeallocateOn(PoolDevice(graph_.slot(code_.owned[i]).pool), owned_[i].data,
                 owned_[i].bytes);
  }
  for (uint32_t s = 0; s < run_time_.size(); ++s) {
    DeallocateRunTime(SlotId(s), graph_.slots[s].pool);
  }
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
  if (slot.is_host_object()) bytes = kHostObjectSize;
  for (const uint32_t use : code_.uses[id]) {
    if (sizes_[use] != *bytes) ++version_;
    sizes_[use] = *bytes;
  }
  return OkStatus();
}

Status Frame::EvaluateArg(uint32_t arg, bool whole) {
  const std::optional<int64_t> value = code_.args[arg].Evaluate(symbols_);
  if (!value && whole) {
    return InvalidArgumentError(
        StrCat("an extent has no value under these input shapes: ",
               code_.args[arg].ToString()));
  }
  if (args_[arg] != value.value_or(0)) ++version_;
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
      // An earlier replay may still use it.
      if (queues_.in_flight()) ENCORE_RETURN_IF_ERROR(Synchronize());
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
    for (const uint32_t use : code_.uses[SlotId(member)]) SetEntry(use, at);
  }
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

Status Frame::Run(Profiler* profiler) {
  ThreadPool::Caller caller(*threads_);
  const NvtxRange range(nvtx_, replay_name_);
  const bool queued = code_.queues.size() > 1;
  const Status status = profiler != nullptr ? Loop<true, true>(profiler)
                        : nvtx_ != nullptr  ? Loop<false, true, true>(nullptr)
                        : queued            ? Loop<false, true>(nullptr)
                                            : Loop<false, false>(nullptr);
  if (!queued) return status;
  const Status synchronized = Synchronize();
  return status.ok() ? synchronized : status;
}

Status Frame::Fault(uint32_t step, const Status& status) {
  if (status.code() == StatusCode::kCancelled) return status;
  const ReplayCode::StepRef& at = code_.steps[step];
  fault_ = at;
  const Step& named = graph_.plan(at.plan).steps[at.step];
  return Annotate(status, StrCat("plan ", at.plan.value(), " step ", at.step,
                                 " (", StepName(graph_, named), ")"));
}

std::optional<uint32_t> Frame::failed_origin() const {
  if (!fault_) return std::nullopt;
  const Step& step = graph_.plan(fault_->plan).steps[fault_->step];
  if (failed_origin_ >= step.origins.size()) return std::nullopt;
  return failed_origin_;
}

// Template arguments, so that replays without a profiler, names or queues carry
// no trace of them.
template <bool kProfiled, bool kQueued, bool kNamed>
Status Frame::Loop(Profiler* profiler) {
  if constexpr (kProfiled) profiler->StartReplay();
  LaunchContext context;
  context.threads = threads_;
  context.failed_origin = &failed_origin_;
  uint32_t next = 0;
  for (;;) {
    if (cancelled_.load(std::memory_order_relaxed)) [[unlikely]] {
      cancelled_.store(false, std::memory_order_relaxed);
      return CancelledError("the replay was cancelled");
    }
    const ReplayOp& op = code_.ops[next];
    [[maybe_unused]] const std::conditional_t<kNamed, NvtxRange, NoRange> range(
        nvtx_, kNamed ? NameOf(op) : nullptr);
    int64_t begin = 0;
    if constexpr (kProfiled) {
      ENCORE_RETURN_IF_ERROR(StartTimer(op));
      begin = profiler->Now();
    }
    ++next;
    if (op.code == Code::kLaunch) {
      context.buffers = table_.data() + op.a;
      context.sizes = sizes_.data() + op.a;
      context.args = args_.data() + op.b;
      if constexpr (kQueued) {
        context.queue = queues_.queue(op.queue);
        if (context.queue != nullptr) context.queue->set_tag(op.step);
      }
      if (const Status status = op.kernel->Launch(context); !status.ok()) {
        return Fault(op.step, status);
      }
    } else if (op.code == Code::kCopyHost) {
      if (sizes_[op.a] > 0 && table_[op.a] != table_[op.a + 1]) {
        std::memmove(table_[op.a], table_[op.a + 1], sizes_[op.a]);
      }
    } else if (op.code == Code::kEnd) {
      return OkStatus();
    } else if (op.code == Code::kStretch) {
      ENCORE_RETURN_IF_ERROR(RunStretch(op, kProfiled, &next));
    } else if (const Status status = Execute(op, &next); !status.ok()) {
      return status;
    }
    if constexpr (kProfiled) {
      const bool waits = op.code == Code::kWait || op.code == Code::kHostWait;
      if (op.code > Code::kMoveObject && !waits) continue;
      int64_t device_ns = -1;
      // One step at a time, so that each is measured by itself.
      if (!waits && op.queue != 0) {
        ENCORE_ASSIGN_OR_RETURN(device_ns, StopTimer(op));
        ENCORE_RETURN_IF_ERROR(Synchronize());
      }
      const ReplayCode::StepRef& at = code_.steps[op.step];
      profiler->Add({at.plan, at.step, op.queue, waits}, begin, profiler->Now(),
                    device_ns);
    }
  }
}

Status Frame::LoopQueued() {
  return nvtx_ != nullptr ? Loop<false, true, true>(nullptr)
                          : Loop<false, true>(nullptr);
}

void Frame::NameSteps() {
  replay_name_ = nvtx_->Register("replay");
  for (const ReplayCode::StepRef& at : code_.steps) {
    const Step& step = graph_.plan(at.plan).steps[at.step];
    std::string name = StepName(graph_, step);
    for (const uint32_t origin : step.origins) StrAppend(&name, " #", origin);
    step_names_.push_back(nvtx_->Register(name));
  }
  for (const ReplayCode::Stretch& stretch : code_.stretches) {
    stretch_names_.push_back(
        nvtx_->Register(StrCat(stretch.works.size(), " launches and copies")));
  }
}

Nvtx::Name Frame::NameOf(const ReplayOp& op) const {
  if (op.code == Code::kStretch) return stretch_names_[op.a];
  const bool is_step = op.code != Code::kEnd && op.code <= Code::kDeallocate;
  return is_step ? step_names_[op.step] : nullptr;
}

Status Frame::Execute(const ReplayOp& op, uint32_t* next) {
  if (op.code >= Code::kRecord) {
    const Status status = queues_.Order(op);
    return status.ok() ? status : QueueFault(op.step, status);
  }
  const Status status = Perform(op, next);
  return status.ok() || fault_ ? status : Fault(op.step, status);
}

Status Frame::Perform(const ReplayOp& op, uint32_t* next) {
  switch (op.code) {
    case Code::kAllocate:
      return AllocateRunTime(op);
    case Code::kDeallocate:
      DeallocateRunTime(SlotId(op.a), PoolId(op.b));
      return OkStatus();
    case Code::kReadSymbol:
      return ReadSymbol(op);
    case Code::kSelect:
      return Select(op, next);
    case Code::kJumpIfFalse: {
      ENCORE_ASSIGN_OR_RETURN(const int64_t value, ReadSelector(op));
      if (value == 0) *next = op.b;
      return OkStatus();
    }
    case Code::kJump:
      *next = op.b;
      return OkStatus();
    case Code::kLoopStart:
      return StartLoop(op);
    case Code::kLoopTest: {
      const ReplayCode::Loop& loop = code_.loops[op.a];
      if (trips_[op.a] >= args_[loop.trips_arg]) {
        *next = op.b;
      } else {
        SetElements(loop, trips_[op.a]);
      }
      return OkStatus();
    }
    case Code::kLoopNext:
      ++trips_[op.a];
      *next = op.b;
      return OkStatus();
    case Code::kDecide:
      return Decide(op, *queues_.queue(op.queue));
    default:
      return Copy(op, queues_.queue(op.queue));
  }
}

Status Frame::AllocateRunTime(const ReplayOp& op) {
  const SlotId slot(op.a);
  const int64_t bytes = args_[op.c];
  // What an earlier trip or replay left.
  DeallocateRunTime(slot, PoolId(op.b));
  Block& block = run_time_[op.a];
  if (const Block& offered = offered_[op.a]; offered.data != nullptr) {
    if (bytes > offered.bytes) {
      return InvalidArgumentError(StrCat("the output takes ", bytes,
                                         " bytes, its buffer has ",
                                         offered.bytes));
    }
    block = offered;
  } else {
    ENCORE_ASSIGN_OR_RETURN(block.data, warm_pools_[op.b]->Allocate(bytes));
    block.bytes = bytes;
  }
  ENCORE_RETURN_IF_ERROR(CheckMembers(slot));
  SetAddress(slot, block.data);
  return OkStatus();
}

void Frame::DeallocateRunTime(SlotId slot, PoolId pool) {
  Block& block = run_time_[slot.value()];
  if (block.data != nullptr && !block.external) {
    warm_pools_[pool.value()]->Deallocate(block.data, block.bytes);
  }
  block = {};
}

StatusOr<const void*> Frame::HostAddress(const ReplayOp& op, uint32_t entry) {
  if (op.staging == 0) return table_[entry];
  return queues_.Staging(op.staging - 1, sizes_[entry]);
}

Status Frame::ReadSymbol(const ReplayOp& op) {
  const SymbolInfo& info = graph_.symbols[op.a];
  ENCORE_ASSIGN_OR_RETURN(const void* data, HostAddress(op, op.b));
  const auto value = Load<int64_t>(data, info.element);
  if (value < info.lower || value > info.upper) {
    if (!info.message.empty()) return OutOfRangeError(info.message);
    return OutOfRangeError(StrCat("symbol ", op.a, " became ", value,
                                  ", outside [", info.lower, ", ", info.upper,
                                  "]"));
  }
  symbols_[op.a] = value;
  const ReplayCode::Dependents& dependents = code_.dependents[op.a];
  for (const auto& [arg, whole] : dependents.args) {
    ENCORE_RETURN_IF_ERROR(EvaluateArg(arg, whole));
  }
  for (const auto& [slot, whole] : dependents.slots) {
    ENCORE_RETURN_IF_ERROR(EvaluateSlot(slot, whole));
    const SlotId storage = StorageOf(graph_, slot);
    // Memory of run-time size is checked and set by its Allocate.
    if (IsRunTimeSized(graph_, graph_.slot(storage).bytes)) continue;
    ENCORE_RETURN_IF_ERROR(CheckMembers(storage));
    SetAddress(storage, address(storage));
  }
  return OkStatus();
}

StatusOr<int64_t> Frame::ReadSelector(const ReplayOp& op) {
  ENCORE_ASSIGN_OR_RETURN(const void* data, HostAddress(op, op.a));
  if (op.selector_type == DType::kI32) return Load<int32_t>(data);
  if (op.selector_type == DType::kI64) return Load<int64_t>(data);
  return Load<uint8_t>(data) != 0;
}

Status Frame::Select(const ReplayOp& op, uint32_t* next) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t value, ReadSelector(op));
  if (value < 0 || value >= op.c) {
    return OutOfRangeError(
        StrCat("the selector is ", value, " for ", op.c, " branches"));
  }
  *next = code_.targets[op.b + value];
  return OkStatus();
}

Status Frame::StartLoop(const ReplayOp& op) {
  const ReplayCode::Loop& loop = code_.loops[op.a];
  const int64_t trips = args_[loop.trips_arg];
  trips_[op.a] = 0;
  for (const Invoke::StackedOperand& scanned : loop.scanned) {
    int64_t total;
    if (__builtin_mul_overflow(bytes(scanned.slice), trips, &total) ||
        total != bytes(scanned.stacked)) {
      return InvalidArgumentError(StrCat(trips,
                                         " trips do not fit the size of slot ",
                                         scanned.stacked.value()));
    }
  }
  return OkStatus();
}

void Frame::SetElements(const ReplayCode::Loop& loop, int64_t trip) {
  for (const Invoke::StackedOperand& scanned : loop.scanned) {
    const int64_t part =
        scanned.reversed ? args_[loop.trips_arg] - 1 - trip : trip;
    auto* whole = static_cast<std::byte*>(address(scanned.stacked));
    if (whole != nullptr) whole += part * bytes(scanned.slice);
    addresses_[scanned.slice.value()] = whole;
    for (const uint32_t use : code_.uses[scanned.slice]) SetEntry(use, whole);
  }
}

}  // namespace encore::runtime
