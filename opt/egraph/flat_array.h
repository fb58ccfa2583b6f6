// FlatArray<T>: a growable column of plain values whose bytes are counted, and
// MemoryMeter: the count, with its peak.
//
// A large column lies in address space reserved ahead and takes memory as it
// fills it, so it needs neither slack nor a second copy of itself to grow. Not
// thread-safe.
#ifndef ENCORE_OPT_EGRAPH_FLAT_ARRAY_H_
#define ENCORE_OPT_EGRAPH_FLAT_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore::egraph {

struct MemoryMeter {
  size_t bytes = 0;
  size_t peak = 0;

  void Change(size_t from, size_t to) {
    bytes += to - from;
    peak = std::max(peak, bytes);
  }
};

// Address space for a large column, backed by huge pages where it is touched:
// columns are read at random, and small pages would cost a page walk each.
inline constexpr size_t kLargePage = size_t{2} << 20;
// When a column goes over to large pages: one costs no more time than a quarter
// of the small ones it stands for, but memory.
enum class Lifetime : size_t {
  kLong = kLargePage,
  kShort = size_t{512} << 10,
};
// `bytes` (a multiple of kLargePage) of zeros, aligned to kLargePage.
void* ReserveLarge(size_t bytes);
void FreeLarge(void* data, size_t bytes);
// Gives back the memory of whole large pages, and not the address space.
void DiscardLarge(void* data, size_t bytes);
// Moves the first `used` bytes (a multiple of kLargePage) of one reservation to
// another, without copying, and frees the first.
void MoveLarge(void* from, size_t from_bytes, size_t used, void* to);

template <typename T>
class FlatArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // `meter` may be null; otherwise it must outlive the array.
  explicit FlatArray(MemoryMeter* meter = nullptr,
                     Lifetime lifetime = Lifetime::kLong)
      : meter_(meter), large_from_(static_cast<size_t>(lifetime)) {}
  // A copy counted by another meter.
  FlatArray(const FlatArray& other, MemoryMeter* meter) : meter_(meter) {
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
  // The first `count` values are not read any more, and nothing is appended:
  // whole large pages of them are given back.
  void Discard(size_t count) {
    if (reserved_ == 0) return;
    const size_t bytes = count * sizeof(T) / kLargePage * kLargePage;
    if (bytes <= discarded_) return;
    DiscardLarge(reinterpret_cast<char*>(data_) + discarded_,
                 bytes - discarded_);
    if (meter_ != nullptr) meter_->Change(bytes - discarded_, 0);
    discarded_ = bytes;
  }
  void Free() {
    if (reserved_ > 0) {
      FreeLarge(data_, reserved_);
    } else {
      std::free(data_);
    }
    if (meter_ != nullptr) meter_->Change(counted_ - discarded_, 0);
    data_ = nullptr;
    size_ = capacity_ = counted_ = reserved_ = discarded_ = 0;
  }
  void swap(FlatArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(counted_, other.counted_);
    std::swap(reserved_, other.reserved_);
    std::swap(discarded_, other.discarded_);
    std::swap(meter_, other.meter_);
    std::swap(large_from_, other.large_from_);
  }

 private:
  void Grow(size_t at_least) {
    const size_t bytes = capacity_ * sizeof(T);
    const size_t step = bytes < kStep         ? capacity_
                        : bytes < large_from_ ? kStep / sizeof(T)
                                              : kLargePage / sizeof(T);
    SetCapacity(std::max({at_least, capacity_ + step, size_t{8}}));
  }
  void SetCapacity(size_t capacity) {
    size_t bytes = capacity * sizeof(T);
    if (bytes < large_from_ && reserved_ == 0) {
      data_ = static_cast<T*>(std::realloc(data_, bytes));
      ENCORE_CHECK(data_ != nullptr) << "out of memory";
    } else {
      bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
      if (bytes > reserved_) Reserve(bytes * kReserveFactor);
    }
    if (meter_ != nullptr) meter_->Change(counted_, bytes);
    counted_ = bytes;
    capacity_ = bytes / sizeof(T);
  }
  // Moves to `bytes` of address space.
  void Reserve(size_t bytes) {
    T* const data = static_cast<T*>(ReserveLarge(bytes));
    if (reserved_ > 0) {
      MoveLarge(data_, reserved_, counted_, data);
    } else {
      if (size_ > 0) std::memcpy(data, data_, size_ * sizeof(T));
      std::free(data_);
    }
    data_ = data;
    reserved_ = bytes;
  }

  // Beyond this size columns do not grow by doubling.
  static constexpr size_t kStep = size_t{256} << 10;
  static constexpr size_t kReserveFactor = 16;

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t counted_ = 0;    // bytes behind capacity_
  size_t reserved_ = 0;   // bytes of address space; 0: from malloc
  size_t discarded_ = 0;  // of counted_
  MemoryMeter* meter_ = nullptr;
  size_t large_from_ = static_cast<size_t>(Lifetime::kLong);  // bytes
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_FLAT_ARRAY_H_
