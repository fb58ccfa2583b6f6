// Quotients and multiples that round up, sums that saturate, and arithmetic
// that says where it leaves int64.
//
// The operands of one call are of one signedness; the result has the wider
// type. All are constant expressions and as fast as the formula written out.
#ifndef ENCORE_IR_SUPPORT_INTEGERS_H_
#define ENCORE_IR_SUPPORT_INTEGERS_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace encore {

// The least integer that is not below a / b: CeilDiv(7, 2) is 4, CeilDiv(-7, 2)
// is -3. REQUIRES b > 0. Nothing overflows: it is right for every `a`.
template <std::integral A, std::integral B>
  requires(std::is_signed_v<A> == std::is_signed_v<B>)
constexpr std::common_type_t<A, B> CeilDiv(A a, B b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

// The same of what converts to int64_t.
constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

// The least multiple of `b` that is not below `a`. REQUIRES b > 0, and that the
// multiple is representable: nothing else overflows.
template <std::integral A, std::integral B>
  requires(std::is_signed_v<A> == std::is_signed_v<B>)
constexpr std::common_type_t<A, B> RoundUp(A a, B b) {
  return CeilDiv(a, b) * b;
}

// a + b, or the end of int64 that the sum lies beyond.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

// a + b, a - b and a * b; nothing where that is no int64.
constexpr std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<int64_t> CheckedSub(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

constexpr std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_INTEGERS_H_
