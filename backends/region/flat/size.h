// Size: an extent, stride or offset of generated code. A constant; or, in a
// region with symbols, an expression over them and its value at typical sizes,
// which costs and schedules are made of and nothing else.
#ifndef ENCORE_BACKENDS_REGION_FLAT_SIZE_H_
#define ENCORE_BACKENDS_REGION_FLAT_SIZE_H_

#include <concepts>
#include <cstdint>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/types/dim.h"

namespace encore::backends {

class Size {
 public:
  // NOLINTBEGIN: a number is a size, and a constant size a number.
  template <std::integral T>
  Size(T constant) : typical_(constant), dim_(static_cast<int64_t>(constant)) {}
  Size(Dim dim, int64_t typical) : typical_(typical), dim_(std::move(dim)) {}
  // REQUIRES is_constant().
  operator int64_t() const {
    ENCORE_CHECK(is_constant()) << "generated code needs the expression";
    return typical_;
  }
  // NOLINTEND

  int64_t typical() const { return typical_; }

  const Dim& dim() const { return dim_; }
  bool is_constant() const { return dim_.is_constant(); }

  friend Size operator+(const Size& a, const Size& b) {
    return Size(a.dim_ + b.dim_, a.typical_ + b.typical_);
  }
  friend Size operator-(const Size& a, const Size& b) {
    return Size(a.dim_ - b.dim_, a.typical_ - b.typical_);
  }
  friend Size operator*(const Size& a, const Size& b) {
    return Size(a.dim_ * b.dim_, a.typical_ * b.typical_);
  }
  template <std::integral T>
  friend Size operator+(const Size& a, T b) {
    return a + Size(b);
  }
  template <std::integral T>
  friend Size operator-(const Size& a, T b) {
    return a - Size(b);
  }
  template <std::integral T>
  friend Size operator*(const Size& a, T b) {
    return a * Size(b);
  }
  template <std::integral T>
  friend Size operator+(T a, const Size& b) {
    return Size(a) + b;
  }
  template <std::integral T>
  friend Size operator-(T a, const Size& b) {
    return Size(a) - b;
  }
  template <std::integral T>
  friend Size operator*(T a, const Size& b) {
    return Size(a) * b;
  }
  Size& operator+=(const Size& other) { return *this = *this + other; }
  Size& operator*=(const Size& other) { return *this = *this * other; }
  // Whether they are equal whatever the symbols are.
  friend bool operator==(const Size& a, const Size& b) {
    return a.dim_ == b.dim_;
  }
  template <std::integral T>
  friend bool operator==(const Size& a, T b) {
    return a.is_constant() && a.typical_ == static_cast<int64_t>(b);
  }

 private:
  int64_t typical_;
  Dim dim_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_SIZE_H_
