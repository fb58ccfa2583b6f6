// PagePool: the memory behind the columns of one graph, in large pages that are
// used again.
//
// Columns are read at random, where small pages would cost a page walk each,
// and a fault when they are first touched. A large page costs as much as a
// hundred of those, because the system clears it; so what one column has given
// back the next one gets: it is moved to where that column goes on, without
// copying, or cut into blocks for columns that are smaller. Nothing goes back
// to the system before the pool is destroyed. Not thread-safe.
#ifndef ENCORE_OPT_EGRAPH_CORE_PAGE_POOL_H_
#define ENCORE_OPT_EGRAPH_CORE_PAGE_POOL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace encore::egraph {

inline constexpr size_t kLargePage = size_t{2} << 20;

// Address space of `bytes` (a multiple of kLargePage), aligned to kLargePage,
// that reads as zeros and takes large pages where it is touched.
void* ReserveLarge(size_t bytes);
void FreeLarge(void* data, size_t bytes);
// Moves `pages` large pages to a place that is reserved, without copying.
void MoveLarge(char* from, size_t pages, char* to);

// What is gone before the next iteration shares no page with what lasts, so
// that its pages become whole again.
enum class Lifetime : bool { kLasting, kIteration };

class PagePool {
 public:
  static constexpr size_t kMinBlock = size_t{32} << 10;

  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  // Bytes in use: those that Count has been told of, and all pages, idle ones
  // included. The peak is the largest number there has been.
  size_t bytes() const { return bytes_; }
  size_t peak() const { return peak_; }
  void Count(size_t from, size_t to) {
    bytes_ += to - from;
    peak_ = std::max(peak_, bytes_);
  }

  // Whether columns are to take blocks: below, a page is more than all of them.
  bool gives_blocks() const { return bytes_ >= kBlocksFrom; }
  // A block of `bytes`, a power of two from kMinBlock to kLargePage, of any
  // content; and back.
  void* Take(size_t bytes, Lifetime lifetime);
  void Give(void* block, size_t bytes, Lifetime lifetime);

  // Puts pages of the pool under reserved address space, which takes fresh ones
  // where they do not suffice; and takes pages over from it.
  void Place(char* to, size_t pages);
  void TakeOver(char* pages, size_t count);

 private:
#ifdef ENCORE_RARE_PATHS
  static constexpr size_t kBlocksFrom = 0;
#else
  static constexpr size_t kBlocksFrom = size_t{1} << 20;
#endif
  static constexpr size_t kOrders = 6;
  static_assert(kMinBlock << kOrders == kLargePage);
  // Blocks of kMinBlock << k.
  using FreeBlocks = std::array<std::vector<char*>, kOrders>;

  char* TakePage();

  size_t bytes_ = 0;
  size_t peak_ = 0;
  std::vector<char*> idle_;         // pages
  std::array<FreeBlocks, 2> free_;  // by lifetime
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_PAGE_POOL_H_
