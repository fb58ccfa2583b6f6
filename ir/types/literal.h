// Literal: a value in host memory: a tensor that owns its bytes or keeps alive
// what does, or a sequence or optional of tensors.
//
// The bytes are row-major and dense, in the machine's (little-endian) order;
// elements of less than a byte are packed, the first in the lowest bits; unused
// bits of the last byte mean nothing. Copies share the bytes,
// which never change once a literal is shared: a literal is a value, safe to
// read from any number of threads. String tensors keep std::strings in place of
// bytes, sequences and optionals a list of literals; neither has bytes and the
// latter have no dims.
#ifndef ENCORE_IR_TYPES_LITERAL_H_
#define ENCORE_IR_TYPES_LITERAL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore {

class Literal {
 public:
  // f32 scalar 0.
  Literal();

  // Zeros (empty strings). REQUIRES dims of a size that fits memory; what comes
  // from a file is checked with ElementCount first.
  Literal(DType dtype, std::vector<int64_t> dims);

  // A literal over bytes of somebody else's, which `owner` keeps alive and
  // nobody changes. InvalidArgument where `bytes` has another size than dtype
  // and dims say. `bytes` need not be aligned (a mapped file's are not):
  // Aligned() copies if need be.
  static StatusOr<Literal> Map(DType dtype, std::vector<int64_t> dims,
                               std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner);

  // A copy of `bytes`; errors as above.
  static StatusOr<Literal> Copy(DType dtype, std::vector<int64_t> dims,
                                std::span<const std::byte> bytes);

  template <typename T>
  static Literal Scalar(T value) {
    return FromValues<T>({}, std::span<const T>(&value, 1));
  }
  // REQUIRES as many values as the dims say.
  template <typename T>
  static Literal FromValues(std::vector<int64_t> dims,
                            std::span<const T> values);
  template <typename T>
  static Literal FromValues(std::vector<int64_t> dims,
                            std::initializer_list<T> values) {
    return FromValues<T>(std::move(dims), std::span<const T>(values));
  }
  template <typename T>
  static Literal Vector(std::span<const T> values) {
    return FromValues<T>({static_cast<int64_t>(values.size())}, values);
  }
  static Literal Strings(std::vector<int64_t> dims,
                         std::vector<std::string> values);

  // A sequence. REQUIRES tensors of `dtype`.
  static Literal Sequence(DType dtype, std::vector<Literal> elements);
  // An optional that has a value: a tensor or a sequence.
  static Literal Optional(Literal value);
  // One without; of kind kOptional or kOptionalSequence.
  static Literal Absent(DType dtype, ValueKind kind);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return dims_;
  }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t element_count() const { return element_count_; }
  Shape shape() const { return Shape(std::span<const int64_t>(dims_)); }
  TensorType type() const { return {dtype_, shape(), kind_}; }

  ValueKind kind() const { return kind_; }
  // The tensors of a sequence; an optional's value, none or one. REQUIRES
  // kind() other than kTensor.
  const std::vector<Literal>& elements() const ABSL_ATTRIBUTE_LIFETIME_BOUND;
  // The same by value: moved where no other literal shares them.
  std::vector<Literal> TakeElements() &&;

  // The bytes; REQUIRES a tensor, and none of strings.
  std::span<const std::byte> bytes() const ABSL_ATTRIBUTE_LIFETIME_BOUND;
  // Writable bytes; REQUIRES that this literal owns them alone (made by the
  // constructor and not copied since).
  std::span<std::byte> mutable_bytes();

  // The elements as their C++ type (DTypeOf<T>, or the Storage of the dtype's
  // row); REQUIRES a matching size and aligned bytes.
  template <typename T>
  std::span<const T> values() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    const std::span<const std::byte> raw = bytes();
    CheckAccess(sizeof(T), alignof(T));
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> mutable_values() {
    const std::span<std::byte> raw = mutable_bytes();
    CheckAccess(sizeof(T), alignof(T));
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
  const std::vector<std::string>& strings() const ABSL_ATTRIBUTE_LIFETIME_BOUND;
  std::vector<std::string>& mutable_strings();

  // Element i in row-major order, whatever the dtype, alignment or packing.
  // Floats are exact; AsInt truncates floats toward zero (what does not fit is
  // the nearest bound, NaN is 0) and wraps u64. REQUIRES a dtype with a size.
  double AsDouble(int64_t i) const;
  int64_t AsInt(int64_t i) const;
  // Sets element i, rounding floats to nearest even; SetInt wraps integers,
  // SetDouble makes them as AsInt does and then wraps. A bool is value != 0.
  // REQUIRES sole ownership.
  void SetDouble(int64_t i, double value);
  void SetInt(int64_t i, int64_t value);

  // This literal where its bytes, and those of its elements, are aligned to the
  // dtype, else a copy that is.
  Literal Aligned() const;
  // The same elements under other dims; REQUIRES the same element count. Shares
  // bytes.
  Literal Reshaped(std::vector<int64_t> dims) const;

  // The same elements with unused bits 0: this literal, or a copy where they
  // are not.
  Literal Canonical() const;

  // Same dtype, dims and bits of elements (NaNs with equal bits are equal, -0
  // and 0 are not).
  friend bool operator==(const Literal& a, const Literal& b);
  // A hash of what == compares that is the same in every process.
  uint64_t Fingerprint() const;

 private:
  void CheckAccess(size_t size, size_t alignment) const;
  bool IsAligned() const;
  // All of them, but for packed elements that end within a byte.
  std::byte UsedBitsOfLastByte() const;
  // Whether an unused bit of the last byte is not 0.
  bool HasStrayBits() const;

  DType dtype_;
  ValueKind kind_ = ValueKind::kTensor;
  std::vector<int64_t> dims_;
  int64_t element_count_ = 0;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<const void> owner_;
  // Set where this literal made its bytes (or strings) itself.
  std::byte* mutable_data_ = nullptr;
  std::shared_ptr<std::vector<std::string>> strings_;
  std::shared_ptr<std::vector<Literal>> elements_;
};

template <typename T>
Literal Literal::FromValues(std::vector<int64_t> dims,
                            std::span<const T> values) {
  Literal literal(DTypeOf<T>(), std::move(dims));
  ENCORE_CHECK_EQ(literal.element_count(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), literal.mutable_values<T>().begin());
  return literal;
}

}  // namespace encore

#endif  // ENCORE_IR_TYPES_LITERAL_H_
