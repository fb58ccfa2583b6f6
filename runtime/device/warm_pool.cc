#include "encore/runtime/device/warm_pool.h"

#include <bit>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/host_device.h"

namespace encore::runtime {

StatusOr<void*> AllocateOn(Device* device, int64_t bytes) {
  if (device != nullptr) return device->Allocate(bytes);
  void* data = AllocateHost(bytes);
  if (data == nullptr) {
    return ResourceExhaustedError(
        StrCat("no ", bytes, " bytes of host memory"));
  }
  return data;
}

void DeallocateOn(Device* device, void* data, int64_t bytes) {
  if (device != nullptr) {
    device->Deallocate(data, bytes);
  } else {
    DeallocateHost(data);
  }
}

WarmPool::~WarmPool() {
  for (int c = 0; c < kClasses; ++c) {
    for (void* data : free_[c]) DeallocateOn(device_, data, ClassBytes(c));
  }
}

int WarmPool::ClassOf(int64_t bytes) {
  if (bytes <= 64) return 0;
  return std::bit_width(static_cast<uint64_t>(bytes - 1)) - 6;
}

StatusOr<void*> WarmPool::Allocate(int64_t bytes) {
  const int size_class = ClassOf(bytes);
  if (bytes < 0 || size_class >= kClasses) {
    return ResourceExhaustedError(StrCat("a buffer of ", bytes, " bytes"));
  }
  std::vector<void*>& free = free_[size_class];
  if (!free.empty()) {
    void* data = free.back();
    free.pop_back();
    return data;
  }
  ++misses_;
  ENCORE_ASSIGN_OR_RETURN(void* data,
                          AllocateOn(device_, ClassBytes(size_class)));
  // So that giving it back never allocates.
  free.reserve(free.capacity() + 1);
  return data;
}

void WarmPool::Deallocate(void* data, int64_t bytes) {
  free_[ClassOf(bytes)].push_back(data);
}

}  // namespace encore::runtime
