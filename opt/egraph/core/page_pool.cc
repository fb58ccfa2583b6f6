#include "encore/opt/egraph/core/page_pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"

namespace encore::egraph {
namespace {

void AdviseLarge(void* data, size_t bytes) {
#ifdef MADV_HUGEPAGE
  (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
}

// Whether the page is at `to` now; otherwise both are as they were, but what
// was at `to` may be gone.
bool MovePage(char* from, char* to) {
#ifdef MREMAP_FIXED
  if (mremap(from, kLargePage, kLargePage, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
      to) {
    return true;
  }
  void* const again =
      mmap(to, kLargePage, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  ENCORE_CHECK(again == to) << "out of address space";
  AdviseLarge(to, kLargePage);
#endif
  return false;
}

}  // namespace

void* ReserveLarge(size_t bytes) {
  const size_t with_slack = bytes + kLargePage;
  void* const mapped = mmap(nullptr, with_slack, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ENCORE_CHECK(mapped != MAP_FAILED) << "out of address space";
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = RoundUp(begin, kLargePage);
  if (aligned > begin) munmap(mapped, aligned - begin);
  const uintptr_t end = aligned + bytes;
  if (end < begin + with_slack) {
    munmap(reinterpret_cast<void*>(end), begin + with_slack - end);
  }
  void* const data = reinterpret_cast<void*>(aligned);
  AdviseLarge(data, bytes);
  return data;
}

void FreeLarge(void* data, size_t bytes) { munmap(data, bytes); }

void MoveLarge(char* from, size_t pages, char* to) {
  for (size_t i = 0; i < pages; ++i, from += kLargePage, to += kLargePage) {
    if (MovePage(from, to)) continue;
    std::memcpy(to, from, kLargePage);
    FreeLarge(from, kLargePage);
  }
}

PagePool::~PagePool() {
  for (char* const page : idle_) FreeLarge(page, kLargePage);
}

char* PagePool::TakePage() {
  if (idle_.empty()) {
    Count(0, kLargePage);
    return static_cast<char*>(ReserveLarge(kLargePage));
  }
  char* const page = idle_.back();
  idle_.pop_back();
  return page;
}

void* PagePool::Take(size_t bytes, Lifetime lifetime) {
  FreeBlocks& free = free_[static_cast<size_t>(lifetime)];
  const size_t order = std::countr_zero(bytes / kMinBlock);
  size_t from = order;
  while (from < kOrders && free[from].empty()) ++from;
  char* block;
  if (from == kOrders) {
    block = TakePage();
  } else {
    block = free[from].back();
    free[from].pop_back();
  }
  while (from > order) {
    --from;
    free[from].push_back(block + (kMinBlock << from));
  }
  return block;
}

void PagePool::Give(void* block, size_t bytes, Lifetime lifetime) {
  char* data = static_cast<char*>(block);
  size_t order = std::countr_zero(bytes / kMinBlock);
  for (; order < kOrders; ++order) {
    char* const buddy = reinterpret_cast<char*>(
        reinterpret_cast<uintptr_t>(data) ^ (kMinBlock << order));
    std::vector<char*>& blocks = free_[static_cast<size_t>(lifetime)][order];
    const auto found = std::find(blocks.begin(), blocks.end(), buddy);
    if (found == blocks.end()) {
      blocks.push_back(data);
      return;
    }
    blocks.erase(found);
    data = std::min(data, buddy);
  }
  idle_.push_back(data);
}

void PagePool::Place(char* to, size_t pages) {
  for (size_t i = 0; i < pages; ++i, to += kLargePage) {
    if (!idle_.empty() && MovePage(idle_.back(), to)) {
      idle_.pop_back();
    } else {
      Count(0, kLargePage);
    }
  }
}

void PagePool::TakeOver(char* pages, size_t count) {
  for (size_t i = 0; i < count; ++i) idle_.push_back(pages + i * kLargePage);
}

}  // namespace encore::egraph
