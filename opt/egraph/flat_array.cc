#include "encore/opt/egraph/flat_array.h"

#include <sys/mman.h>

namespace encore::egraph {

void* ReserveLarge(size_t bytes) {
  const size_t with_slack = bytes + kLargePage;
  void* const mapped = mmap(nullptr, with_slack, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ENCORE_CHECK(mapped != MAP_FAILED) << "out of address space";
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + kLargePage - 1) & ~(kLargePage - 1);
  if (aligned > begin) munmap(mapped, aligned - begin);
  const uintptr_t end = aligned + bytes;
  if (end < begin + with_slack) {
    munmap(reinterpret_cast<void*>(end), begin + with_slack - end);
  }
  void* const data = reinterpret_cast<void*>(aligned);
#ifdef MADV_HUGEPAGE
  (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
  return data;
}

void FreeLarge(void* data, size_t bytes) { munmap(data, bytes); }

void DiscardLarge(void* data, size_t bytes) {
  (void)madvise(data, bytes, MADV_DONTNEED);
}

void MoveLarge(void* from, size_t from_bytes, size_t used, void* to) {
#ifdef MREMAP_FIXED
  void* const moved =
      mremap(from, used, used, MREMAP_MAYMOVE | MREMAP_FIXED, to);
  ENCORE_CHECK(moved == to) << "out of address space";
  if (from_bytes > used) {
    munmap(static_cast<char*>(from) + used, from_bytes - used);
  }
#ifdef MADV_HUGEPAGE
  (void)madvise(to, used, MADV_HUGEPAGE);
#endif
#else
  std::memcpy(to, from, used);
  munmap(from, from_bytes);
#endif
}

}  // namespace encore::egraph
