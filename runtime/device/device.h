// Device and Kernel: where steps run. Backends implement both; the replayer
// knows nothing else of a backend.
//
// A Device has a pool of memory, copies to and from it, and loads kernels into
// kernels. A Kernel is loaded once and launched any number of times, from
// several threads at once.
#ifndef ENCORE_RUNTIME_DEVICE_DEVICE_H_
#define ENCORE_RUNTIME_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// An ordered stream of work of one replayer on one device. Devices that work
// before Launch returns (all host devices) have none.
class Queue {
 public:
  virtual ~Queue() = default;
  // Waits for all work enqueued so far and reports its first fault.
  virtual Status Synchronize() = 0;
};

// What a kernel gets at a launch. All pointers are valid for the call only.
struct LaunchContext {
  // Addresses of the step's reads, then its writes: memory of the device's
  // pool, HostObject* for host objects. Aligned to kAlignment, but for views
  // and the caller's own buffers, which are aligned to their element. A slot of
  // size 0 may have any address.
  void* const* buffers = nullptr;
  // Bytes behind each of `buffers`; 0 for host objects.
  const int64_t* sizes = nullptr;
  // Values of the step's args.
  const int64_t* args = nullptr;
  ThreadPool* threads = nullptr;  // never null
  Queue* queue = nullptr;         // null where the device has none
  // Where a kernel of several nodes that fails says which of them it was: an
  // index into Step::origins. May be null; what is written without an error
  // says nothing.
  uint32_t* failed_origin = nullptr;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Runs (or enqueues) the kernel. Thread-safe; neither allocates nor locks on
  // the host; scratch memory comes as a write slot. A fault is returned, and
  // the written buffers are then undefined.
  virtual Status Launch(const LaunchContext& context) const = 0;
};

struct LoadRequest {
  const KernelBinary* binary = nullptr;
  std::span<const std::byte> artifact;  // empty where the binary has none
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
  // Gives back what Allocate returned, with the same size. Thread-safe.
  virtual void Deallocate(void* data, int64_t bytes) = 0;

  // Copies between host memory and the pool, and within the pool; in the order
  // of `queue` where that is not null. CopyToHost is complete after
  // queue->Synchronize().
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

  // A new queue, or null for devices without.
  virtual StatusOr<std::unique_ptr<Queue>> NewQueue() { return nullptr; }
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_DEVICE_DEVICE_H_
