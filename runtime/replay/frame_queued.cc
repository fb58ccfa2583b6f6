// What a frame does with queues and recordings.
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/runtime/replay/frame.h"

namespace encore::runtime {

using Code = ReplayOp::Code;

Status Frame::Synchronize() {
  const Status status = queues_.Synchronize();
  return status.ok() ? status : QueueFault(UINT32_MAX, status);
}

Status Frame::Enqueue(DeviceId id, Queue& caller) {
  ThreadPool::Caller thread(*threads_);
  const NvtxRange range(nvtx_, replay_name_);
  const auto direct = EnqueueDirectly(id, caller);
  if (!direct.ok()) {
    // Nothing says that a part of it does not run.
    (void)caller.Synchronize();
    ENCORE_RETURN_IF_ERROR(Synchronize());
    return fault_ ? direct.status() : QueueFault(UINT32_MAX, direct.status());
  }
  if (*direct) return OkStatus();
  fault_.reset();  // of a recording that was given up
  Status status = queues_.Begin(id, caller);
  if (!status.ok()) return QueueFault(UINT32_MAX, status);
  status = LoopQueued();
  if (status.ok()) return queues_.End(id, caller);
  // An earlier replay may still be at work, and fail: that is worse.
  ENCORE_RETURN_IF_ERROR(Synchronize());
  return status;
}

StatusOr<bool> Frame::EnqueueDirectly(DeviceId id, Queue& caller) {
  const std::vector<ReplayCode::Stretch>& stretches = code_.stretches;
  if (stretches.empty() || stretches[0].device != id) return false;
  return recordings_.RunIn(caller, values());
}

Status Frame::StartTimer(const ReplayOp& op) {
  if (op.queue == 0 || op.code > Code::kMoveObject) return OkStatus();
  const Status status = queues_.queue(op.queue)->StartTimer();
  return status.ok() ? status : QueueFault(op.step, status);
}

StatusOr<int64_t> Frame::StopTimer(const ReplayOp& op) {
  const auto time = queues_.queue(op.queue)->StopTimer();
  if (!time.ok()) return QueueFault(op.step, time.status());
  return time->value_or(-1);
}

Status Frame::QueueFault(uint32_t step, const Status& status) {
  const std::optional<Queue::Fault> fault = queues_.fault();
  if (fault) {
    failed_origin_ = fault->origin;
    step = fault->tag;
  }
  return step < code_.steps.size() ? Fault(step, status) : status;
}

Status Frame::RunStretch(const ReplayOp& op, bool one_by_one, uint32_t* next) {
  StatusOr<bool> run = false;
  if (one_by_one) {
    if (const Status status = recordings_.StartEager(op.a); !status.ok()) {
      run = status;
    }
  } else {
    run = recordings_.Run(op.a, values());
  }
  if (!run.ok()) {
    return fault_ ? run.status() : QueueFault(op.step, run.status());
  }
  if (*run) {
    *next = op.b;
  } else {
    fault_.reset();  // of a recording that was given up
  }
  return OkStatus();
}

Status Frame::Submit(const ReplayOp& op, Queue& queue) {
  const Status status = op.code == Code::kDecide ? RecordDecision(op, queue)
                                                 : SubmitWork(op, queue);
  // That it wants another recording is no fault.
  return status.ok() || status.code() == StatusCode::kUnimplemented || fault_
             ? status
             : Fault(op.step, status);
}

Status Frame::SubmitWork(const ReplayOp& op, Queue& queue) {
  if (op.code != Code::kLaunch) return Copy(op, &queue);
  queue.set_tag(op.step);
  LaunchContext context;
  context.threads = threads_;
  context.failed_origin = &failed_origin_;
  context.buffers = table_.data() + op.a;
  context.sizes = sizes_.data() + op.a;
  context.args = args_.data() + op.b;
  context.queue = &queue;
  return op.kernel->Launch(context);
}

Status Frame::Copy(const ReplayOp& op, Queue* queue) {
  void* dst = table_[op.a];
  const void* src = table_[op.a + 1];
  const int64_t bytes = sizes_[op.a];
  if (queue != nullptr) queue->set_tag(op.step);
  if (op.staging != 0) {
    ENCORE_ASSIGN_OR_RETURN(void* staging,
                            queues_.Staging(op.staging - 1, bytes));
    if (op.code == Code::kCopyOut) {
      dst = staging;
    } else {
      src = staging;
    }
  }
  switch (op.code) {
    case Code::kCopyIn:
      return op.copier->CopyFromHost(dst, src, bytes, queue);
    case Code::kCopyOut:
      return op.copier->CopyToHost(dst, src, bytes, queue);
    case Code::kCopyWithin:
      return op.copier->CopyWithin(dst, src, bytes, queue);
    case Code::kCopyPeer:
      return op.copier->CopyFromPeer(dst, *code_.peers[op.c], src, bytes,
                                     queue);
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

}  // namespace encore::runtime
