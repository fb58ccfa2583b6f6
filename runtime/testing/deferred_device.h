// DeferredDevice: a device with queues that does everything as late as it may,
// in an order that a seed decides, with the kernels of another device.
//
// Work is done only when somebody waits for it: then what it needs, and now and
// then, as the seed says, something else that is ready. Its memory is
// GuardedMemory: the host cannot touch it, what was not written is poison, and
// work that uses what was given back fails. A call, or work when its turn
// comes, can be made to fail. So what waits too little computes wrong results,
// or fails, under some seed. It may record work, too.
#ifndef ENCORE_RUNTIME_TESTING_DEFERRED_DEVICE_H_
#define ENCORE_RUNTIME_TESTING_DEFERRED_DEVICE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/testing/guarded_memory.h"

namespace encore::runtime {

// The work of any number of deferred devices, whose queues wait for each
// other's events. Devices may be used by several threads.
class DeferredWork;
std::shared_ptr<DeferredWork> NewDeferredWork(uint32_t seed);

struct DeferredOptions {
  std::string backend;  // as kernel binaries and DeviceInfo say
  int queues = 4;
  // Whether it copies from other deferred devices by itself.
  bool peers = false;
  // Whether work can be recorded; what was is done in any order that its waits
  // allow.
  bool records = false;
};

class DeferredDevice : public Device {
 public:
  // `kernels` loads the kernels; its memory is not used.
  DeferredDevice(std::shared_ptr<Device> kernels,
                 std::shared_ptr<DeferredWork> work, DeferredOptions options);

  // From now on the k-th call (from 0) that may fail does, of Allocate, copies,
  // launches, NewQueue, NewEvent, Record and Wait; -1: none.
  void FailCall(int64_t k);
  // The same of launches and copies when their turn comes.
  void FailWork(int64_t k);
  // How many there were of either since then.
  int64_t calls() const;
  int64_t works() const;

  int64_t live_blocks() const { return memory_.live_blocks(); }

  std::string_view backend() const override { return options_.backend; }
  bool runs_on_host() const override { return kernels_->runs_on_host(); }
  StatusOr<void*> Allocate(int64_t bytes) override;
  void Deallocate(void* data, int64_t bytes) override;
  Status CopyFromHost(void* dst, const void* src, int64_t bytes,
                      Queue* queue) override;
  Status CopyToHost(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override;
  Status CopyWithin(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override;
  Status CopyFromPeer(void* dst, Device& from, const void* src, int64_t bytes,
                      Queue* queue) override;
  StatusOr<std::vector<std::unique_ptr<Kernel>>> Load(
      std::span<const LoadRequest> requests, ThreadPool* threads) override;
  int queue_count() const override { return options_.queues; }
  StatusOr<std::unique_ptr<Queue>> NewQueue() override;
  StatusOr<std::unique_ptr<Event>> NewEvent() override;
  bool records() const override { return options_.records; }
  Status BeginRecording(Queue& queue) override;
  StatusOr<std::unique_ptr<Recording>> EndRecording(
      Queue& queue, std::unique_ptr<Recording> replaced) override;
  bool WaitsFor(const Device& other) const override;
  bool CopiesFrom(const Device& other) const override;

  // For its kernels and queues.
  const GuardedMemory& memory() const { return memory_; }
  Status CountCall();
  Status CountWork();

 private:
  struct Failure {
    int64_t count = 0, at = -1;
  };

  const std::shared_ptr<Device> kernels_;
  const std::shared_ptr<DeferredWork> work_;
  const DeferredOptions options_;
  GuardedMemory memory_;
  mutable std::mutex mutex_;
  Failure call_, work_item_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_DEFERRED_DEVICE_H_
