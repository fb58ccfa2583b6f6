// Strided copies of elements, the one primitive behind the ops that move data.
#ifndef ENCORE_IR_EVAL_COPY_H_
#define ENCORE_IR_EVAL_COPY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/types/literal.h"

namespace encore::eval {

// For every index into `dims`: dst[dst_base + index · dst_strides] =
// src[src_base + index · src_strides], in elements. A stride may be 0 or
// negative.
struct CopyPlan {
  std::vector<int64_t> dims, src_strides, dst_strides;
  int64_t src_base = 0, dst_base = 0;
};

// Calls f(src offset, dst offset) at the start of each innermost row.
template <typename F>
void ForEachRow(const CopyPlan& plan, F f) {
  const int rank = static_cast<int>(plan.dims.size());
  for (const int64_t dim : plan.dims) {
    if (dim <= 0) return;
  }
  std::vector<int64_t> index(rank);
  int64_t src = plan.src_base, dst = plan.dst_base;
  while (true) {
    f(src, dst);
    int d = rank - 2;
    for (; d >= 0; --d) {
      src += plan.src_strides[d];
      dst += plan.dst_strides[d];
      if (++index[d] < plan.dims[d]) break;
      src -= plan.src_strides[d] * plan.dims[d];
      dst -= plan.dst_strides[d] * plan.dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

template <typename T>
void CopyElements(const CopyPlan& plan, const T* src, T* dst) {
  const int64_t count = plan.dims.empty() ? 1 : plan.dims.back();
  const int64_t from = plan.dims.empty() ? 0 : plan.src_strides.back();
  const int64_t to = plan.dims.empty() ? 0 : plan.dst_strides.back();
  ForEachRow(plan, [=](int64_t src_at, int64_t dst_at) {
    for (int64_t i = 0; i < count; ++i) {
      dst[dst_at + i * to] = src[src_at + i * from];
    }
  });
}

// On literals of one dtype, strings included; REQUIRES no packed dtype.
void Copy(const CopyPlan& plan, const Literal& src, Literal* dst);

// dst[i] = src[indices[i]]; scattering: dst[indices[i]] = src[i] where the
// index is not negative.
void CopyFrom(std::span<const int64_t> indices, const Literal& src,
              Literal* dst);
void CopyTo(std::span<const int64_t> indices, const Literal& src, Literal* dst);

// Packed elements one a byte, as u8, and back.
Literal Unpack(const Literal& packed);
Literal Pack(const Literal& bytes, DType dtype);

// Literals of one type, at least one, one after the other along a new axis.
Literal Stack(std::span<const Literal> slices, int64_t axis);

// The elements of `src` in the order of the axes.
template <typename T>
std::vector<T> Permuted(const std::vector<T>& src,
                        std::span<const int64_t> dims,
                        std::span<const int64_t> permutation) {
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  CopyPlan plan;
  for (const int64_t axis : permutation) {
    plan.dims.push_back(dims[axis]);
    plan.src_strides.push_back(strides[axis]);
  }
  plan.dst_strides = RowMajorStrides(plan.dims);
  std::vector<T> dst(src.size());
  CopyElements(plan, src.data(), dst.data());
  return dst;
}

}  // namespace encore::eval

#endif  // ENCORE_IR_EVAL_COPY_H_
