#include "encore/runtime/testing/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {
namespace {

constexpr size_t kMostGivenBack = 1024;

}  // namespace

GuardedMemory::~GuardedMemory() {
  for (const auto& [at, block] : blocks_) {
    munmap(block.own, block.mapped);
    munmap(block.given, block.mapped);
  }
  for (const Block& block : given_back_) munmap(block.given, block.mapped);
}

StatusOr<void*> GuardedMemory::Allocate(int64_t bytes) {
  const auto none = [&] {
    return ResourceExhaustedError(StrCat("no ", bytes, " bytes of memory"));
  };
  const int64_t page = sysconf(_SC_PAGESIZE);
  if (bytes < 0 || bytes > INT64_MAX - 2 * page) return none();
  const int64_t used = RoundUp(std::max<int64_t>(bytes, 1), kAlignment);
  Block block{.own = nullptr, .mapped = RoundUp(used, page)};
  const int file = memfd_create("device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, block.mapped) != 0) {
    if (file >= 0) close(file);
    return none();
  }
  void* own =
      mmap(nullptr, block.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* given = mmap(nullptr, block.mapped, PROT_NONE, MAP_SHARED, file, 0);
  close(file);
  if (own == MAP_FAILED || given == MAP_FAILED) {
    if (own != MAP_FAILED) munmap(own, block.mapped);
    if (given != MAP_FAILED) munmap(given, block.mapped);
    return none();
  }
  block.own = static_cast<std::byte*>(own);
  block.given = static_cast<std::byte*>(given);
  block.bytes = bytes;
  std::memset(own, kPoison, block.mapped);
  // At the end of its pages.
  std::byte* data = block.given + (block.mapped - used);
  const std::lock_guard lock(mutex_);
  blocks_.emplace(data, block);
  return data;
}

void GuardedMemory::Deallocate(void* data) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::byte*>(data));
  ENCORE_CHECK(found != blocks_.end()) << "no such block";
  munmap(found->second.own, found->second.mapped);
  given_back_.push_back(found->second);
  blocks_.erase(found);
  if (given_back_.size() <= kMostGivenBack) return;
  munmap(given_back_.front().given, given_back_.front().mapped);
  given_back_.pop_front();
}

StatusOr<void*> GuardedMemory::DeviceSide(const void* data,
                                          int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto* at = static_cast<const std::byte*>(data);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) {
    return InternalError("memory that is not the device's is used");
  }
  --found;
  const auto& [begin, block] = *found;
  if (at - begin > block.bytes || bytes > block.bytes - (at - begin)) {
    return InternalError(
        StrCat(bytes, " bytes that are not the device's are used"));
  }
  return block.own + (at - block.given);
}

int64_t GuardedMemory::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(blocks_.size());
}

}  // namespace encore::runtime
