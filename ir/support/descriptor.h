// Descriptor: an open file or folder, closed at the end of its life.
#ifndef ENCORE_IR_SUPPORT_DESCRIPTOR_H_
#define ENCORE_IR_SUPPORT_DESCRIPTOR_H_

#include <utility>

#include "encore/ir/support/system_calls.h"

namespace encore {

// Movable. -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (is_open()) sys::Close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  // Leaves it to the caller to close it.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_DESCRIPTOR_H_
