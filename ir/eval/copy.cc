#include "encore/ir/eval/copy.h"

#include <utility>

#include "encore/ir/support/check.h"

namespace encore::eval {
namespace {

// Calls f with typed pointers to the elements of both.
template <typename F>
void WithElements(const Literal& src, Literal* dst, F f) {
  ENCORE_CHECK(src.dtype() == dst->dtype() && !IsPacked(src.dtype()));
  if (IsString(src.dtype())) {
    return f(src.strings().data(), dst->mutable_strings().data());
  }
  const auto typed = [&]<typename T>(T) {
    f(reinterpret_cast<const T*>(src.bytes().data()),
      reinterpret_cast<T*>(dst->mutable_bytes().data()));
  };
  switch (BitWidth(src.dtype())) {
    case 8:
      return typed(uint8_t{});
    case 16:
      return typed(uint16_t{});
    case 32:
      return typed(uint32_t{});
    default:
      return typed(uint64_t{});
  }
}

}  // namespace

void Copy(const CopyPlan& plan, const Literal& src, Literal* dst) {
  WithElements(src, dst,
               [&](auto* from, auto* to) { CopyElements(plan, from, to); });
}

void CopyFrom(std::span<const int64_t> indices, const Literal& src,
              Literal* dst) {
  WithElements(src, dst, [&](auto* from, auto* to) {
    for (size_t i = 0; i < indices.size(); ++i) to[i] = from[indices[i]];
  });
}

void CopyTo(std::span<const int64_t> indices, const Literal& src,
            Literal* dst) {
  WithElements(src, dst, [&](auto* from, auto* to) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= 0) to[indices[i]] = from[i];
    }
  });
}

Literal Unpack(const Literal& packed) {
  Literal bytes(DType::kU8, packed.dims());
  const std::span<uint8_t> to = bytes.mutable_values<uint8_t>();
  const std::span<const std::byte> from = packed.bytes();
  for (int64_t i = 0; i < packed.element_count(); ++i) {
    to[i] = LoadPacked(packed.dtype(), from.data(), i);
  }
  return bytes;
}

Literal Pack(const Literal& bytes, DType dtype) {
  Literal packed(dtype, bytes.dims());
  const std::span<const uint8_t> from = bytes.values<uint8_t>();
  const std::span<std::byte> to = packed.mutable_bytes();
  for (int64_t i = 0; i < packed.element_count(); ++i) {
    StorePacked(dtype, to.data(), i, from[i]);
  }
  return packed;
}

Literal Stack(std::span<const Literal> slices, int64_t axis) {
  const Literal& first = slices.front();
  if (IsPacked(first.dtype())) {
    std::vector<Literal> unpacked;
    for (const Literal& slice : slices) unpacked.push_back(Unpack(slice));
    return Pack(Stack(unpacked, axis), first.dtype());
  }
  std::vector<int64_t> dims = first.dims();
  dims.insert(dims.begin() + axis, static_cast<int64_t>(slices.size()));
  CopyPlan plan;
  plan.dims = first.dims();
  plan.src_strides = RowMajorStrides(plan.dims);
  plan.dst_strides = RowMajorStrides(dims);
  const int64_t step = plan.dst_strides[axis];
  plan.dst_strides.erase(plan.dst_strides.begin() + axis);
  Literal stacked(first.dtype(), std::move(dims));
  for (const Literal& slice : slices) {
    Copy(plan, slice, &stacked);
    plan.dst_base += step;
  }
  return stacked;
}

}  // namespace encore::eval
