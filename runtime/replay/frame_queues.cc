#include "encore/runtime/replay/frame_queues.h"

#include <utility>

#include "encore/ir/support/status_macros.h"

namespace encore::runtime {

FrameQueues::~FrameQueues() {
  (void)Synchronize();
  for (size_t i = 0; i < staging_.size(); ++i) {
    Free(*devices_[code_.staging[i].device.value()], &staging_[i]);
  }
}

void FrameQueues::Free(Device& device, Buffer* buffer) {
  if (buffer->data == nullptr) return;
  if (buffer->pinned) {
    device.DeallocatePinned(buffer->data, buffer->bytes);
  } else {
    DeallocateHost(buffer->data);
  }
  *buffer = {};
}

Status FrameQueues::Init() {
  staging_.resize(code_.staging.size());
  queues_.resize(1);
  ends_.resize(1);
  begins_.resize(devices_.size());
  for (size_t q = 1; q < code_.queues.size(); ++q) {
    Device& device = *devices_[code_.queues[q].value()];
    ENCORE_ASSIGN_OR_RETURN(auto queue, device.NewQueue());
    queues_.push_back(std::move(queue));
    ENCORE_ASSIGN_OR_RETURN(auto event, device.NewEvent());
    ends_.push_back(std::move(event));
  }
  for (const DeviceId id : code_.events) {
    ENCORE_ASSIGN_OR_RETURN(auto event, devices_[id.value()]->NewEvent());
    events_.push_back(std::move(event));
  }
  return OkStatus();
}

Status FrameQueues::Order(const ReplayOp& op) {
  Event& event = *events_[op.a];
  switch (op.code) {
    case ReplayOp::Code::kRecord:
      return queues_[op.queue]->Record(event);
    case ReplayOp::Code::kWait:
      return queues_[op.queue]->Wait(event);
    default:
      return event.Synchronize();
  }
}

StatusOr<void*> FrameQueues::Staging(uint32_t number, int64_t bytes) {
  Buffer& buffer = staging_[number];
  if (buffer.data != nullptr && buffer.bytes >= bytes) return buffer.data;
  Device& device = *devices_[code_.staging[number].device.value()];
  if (buffer.data != nullptr) {
    // Work in a queue may still use it.
    ENCORE_RETURN_IF_ERROR(Synchronize());
    Free(device, &buffer);
  }
  const auto pinned = device.AllocatePinned(bytes);
  void* data = nullptr;
  if (pinned.ok()) {
    data = *pinned;
  } else if (pinned.status().code() == StatusCode::kResourceExhausted) {
    data = AllocateHost(bytes);
  }
  if (data == nullptr) return pinned.status();
  buffer = {data, bytes, pinned.ok()};
  return data;
}

Status FrameQueues::Synchronize() {
  Status first;
  if (is_direct_) first = direct_->Synchronize();
  is_direct_ = false;
  for (const std::unique_ptr<Queue>& queue : queues_) {
    if (queue == nullptr) continue;
    Status status = queue->Synchronize();
    // Others may be faulty for having waited for the one that failed.
    if (first.ok() || (!status.ok() && queue->fault())) {
      first = std::move(status);
    }
  }
  in_flight_ = false;
  return first;
}

std::optional<Queue::Fault> FrameQueues::fault() const {
  for (const std::unique_ptr<Queue>& queue : queues_) {
    if (queue != nullptr && queue->fault()) return queue->fault();
  }
  return std::nullopt;
}

Status FrameQueues::Wait(DeviceId waiter, Queue& queue, DeviceId recorder,
                         Event& event) {
  if (DeviceOf(waiter).WaitsFor(DeviceOf(recorder))) return queue.Wait(event);
  return event.Synchronize();
}

Status FrameQueues::BeginDirectly(DeviceId id, Queue& caller, bool ordered) {
  if (direct_ == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(direct_, devices_[id.value()]->NewEvent());
  }
  if (in_flight_ && !is_direct_) {
    for (size_t q = 1; q < queues_.size(); ++q) {
      ENCORE_RETURN_IF_ERROR(Wait(id, caller, code_.queues[q], *ends_[q]));
    }
  } else if (in_flight_ && ordered) {
    ENCORE_RETURN_IF_ERROR(caller.Wait(*direct_));
  }
  in_flight_ = true;
  return OkStatus();
}

Status FrameQueues::EndDirectly(Queue& caller) {
  ENCORE_RETURN_IF_ERROR(caller.Record(*direct_));
  is_direct_ = true;
  return OkStatus();
}

Status FrameQueues::Begin(DeviceId id, Queue& caller) {
  if (is_direct_) ENCORE_RETURN_IF_ERROR(Synchronize());
  std::unique_ptr<Event>& begin = begins_[id.value()];
  if (begin == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(begin, devices_[id.value()]->NewEvent());
  }
  ENCORE_RETURN_IF_ERROR(caller.Record(*begin));
  if (code_.host_works) {
    ENCORE_RETURN_IF_ERROR(begin->Synchronize());
    return Synchronize();
  }
  for (size_t q = 1; q < queues_.size(); ++q) {
    ENCORE_RETURN_IF_ERROR(Wait(code_.queues[q], *queues_[q], id, *begin));
    for (size_t other = 1; in_flight_ && other < queues_.size(); ++other) {
      if (other == q) continue;
      ENCORE_RETURN_IF_ERROR(Wait(code_.queues[q], *queues_[q],
                                  code_.queues[other], *ends_[other]));
    }
  }
  return OkStatus();
}

Status FrameQueues::End(DeviceId id, Queue& caller) {
  in_flight_ = true;
  for (size_t q = 1; q < queues_.size(); ++q) {
    ENCORE_RETURN_IF_ERROR(queues_[q]->Record(*ends_[q]));
    ENCORE_RETURN_IF_ERROR(Wait(id, caller, code_.queues[q], *ends_[q]));
  }
  return OkStatus();
}

}  // namespace encore::runtime
