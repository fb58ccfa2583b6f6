// Device and Kernel: where steps run. Backends implement both; the replayer
// knows nothing else of a backend.
//
// A Device has a pool of memory, copies to and from it, and loads kernel
// binaries into kernels. A Kernel is loaded once and launched any number of
// times, from several threads at once.
//
// Queues. A device without queues (all host devices) has done a launch or a
// copy when the call returns. On a device with queues a call that is given one
// only enqueues: work of a queue runs in its order, work of two queues in any
// order and at once, and none of it need have begun when the call returns.
// What a launch or copy reads or writes, host memory of a copy included, is in
// use from the call until the work is done; the arrays of a LaunchContext are
// not. Events order queues among each other and with the host. A call that is
// given no queue, though its device has some, is done when it returns and is in
// no order with what is enqueued.
//
// Faults. What fails at the call returns its error. What fails later makes its
// queue faulty: work behind it may be left out, and every later Synchronize of
// the queue, and of events recorded behind the fault, returns the first error.
// A queue that waits for such an event becomes faulty itself. Other queues go
// on, unless the device itself is lost.
#ifndef ENCORE_RUNTIME_DEVICE_DEVICE_H_
#define ENCORE_RUNTIME_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// A place in a queue: all work before it. Recorded again, it stands for the new
// place; what waits for the old one goes on doing so. Used by one thread at a
// time.
class Event {
 public:
  virtual ~Event() = default;
  // Returns once the work before the place is done, at once where the event was
  // never recorded. The first fault of that work.
  virtual Status Synchronize() = 0;
};

// An ordered stream of work on one device. Used by one thread at a time.
class Queue {
 public:
  // REQUIRES that the queue was synchronized after its last work.
  virtual ~Queue() = default;
  // Returns once all work enqueued so far is done. Its first fault.
  virtual Status Synchronize() = 0;
  // `event` is of the queue's device.
  virtual Status Record(Event& event) = 0;
  // What is enqueued from here on runs after the place that `event` stands for
  // at this call. The event is of a device that Device::WaitsFor accepts.
  virtual Status Wait(const Event& event) = 0;

  // What work takes by the device's own clock: StopTimer waits for the work
  // that was enqueued since StartTimer and returns nanoseconds. Nothing where
  // the device has no clock.
  virtual Status StartTimer() { return OkStatus(); }
  virtual StatusOr<std::optional<int64_t>> StopTimer() {
    return std::optional<int64_t>();
  }

  // A number for what is enqueued from here on, which a fault is reported with.
  void set_tag(uint32_t tag) { tag_ = tag; }
  uint32_t tag() const { return tag_; }

  struct Fault {
    uint32_t tag = 0;  // of the work that failed
    // As LaunchContext::failed_origin; UINT32_MAX where the kernel did not say.
    uint32_t origin = UINT32_MAX;
  };
  // Where the first fault of this queue's own work was; nothing where there is
  // none, or the device cannot tell.
  virtual std::optional<Fault> fault() const { return std::nullopt; }

 private:
  uint32_t tag_ = 0;
};

// In the place of a host object's size: a kernel that takes one asks for it,
// since whose plan it is launched by may not be known to be its own.
inline constexpr int64_t kHostObjectSize = -1;

// What a kernel gets at a launch. The arrays are valid for the call only, the
// memory that `buffers` names until the work is done.
struct LaunchContext {
  // Addresses of the step's reads, then its writes: memory of the device's
  // pool, HostObject* for host objects. Aligned to kAlignment, but for views
  // and the caller's own buffers, which are aligned to their element. A slot of
  // size 0 may have any address.
  void* const* buffers = nullptr;
  // Bytes behind each of `buffers`; kHostObjectSize for host objects.
  const int64_t* sizes = nullptr;
  // Values of the step's args.
  const int64_t* args = nullptr;
  ThreadPool* threads = nullptr;  // never null
  Queue* queue = nullptr;         // null where the device has none
  // Where a kernel of several nodes that fails before Launch returns says which
  // of them it was: an index into Step::origins. May be null; what is written
  // without an error says nothing.
  uint32_t* failed_origin = nullptr;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Runs (or enqueues) the kernel. Thread-safe; neither allocates nor locks on
  // the host; scratch memory comes as a write slot. A fault is returned, and
  // the written buffers are then undefined.
  virtual Status Launch(const LaunchContext& context) const = 0;
  // What a person should know of how it was loaded: which release of a library
  // computes it, or what stands in for that, and why. Empty where it is as it
  // was compiled.
  virtual std::string_view note() const { return {}; }
};

struct LoadRequest {
  const KernelBinary* binary = nullptr;
  std::span<const std::byte> artifact;  // empty where the binary has none
};

// Launches and copies of one device that were recorded and are done with one
// call. Used by one thread at a time.
class Recording {
 public:
  // REQUIRES that what Run enqueued is done.
  virtual ~Recording() = default;
  // Enqueues all of it, each part after those that it was recorded after, in
  // `queue`, any of the device: after what is there, and after earlier runs.
  virtual Status Run(Queue& queue) = 0;
  // A queue for one call, a launch or a copy, which is not enqueued but takes
  // the place of launch or copy `number`, counted from 0 in the order in which
  // they were recorded, in later runs. Unimplemented from that call says that
  // this wants another recording; this one is then not to be run any more.
  virtual Queue& Replace(uint32_t number) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  // The name that kernel binaries and DeviceInfo::backend carry.
  virtual std::string_view backend() const = 0;

  // Whether its kernels run on the host's processor, whatever memory they use.
  virtual bool runs_on_host() const = 0;

  // Memory of the pool, aligned to kAlignment, contents undefined. REQUIRES
  // bytes >= 0. ResourceExhausted where there is none. Thread-safe.
  virtual StatusOr<void*> Allocate(int64_t bytes) = 0;
  // Gives back what Allocate returned, with the same size. REQUIRES that no
  // work in a queue uses it. Thread-safe.
  virtual void Deallocate(void* data, int64_t bytes) = 0;

  // Copies between host memory and the pool, and within the pool: in `queue`,
  // or at once where that is null.
  virtual Status CopyFromHost(void* dst, const void* src, int64_t bytes,
                              Queue* queue) = 0;
  virtual Status CopyToHost(void* dst, const void* src, int64_t bytes,
                            Queue* queue) = 0;
  virtual Status CopyWithin(void* dst, const void* src, int64_t bytes,
                            Queue* queue) = 0;

  // A kernel per request, in order. Binaries that share an artifact get it
  // loaded once; what is loaded lives as long as one of the kernels. May use
  // `threads`. DataLoss says that a binary or an artifact is not what was
  // compiled, which no machine could load; nothing else says so. What this
  // machine, or this process, cannot do is FailedPrecondition (a CPU feature or
  // a library that is not there, or a library that cannot be loaded, with what
  // the dynamic linker says) or ResourceExhausted (memory): the same bytes may
  // load elsewhere, or later.
  virtual StatusOr<std::vector<std::unique_ptr<Kernel>>> Load(
      std::span<const LoadRequest> requests, ThreadPool* threads) = 0;

  // The most queues that are of use to one replayer; 0: the device has none. Of
  // 2 or more one is for copies, of 3 or more one for copies from the host and
  // one for copies to it.
  virtual int queue_count() const { return 0; }
  // REQUIRES queue_count() > 0. ResourceExhausted where there is no more.
  virtual StatusOr<std::unique_ptr<Queue>> NewQueue() {
    return UnimplementedError("the device has no queues");
  }
  virtual StatusOr<std::unique_ptr<Event>> NewEvent() {
    return UnimplementedError("the device has no queues");
  }

  // Whether work can be recorded.
  virtual bool records() const { return false; }
  // Until EndRecording, work in `queue` is recorded and not done, and so is
  // work in another queue of the device from where that waits for an event of a
  // queue that is being recorded. REQUIRES records(), and of these queues
  // nothing but launches, copies, Record, and Wait for events recorded
  // meanwhile.
  virtual Status BeginRecording(Queue& queue) {
    return UnimplementedError("the device records nothing");
  }
  // To be called of the same queue, and by the same thread, whatever failed in
  // between. REQUIRES of a success that `queue` waits for all others that take
  // part. What `replaced`, which may be null, has and fits is used again.
  virtual StatusOr<std::unique_ptr<Recording>> EndRecording(
      Queue& queue, std::unique_ptr<Recording> replaced) {
    return UnimplementedError("the device records nothing");
  }

  // Whether queues of this device can wait for events of `other`, which may be
  // this device. Where they cannot the host waits.
  virtual bool WaitsFor(const Device& other) const { return &other == this; }

  // Whether CopyFromPeer copies from the pool of `other`. What no device offers
  // is copied through host memory.
  virtual bool CopiesFrom(const Device& other) const { return false; }
  // REQUIRES CopiesFrom(from).
  virtual Status CopyFromPeer(void* dst, Device& from, const void* src,
                              int64_t bytes, Queue* queue) {
    return UnimplementedError("the device copies from no other");
  }

  // Host memory that copies of this device's queues are fast with (pinned),
  // aligned to kAlignment. ResourceExhausted where there is none. Thread-safe.
  virtual StatusOr<void*> AllocatePinned(int64_t bytes);
  virtual void DeallocatePinned(void* data, int64_t bytes);
};

// Host memory aligned to kAlignment; large blocks are aligned to 2 MiB and
// advised to huge pages. Null where there is none.
void* AllocateHost(int64_t bytes);
void DeallocateHost(void* data);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_DEVICE_DEVICE_H_
