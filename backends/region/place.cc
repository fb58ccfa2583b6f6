#include "encore/backends/region/place.h"

#include <algorithm>
#include <utility>

#include "encore/ir/types/shape.h"

namespace encore::backends {

Place::Place(DType dtype, std::vector<int64_t> dims, const Layout& layout,
             void* data)
    : dtype_(dtype), dims_(std::move(dims)), steps_(dims_.size()), data_(data) {
  int64_t stride = 1;
  for (size_t b = layout.blocks.size(); b-- > 0;) {
    const auto& [dim, size] = layout.blocks[b];
    steps_[dim].block = size;
    steps_[dim].inner = stride;
    stride *= size;
  }
  bool overflow = false;
  for (size_t i = dims_.size(); i-- > 0;) {
    const int d = layout.DimAt(i);
    // Of an operand that is too large, which is never looked at.
    steps_[d].stride = overflow ? 0 : stride;
    overflow |= __builtin_mul_overflow(
        stride, std::max<int64_t>(BlockCount(d), 1), &stride);
  }
}

int64_t Place::BlockCount(size_t d) const {
  const int64_t block = steps_[d].block;
  return dims_[d] / block + (dims_[d] % block > 0 ? 1 : 0);
}

int64_t Place::Offset(std::span<const int64_t> at) const {
  int64_t offset = 0;
  for (size_t d = 0; d < steps_.size(); ++d) {
    const auto& [block, stride, inner] = steps_[d];
    offset += at[d] / block * stride + at[d] % block * inner;
  }
  return offset;
}

std::optional<int64_t> Place::MemoryBytes() const {
  std::vector<int64_t> extents;
  for (size_t d = 0; d < dims_.size(); ++d) {
    extents.push_back(BlockCount(d));
    extents.push_back(steps_[d].block);
  }
  const std::optional<int64_t> count = ElementCount(extents);
  return count.has_value() ? ByteSize(dtype_, *count) : std::nullopt;
}

Scalar Place::Load(std::span<const int64_t> at) const {
  return LoadElement(dtype_, data_, Offset(at));
}

void Place::Store(std::span<const int64_t> at, Scalar value) const {
  StoreElement(dtype_, data_, Offset(at), value);
}

void Place::ClearPadding() const {
  const size_t rank = dims_.size();
  std::vector<int64_t> at(rank), limits(rank);
  bool padded = false;
  for (size_t d = 0; d < rank; ++d) {
    limits[d] = BlockCount(d) * steps_[d].block;
    if (limits[d] == 0) return;
    padded |= limits[d] != dims_[d];
  }
  while (padded) {
    bool element = true;
    for (size_t d = 0; d < rank; ++d) element &= at[d] < dims_[d];
    if (!element) Store(at, {});
    size_t d = rank;
    for (; d > 0; --d) {
      if (++at[d - 1] < limits[d - 1]) break;
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace encore::backends
