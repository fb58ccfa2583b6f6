#include "encore/backends/cuda/emulator/memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "encore/backends/cuda/emulator/address_map.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {

Status GlobalMemory::Add(std::span<const Allocation> allocations,
                         bool check_initialized) {
  for (const Allocation& allocation : allocations) {
    const uint64_t size = allocation.bytes.size();
    if (allocation.address == 0 || allocation.address % 256 != 0 ||
        allocation.address + size < size ||
        SpaceAt(allocation.address) != Space::kGlobal ||
        allocation.address + size > kSharedWindow) {
      return InvalidArgumentError(
          StrCat("allocation ", allocation.name,
                 " is at an address that is no multiple of 256 below the "
                 "windows of other spaces"));
    }
    Region region;
    region.address = allocation.address;
    region.bytes = allocation.bytes.data();
    region.size = size;
    region.read_only = allocation.read_only;
    region.name = allocation.name;
    region.shadow.Reset(size, check_initialized, allocation.initialized);
    regions_.push_back(std::move(region));
  }
  std::ranges::sort(regions_, {}, &Region::address);
  for (size_t i = 1; i < regions_.size(); ++i) {
    const Region& before = regions_[i - 1];
    if (before.address + before.size > regions_[i].address) {
      return InvalidArgumentError(StrCat("allocations ", before.name, " and ",
                                         regions_[i].name, " overlap"));
    }
  }
  return OkStatus();
}

Region* GlobalMemory::Find(uint64_t at) {
  if (last_ < regions_.size() && regions_[last_].Contains(at, 1)) {
    return &regions_[last_];
  }
  const auto next =
      std::ranges::upper_bound(regions_, at, {}, &Region::address);
  if (next == regions_.begin() || !std::prev(next)->Contains(at, 1)) {
    return nullptr;
  }
  last_ = static_cast<size_t>(std::prev(next) - regions_.begin());
  return &regions_[last_];
}

const Region* GlobalMemory::Before(uint64_t at) const {
  const auto next =
      std::ranges::upper_bound(regions_, at, {}, &Region::address);
  return next == regions_.begin() ? nullptr : &*std::prev(next);
}

}  // namespace encore::ptx
