// Elements as wide numbers: the evaluator computes integers in 64 bits (exact
// modulo the width) and floats in double, and rounds to the dtype once per op.
#ifndef ENCORE_IR_EVAL_NUMBERS_H_
#define ENCORE_IR_EVAL_NUMBERS_H_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore::eval {

// Calls f with a value of the wide type of `dtype`: double for floats, uint64_t
// for unsigned integers, int64_t for signed ones and bool.
template <typename F>
decltype(auto) WithDomain(DType dtype, F&& f) {
  if (IsFloat(dtype)) return f(double{});
  if (IsUnsigned(dtype)) return f(uint64_t{});
  return f(int64_t{});
}

// Elements begin … begin + count of `literal`, widened. REQUIRES aligned bytes
// and W the wide type of the dtype.
template <typename W>
void Decode(const Literal& literal, int64_t begin, int64_t count, W* out);

// Rounds floats to nearest even, wraps integers; a bool is value != 0.
template <typename W>
void Encode(const W* values, int64_t begin, int64_t count, Literal* out);

template <typename W>
std::vector<W> DecodeAll(const Literal& literal) {
  std::vector<W> values(literal.element_count());
  Decode<W>(literal, 0, literal.element_count(), values.data());
  return values;
}

template <typename W>
Literal EncodeAll(DType dtype, std::vector<int64_t> dims,
                  const std::vector<W>& values) {
  Literal literal(dtype, std::move(dims));
  Encode<W>(values.data(), 0, literal.element_count(), &literal);
  return literal;
}

// Arithmetic that wraps on integers.
template <typename W>
W WrapAdd(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) return a + b;
  return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename W>
W WrapSub(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) return a - b;
  return static_cast<W>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename W>
W WrapMul(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) return a * b;
  return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// The larger (smaller): NaN where either is, and 0 is larger than -0.
template <typename W>
W Larger(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (a != a || b != b) return a + b;
    if (a == b) return __builtin_signbit(a) ? b : a;
  }
  return a < b ? b : a;
}
template <typename W>
W Smaller(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (a != a || b != b) return a + b;
    if (a == b) return __builtin_signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

// What a combiner does, and what it starts from.
template <typename W>
W Combine(Combiner combiner, W a, W b);
template <typename W>
W Identity(Combiner combiner, DType dtype);

}  // namespace encore::eval

#endif  // ENCORE_IR_EVAL_NUMBERS_H_
