#include "encore/backends/region/packed_literal.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "encore/ir/types/dtype.h"

namespace encore::backends {
namespace {

std::vector<int64_t> ExtentsInMemory(const std::vector<int64_t>& dims,
                                     const Layout& layout) {
  std::vector<int64_t> extents;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int dim = layout.DimAt(i);
    const int64_t block = layout.BlockSize(dim);
    extents.push_back((dims[dim] + block - 1) / block);
  }
  for (const Layout::Block& block : layout.blocks) {
    extents.push_back(block.size);
  }
  return extents;
}

// The row-major number of the element at `memory`; nothing in the padding.
std::optional<int64_t> ElementAt(int64_t memory,
                                 const std::vector<int64_t>& dims,
                                 const Layout& layout) {
  const std::vector<int64_t> extents = ExtentsInMemory(dims, layout);
  std::vector<int64_t> at(dims.size());
  for (size_t i = extents.size(); i-- > 0;) {
    const int64_t position = memory % extents[i];
    memory /= extents[i];
    if (i >= dims.size()) {
      at[layout.blocks[i - dims.size()].dim] += position;
    } else {
      const int dim = layout.DimAt(i);
      at[dim] += position * layout.BlockSize(dim);
    }
  }
  int64_t element = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (at[d] >= dims[d]) return std::nullopt;
    element = element * dims[d] + at[d];
  }
  return element;
}

uint64_t BitsAt(const Literal& literal, int64_t i) {
  const int bits = BitWidth(literal.dtype());
  const auto bytes = literal.bytes();
  if (bits < 8) {
    return LoadPacked(literal.dtype(), bytes.data(), i);
  }
  uint64_t value = 0;
  for (int b = bits / 8; b-- > 0;) {
    value = value << 8 | uint64_t(bytes[i * bits / 8 + b]);
  }
  return value;
}

void SetBits(Literal* literal, int64_t i, uint64_t value) {
  const int bits = BitWidth(literal->dtype());
  const auto bytes = literal->mutable_bytes();
  if (bits < 8) {
    return StorePacked(literal->dtype(), bytes.data(), i,
                       static_cast<uint8_t>(value));
  }
  for (int b = 0; b < bits / 8; ++b) {
    bytes[i * bits / 8 + b] = std::byte(value >> (8 * b));
  }
}

}  // namespace

Layout RandomLayout(const std::vector<int64_t>& dims, std::mt19937_64& random) {
  constexpr int64_t kSizes[] = {8, 16, 8, 16, 8, 16, 3, 1};
  const size_t rank = dims.size();
  Layout layout;
  std::vector<int> places(rank);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  const size_t count = std::min<size_t>(rank, 1 + random() % 2);
  for (size_t b = 0; b < count; ++b) {
    layout.blocks.push_back({places[b], kSizes[random() % 8]});
  }
  if (random() % 3 == 0) return layout;
  std::shuffle(places.begin(), places.end(), random);
  layout.order = std::move(places);
  return layout;
}

Literal Pack(const Literal& plain, const Layout& layout) {
  Literal packed(plain.dtype(), ExtentsInMemory(plain.dims(), layout));
  for (int64_t i = 0; i < packed.element_count(); ++i) {
    const auto element = ElementAt(i, plain.dims(), layout);
    if (element) SetBits(&packed, i, BitsAt(plain, *element));
  }
  return packed;
}

Literal Unpack(const Literal& packed, const std::vector<int64_t>& dims,
               const Layout& layout) {
  Literal plain(packed.dtype(), dims);
  for (int64_t i = 0; i < packed.element_count(); ++i) {
    const auto element = ElementAt(i, dims, layout);
    if (element) SetBits(&plain, *element, BitsAt(packed, i));
  }
  return plain;
}

int64_t CountStray(const Literal& packed, const std::vector<int64_t>& dims,
                   const Layout& layout) {
  int64_t stray = 0;
  for (int64_t i = 0; i < packed.element_count(); ++i) {
    stray += !ElementAt(i, dims, layout) && BitsAt(packed, i) != 0;
  }
  return stray;
}

}  // namespace encore::backends
