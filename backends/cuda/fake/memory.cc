#include "encore/backends/cuda/fake/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda::fake {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kRangeBytes = uint64_t{1} << 36;
// Where a range may begin: sanitizers leave only some of these free.
constexpr uint64_t kFirstPlaces[] = {0x2000'0000'0000, 0x10'0000'0000};

uint64_t Pages(uint64_t bytes) {
  return static_cast<uint64_t>(
      RoundUp(static_cast<int64_t>(std::max<uint64_t>(bytes, 1)),
              static_cast<int64_t>(kPage)));
}

}  // namespace

Memory::Memory() : device_(ReserveRange()), host_(ReserveRange()) {}

Memory::~Memory() {
  for (const auto& [address, block] : blocks_) {
    if (block.owner != kHost) std::free(block.data);
  }
  for (const Range& range : {device_, host_}) {
    munmap(reinterpret_cast<void*>(range.begin), range.bytes);
  }
}

Memory::Range Memory::ReserveRange() {
  for (const uint64_t first : kFirstPlaces) {
    for (uint64_t i = 0; i < 8; ++i) {
      void* const wanted = reinterpret_cast<void*>(first + i * kRangeBytes);
      // A wish: somebody else's addresses are not taken.
      void* const at = mmap(wanted, kRangeBytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == wanted) {
        const auto begin = reinterpret_cast<uint64_t>(at);
        return {begin, kRangeBytes, begin, begin + kRangeBytes};
      }
      if (at != MAP_FAILED) munmap(at, kRangeBytes);
    }
  }
  ENCORE_CHECK(false) << "no addresses for emulated devices";
  return {};
}

std::optional<uint64_t> Memory::TakeAddress(Range& range, uint64_t bytes) {
  for (int lap = 0; lap < 2; ++lap) {
    while (range.next + bytes <= range.end) {
      const auto behind = blocks_.lower_bound(range.next + bytes);
      if (behind == blocks_.begin() ||
          std::prev(behind)->first + std::prev(behind)->second.mapped <=
              range.next) {
        const uint64_t address = range.next;
        // A page between two blocks is nobody's.
        range.next += bytes + kPage;
        return address;
      }
      range.next =
          std::prev(behind)->first + std::prev(behind)->second.mapped + kPage;
    }
    range.next = range.begin;
  }
  return std::nullopt;
}

std::optional<uint64_t> Memory::Allocate(uint64_t bytes, int owner) {
  if (bytes > kRangeBytes / 2) return std::nullopt;
  Block block{nullptr, bytes, Pages(bytes), owner};
  Range& range = owner == kHost ? host_ : device_;
  const std::optional<uint64_t> address = TakeAddress(range, block.mapped);
  if (!address) return std::nullopt;
  if (owner == kHost) {
    block.data = reinterpret_cast<std::byte*>(*address);
    if (mprotect(block.data, block.mapped, PROT_READ | PROT_WRITE) != 0) {
      return std::nullopt;
    }
  } else {
    block.data =
        static_cast<std::byte*>(std::aligned_alloc(kPage, block.mapped));
    if (block.data == nullptr) return std::nullopt;
  }
  std::memset(block.data, static_cast<int>(kPoison), block.mapped);
  blocks_.emplace(*address, block);
  return address;
}

std::optional<uint64_t> Memory::Reserve(uint64_t bytes) {
  // Behind everything, so that no lap comes upon it.
  const uint64_t mapped = Pages(bytes) + kPage;
  if (device_.end - device_.begin < 2 * mapped) return std::nullopt;
  device_.end -= mapped;
  const uint64_t address = device_.end;
  const auto behind = blocks_.lower_bound(address);
  const bool taken =
      behind != blocks_.begin() &&
      std::prev(behind)->first + std::prev(behind)->second.mapped > address;
  return taken ? std::nullopt : std::optional(address);
}

bool Memory::Free(uint64_t address, bool host) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || (found->second.owner == kHost) != host) {
    return false;
  }
  const Block& block = found->second;
  if (host) {
    madvise(block.data, block.mapped, MADV_DONTNEED);
    mprotect(block.data, block.mapped, PROT_NONE);
  } else {
    std::free(block.data);
  }
  blocks_.erase(found);
  return true;
}

std::byte* Memory::Find(uint64_t address, uint64_t bytes, int* owner) {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return nullptr;
  --found;
  const auto& [begin, block] = *found;
  const uint64_t offset = address - begin;
  if (offset > block.bytes || bytes > block.bytes - offset) return nullptr;
  if (owner != nullptr) *owner = block.owner;
  return block.data + offset;
}

std::vector<ptx::Allocation> Memory::Visible(int owner) const {
  std::vector<ptx::Allocation> visible;
  for (const auto& [address, block] : blocks_) {
    if (block.owner != kHost && block.owner != owner) continue;
    visible.push_back({address,
                       {block.data, block.bytes},
                       StrCat(block.owner == kHost ? "pinned" : "device",
                              " memory of ", block.bytes, " bytes")});
  }
  return visible;
}

uint64_t Memory::used(int owner) const {
  uint64_t used = 0;
  for (const auto& [address, block] : blocks_) {
    if (block.owner == owner) used += block.mapped;
  }
  return used;
}

}  // namespace encore::backends::cuda::fake
