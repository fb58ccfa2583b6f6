// FlatArray<T>: a growable column of plain values in the memory of a PagePool.
//
// A small column comes from malloc, a larger one is a block of a large page,
// and beyond that one lies in address space reserved ahead and takes pages as
// it fills it, so it needs neither slack nor a second copy of itself to grow.
// Not thread-safe.
#ifndef ENCORE_OPT_EGRAPH_CORE_FLAT_ARRAY_H_
#define ENCORE_OPT_EGRAPH_CORE_FLAT_ARRAY_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/opt/egraph/core/page_pool.h"

namespace encore::egraph {

template <typename T>
class FlatArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // `pool` may be null; otherwise it must outlive the array.
  explicit FlatArray(PagePool* pool = nullptr,
                     Lifetime lifetime = Lifetime::kLasting)
      : lifetime_(lifetime), pool_(pool) {}
  // A copy in another pool.
  FlatArray(const FlatArray& other, PagePool* pool) : pool_(pool) {
    reserve(other.size_);
    if (other.size_ > 0)
      std::memcpy(data_, other.data_, other.size_ * sizeof(T));
    size_ = other.size_;
  }
  FlatArray(FlatArray&& other) noexcept { swap(other); }
  FlatArray& operator=(FlatArray&& other) noexcept {
    swap(other);
    return *this;
  }
  FlatArray(const FlatArray&) = delete;
  FlatArray& operator=(const FlatArray&) = delete;
  ~FlatArray() { Free(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) Grow(size_ + 1);
    data_[size_++] = value;
  }
  // Sees to it that `count` more values can be appended without growing.
  void MakeRoom(size_t count) {
    if (capacity_ - size_ < count) Grow(size_ + count);
  }
  // `count` more values at the end, uninitialized; returns the first.
  T* Extend(size_t count) {
    MakeRoom(count);
    T* const first = data_ + size_;
    size_ += count;
    return first;
  }
  void resize(size_t size) {  // new values are uninitialized
    if (size > capacity_) Grow(size);
    size_ = size;
  }
  void reserve(size_t capacity) {
    if (capacity > capacity_) SetCapacity(capacity);
  }
  void clear() { size_ = 0; }
  void Free() {
    Release();
    data_ = nullptr;
    size_ = capacity_ = bytes_ = reserved_ = 0;
    is_block_ = false;
  }
  void swap(FlatArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(bytes_, other.bytes_);
    std::swap(reserved_, other.reserved_);
    std::swap(is_block_, other.is_block_);
    std::swap(lifetime_, other.lifetime_);
    std::swap(pool_, other.pool_);
  }

 private:
  char* Page(size_t i) const {
    return reinterpret_cast<char*>(data_) + i * kLargePage;
  }
  void Grow(size_t at_least) {
    const size_t step =
        bytes_ < kLargePage ? capacity_ : kLargePage / sizeof(T);
    SetCapacity(std::max({at_least, capacity_ + step, size_t{8}}));
  }
  void SetCapacity(size_t capacity) {
    const size_t bytes = capacity * sizeof(T);
    if (reserved_ > 0 || bytes > kLargePage / 2) {
      ExtendReserved(RoundUp(bytes, kLargePage));
    } else if (is_block_ || (pool_ != nullptr && bytes >= PagePool::kMinBlock &&
                             pool_->gives_blocks())) {
      MoveToBlock(std::bit_ceil(bytes));
    } else {
      data_ = static_cast<T*>(std::realloc(data_, bytes));
      ENCORE_CHECK(data_ != nullptr) << "out of memory";
      if (pool_ != nullptr) pool_->Count(bytes_, bytes);
      bytes_ = bytes;
    }
    capacity_ = bytes_ / sizeof(T);
  }
  void MoveToBlock(size_t bytes) {
    T* const block = static_cast<T*>(pool_->Take(bytes, lifetime_));
    if (size_ > 0) std::memcpy(block, data_, size_ * sizeof(T));
    Release();
    data_ = block;
    bytes_ = bytes;
    is_block_ = true;
  }
  // To `bytes`, a multiple of kLargePage.
  void ExtendReserved(size_t bytes) {
    const size_t pages = reserved_ > 0 ? bytes_ / kLargePage : 0;
    const size_t more = bytes / kLargePage - pages;
    if (bytes > reserved_) {
      const size_t reserve = bytes * kReserveFactor;
      T* const data = static_cast<T*>(ReserveLarge(reserve));
      char* const place = reinterpret_cast<char*>(data);
      if (reserved_ > 0) {
        MoveLarge(Page(0), pages, place);
        FreeLarge(Page(pages), reserved_ - bytes_);
        if (pool_ != nullptr) pool_->Place(place + bytes_, more);
      } else {
        if (pool_ != nullptr) pool_->Place(place, more);
        if (size_ > 0) std::memcpy(place, data_, size_ * sizeof(T));
        Release();
        is_block_ = false;
      }
      data_ = data;
      reserved_ = reserve;
    } else if (pool_ != nullptr) {
      pool_->Place(Page(pages), more);
    }
    bytes_ = bytes;
  }
  // Gives back the memory; what points to it is not updated.
  void Release() {
    if (reserved_ > 0) {
      const size_t kept = pool_ != nullptr ? bytes_ / kLargePage : 0;
      if (kept > 0) pool_->TakeOver(Page(0), kept);
      if (reserved_ > kept * kLargePage) {
        FreeLarge(Page(kept), reserved_ - kept * kLargePage);
      }
    } else if (is_block_) {
      pool_->Give(data_, bytes_, lifetime_);
    } else {
      std::free(data_);
      if (pool_ != nullptr) pool_->Count(bytes_, 0);
    }
  }

  static constexpr size_t kReserveFactor = 16;

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t bytes_ = 0;       // behind capacity_
  size_t reserved_ = 0;    // bytes of address space; 0: not reserved
  bool is_block_ = false;  // of pool_
  Lifetime lifetime_ = Lifetime::kLasting;
  PagePool* pool_ = nullptr;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_FLAT_ARRAY_H_
