// The replay loop of Frame.
#include <cstring>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/replay/frame.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

}  // namespace

Status Frame::Run(Profiler* profiler) {
  ThreadPool::Caller caller(*threads_);
  const Status status =
      profiler == nullptr ? Loop<false>(nullptr) : Loop<true>(profiler);
  const Status synchronized = Synchronize();
  return status.ok() ? synchronized : status;
}

Status Frame::Fault(const ReplayOp& op, const Status& status) {
  const ReplayCode::StepRef& at = code_.steps[op.step];
  fault_ = at;
  const Step& step = graph_.plan(at.plan).steps[at.step];
  return Annotate(status, StrCat("plan ", at.plan.value(), " step ", at.step,
                                 " (", StepName(graph_, step), ")"));
}

// kProfiled is a template argument so that replays without a profiler carry no
// trace of it.
template <bool kProfiled>
Status Frame::Loop(Profiler* profiler) {
  if constexpr (kProfiled) profiler->StartReplay();
  LaunchContext context;
  context.threads = threads_;
  uint32_t next = 0;
  for (;;) {
    const ReplayOp& op = code_.ops[next];
    int64_t begin = 0;
    if constexpr (kProfiled) begin = profiler->Now();
    ++next;
    if (op.code == Code::kLaunch) {
      context.buffers = table_.data() + op.a;
      context.sizes = sizes_.data() + op.a;
      context.args = args_.data() + op.b;
      context.queue = queues_[op.device].get();
      if (const Status status = op.kernel->Launch(context); !status.ok()) {
        return Fault(op, status);
      }
    } else if (op.code == Code::kCopyHost) {
      if (sizes_[op.a] > 0) {
        std::memmove(table_[op.a], table_[op.a + 1], sizes_[op.a]);
      }
    } else if (op.code == Code::kEnd) {
      return OkStatus();
    } else if (const Status status = Execute(op, &next); !status.ok()) {
      return Fault(op, status);
    }
    if constexpr (kProfiled) {
      if (op.code > Code::kMoveObject) continue;
      ENCORE_RETURN_IF_ERROR(Synchronize());
      const ReplayCode::StepRef& at = code_.steps[op.step];
      profiler->Add(at.plan, at.step, begin, profiler->Now());
    }
  }
}

Status Frame::Execute(const ReplayOp& op, uint32_t* next) {
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
    default:
      return Copy(op);
  }
}

Status Frame::Copy(const ReplayOp& op) {
  void* dst = table_[op.a];
  const void* src = table_[op.a + 1];
  const int64_t bytes = sizes_[op.a];
  Queue* queue = queues_.empty() ? nullptr : queues_[op.device].get();
  switch (op.code) {
    case Code::kCopyIn:
      return op.copier->CopyFromHost(dst, src, bytes, queue);
    case Code::kCopyOut:
      return op.copier->CopyToHost(dst, src, bytes, queue);
    case Code::kCopyWithin:
      return op.copier->CopyWithin(dst, src, bytes, queue);
    case Code::kMoveObject: {
      Literal& moved = static_cast<HostObject*>(table_[op.a + 1])->value;
      std::swap(static_cast<HostObject*>(dst)->value, moved);
      moved = empty_[op.c];
      return OkStatus();
    }
    default:
      *static_cast<HostObject*>(dst) = *static_cast<const HostObject*>(src);
      return OkStatus();
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

Status Frame::ReadSymbol(const ReplayOp& op) {
  ENCORE_RETURN_IF_ERROR(Synchronize());
  const SymbolInfo& info = graph_.symbols[op.a];
  int64_t value;
  std::memcpy(&value, static_cast<const int64_t*>(table_[op.b]) + info.element,
              sizeof(value));
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
  ENCORE_RETURN_IF_ERROR(Synchronize());
  const void* data = table_[op.a];
  if (op.selector_type == DType::kI32) {
    int32_t value;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  if (op.selector_type == DType::kI64) {
    int64_t value;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  return *static_cast<const uint8_t*>(data) != 0;
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
      return InvalidArgumentError(StrCat(trips, " trips are not what slot ",
                                         scanned.stacked.value(), " holds"));
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
    for (const uint32_t use : code_.uses[scanned.slice]) table_[use] = whole;
  }
}

}  // namespace encore::runtime
