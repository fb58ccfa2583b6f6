// WarmPool: one pool's memory for allocations whose size is known only when a
// replay has come to them.
//
// Blocks given back are kept by size class (powers of two from 64 bytes) and
// served again without the device; a block is asked of the device only when its
// class is empty, which misses() counts. Belongs to one frame; not thread-safe.
#ifndef ENCORE_RUNTIME_DEVICE_WARM_POOL_H_
#define ENCORE_RUNTIME_DEVICE_WARM_POOL_H_

#include <array>
#include <cstdint>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::runtime {

class WarmPool {
 public:
  // Of `device`, which outlives the pool, or of host memory where it is null.
  explicit WarmPool(Device* device) : device_(device) {}
  ~WarmPool();
  WarmPool(const WarmPool&) = delete;
  WarmPool& operator=(const WarmPool&) = delete;

  // At least `bytes` bytes, aligned to kAlignment. ResourceExhausted where the
  // size is negative or there is no memory.
  StatusOr<void*> Allocate(int64_t bytes);
  // REQUIRES a block of Allocate(bytes) that is not free.
  void Deallocate(void* data, int64_t bytes);

  int64_t misses() const { return misses_; }

 private:
  static constexpr int kClasses = 48;

  static int ClassOf(int64_t bytes);
  static int64_t ClassBytes(int size_class) {
    return int64_t{64} << size_class;
  }

  Device* device_;
  std::array<std::vector<void*>, kClasses> free_;
  int64_t misses_ = 0;
};

// Memory of `device`, or of the host where that is null.
StatusOr<void*> AllocateOn(Device* device, int64_t bytes);
void DeallocateOn(Device* device, void* data, int64_t bytes);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_DEVICE_WARM_POOL_H_
