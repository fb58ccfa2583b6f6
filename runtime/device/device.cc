#include "encore/runtime/device/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::runtime {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

void* AllocateHost(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX - kHugePage) return nullptr;
  if (bytes < 2 * kHugePage) {
    return std::aligned_alloc(kAlignment,
                              RoundUp(std::max<int64_t>(bytes, 1), kAlignment));
  }
  const int64_t rounded = RoundUp(bytes, kHugePage);
  void* data = std::aligned_alloc(kHugePage, rounded);
  if (data != nullptr) madvise(data, rounded, MADV_HUGEPAGE);
  return data;
}

void DeallocateHost(void* data) { std::free(data); }

StatusOr<void*> Device::AllocatePinned(int64_t bytes) {
  void* data = AllocateHost(bytes);
  if (data == nullptr) {
    return ResourceExhaustedError(
        StrCat("no ", bytes, " bytes of host memory for copies of device ",
               backend()));
  }
  return data;
}

void Device::DeallocatePinned(void* data, int64_t bytes) {
  DeallocateHost(data);
}

}  // namespace encore::runtime
