// FrameQueues: the queues, events and staging buffers of one frame.
//
// Belongs to one thread at a time. What is enqueued uses memory of the frame
// and of the caller: Synchronize before any of it is given back.
#ifndef ENCORE_RUNTIME_REPLAY_FRAME_QUEUES_H_
#define ENCORE_RUNTIME_REPLAY_FRAME_QUEUES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

class FrameQueues {
 public:
  // Both outlive this.
  FrameQueues(const ReplayCode& code,
              std::span<const std::shared_ptr<Device>> devices)
      : code_(code), devices_(devices) {}
  // Waits for what is in the queues.
  ~FrameQueues();
  FrameQueues(const FrameQueues&) = delete;
  FrameQueues& operator=(const FrameQueues&) = delete;

  // To be called once, first.
  Status Init();

  // Queue `number` of the code; null for 0.
  Queue* queue(uint16_t number) const { return queues_[number].get(); }

  // kRecord, kWait and kHostWait.
  Status Order(const ReplayOp& op);
  // Event `event` of the code's in queue `number`.
  Status Record(uint16_t number, uint32_t event) {
    return queues_[number]->Record(*events_[event]);
  }
  Status Wait(uint16_t number, uint32_t event) {
    return queues_[number]->Wait(*events_[event]);
  }

  // Staging buffer `number`, of at least `bytes` bytes: pinned, or, where there
  // is no more of that, any host memory, which copies take longer with.
  StatusOr<void*> Staging(uint32_t number, int64_t bytes);

  // Waits for all queues; the first fault of one.
  Status Synchronize();
  // Where it was, if a device can tell.
  std::optional<Queue::Fault> fault() const;

  // Work that is enqueued between the two runs after what is in `caller`, a
  // queue of device `id`, when Begin is called and after work of an earlier
  // pair; what is enqueued in `caller` after End runs after it.
  Status Begin(DeviceId id, Queue& caller);
  Status End(DeviceId id, Queue& caller);
  // The same where all work is one run of a recording in `caller`; `ordered`:
  // it is to come after the pair before, of another recording.
  Status BeginDirectly(DeviceId id, Queue& caller, bool ordered);
  Status EndDirectly(Queue& caller);
  // Whether there may be work that Synchronize has not waited for.
  bool in_flight() const { return in_flight_; }

 private:
  struct Buffer {
    void* data = nullptr;
    int64_t bytes = 0;
    bool pinned = false;
  };

  void Free(Device& device, Buffer* buffer);
  const Device& DeviceOf(DeviceId id) const { return *devices_[id.value()]; }
  // Makes `queue`, of device `waiter`, wait for `event`, of device `recorder`:
  // or the host.
  Status Wait(DeviceId waiter, Queue& queue, DeviceId recorder, Event& event);

  const ReplayCode& code_;
  const std::span<const std::shared_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Queue>> queues_;  // as the code's
  std::vector<std::unique_ptr<Event>> events_;  // as the code's
  std::vector<std::unique_ptr<Event>> ends_;    // by queue: of its last work
  // By device: what was in the caller's queue.
  std::vector<std::unique_ptr<Event>> begins_;
  std::vector<Buffer> staging_;
  bool in_flight_ = false;
  // Of the last run in a caller's queue; whether it may be what is in flight.
  std::unique_ptr<Event> direct_;
  bool is_direct_ = false;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_FRAME_QUEUES_H_
