// Shape and TensorType: what is known of a tensor before it is computed.
//
// A shape is a list of dims, outermost first; data is row-major (the last dim
// is contiguous). A scalar has no dims. A host object (a sequence or an
// optional) has a type too, with `kind` saying which it is; what shapes its
// tensors have is theirs, so that two sequences are of one type
// whatever is in them.
#ifndef ENCORE_IR_TYPES_SHAPE_H_
#define ENCORE_IR_TYPES_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"

namespace encore {

// More dims than this are refused wherever a shape enters.
inline constexpr int kMaxRank = 32;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const int64_t> dims)
      : dims_(dims.begin(), dims.end()) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const Dim& operator[](int i) const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return dims_[i];
  }
  Dim& operator[](int i) ABSL_ATTRIBUTE_LIFETIME_BOUND { return dims_[i]; }
  const std::vector<Dim>& dims() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return dims_;
  }
  std::vector<Dim>& mutable_dims() ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return dims_;
  }

  bool is_constant() const;
  // The extents; REQUIRES is_constant().
  std::vector<int64_t> ConstantDims() const;
  // The extents under values of the symbols; nothing where one has no value or
  // is negative.
  std::optional<std::vector<int64_t>> Evaluate(
      std::span<const int64_t> symbols) const;
  Shape Substitute(std::span<const Dim> replacements) const;
  // The product of the dims; an invalid dim where it leaves int64.
  Dim ElementCount() const;

  // "[N,784]"; a scalar is "[]".
  std::string ToString(std::span<const Symbol> symbols = {}) const;

  bool operator==(const Shape&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const Shape& shape) {
    return H::combine(std::move(state), shape.dims_);
  }

 private:
  std::vector<Dim> dims_;
};

// The product of `dims`; nothing where one is negative or the product leaves
// int64.
std::optional<int64_t> ElementCount(std::span<const int64_t> dims);

// Row-major strides in elements: for [2,3,4] {12,4,1}. REQUIRES a product
// within int64.
std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dims);

enum class ValueKind : uint8_t {
  kTensor,            // strings too: those are tensors of dtype string
  kSequence,          // a list of tensors of `dtype`, each of its own shape
  kOptional,          // a tensor of `dtype`, or nothing
  kOptionalSequence,  // such a list, or nothing
};

inline bool IsOptional(ValueKind kind) {
  return kind == ValueKind::kOptional || kind == ValueKind::kOptionalSequence;
}

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;  // without dims where `kind` is not kTensor
  ValueKind kind = ValueKind::kTensor;

  // "f32[N,784]", "sequence<f32>", "optional<i64>", "optional<sequence<i64>>".
  std::string ToString(std::span<const Symbol> symbols = {}) const;
  bool operator==(const TensorType&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const TensorType& type) {
    return H::combine(std::move(state), type.dtype, type.shape, type.kind);
  }
};

}  // namespace encore

#endif  // ENCORE_IR_TYPES_SHAPE_H_
