#include "encore/runtime/device/host_device.h"

#include <cstring>

#include "encore/ir/support/strings.h"

namespace encore::runtime {
namespace {

Status CopyBytes(void* dst, const void* src, int64_t bytes) {
  if (bytes > 0 && dst != src) std::memmove(dst, src, bytes);
  return OkStatus();
}

}  // namespace

StatusOr<void*> HostDevice::Allocate(int64_t bytes) {
  void* data = AllocateHost(bytes);
  if (data == nullptr) {
    return ResourceExhaustedError(
        StrCat("no ", bytes, " bytes of host memory for device ", backend_));
  }
  return data;
}

void HostDevice::Deallocate(void* data, int64_t bytes) { DeallocateHost(data); }

Status HostDevice::CopyFromHost(void* dst, const void* src, int64_t bytes,
                                Queue* queue) {
  return CopyBytes(dst, src, bytes);
}

Status HostDevice::CopyToHost(void* dst, const void* src, int64_t bytes,
                              Queue* queue) {
  return CopyBytes(dst, src, bytes);
}

Status HostDevice::CopyWithin(void* dst, const void* src, int64_t bytes,
                              Queue* queue) {
  return CopyBytes(dst, src, bytes);
}

}  // namespace encore::runtime
