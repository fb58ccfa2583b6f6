// Layout: how a tensor lies in memory.
//
// The dims lie in `order`, outermost first (empty: row-major). A dim with a
// Block is cut into blocks: its place in `order` counts them, and the positions
// within them lie behind all of `order`, in the order of `blocks`, of which the
// last is contiguous. Of a tensor [N, C, H, W] and of weights [O, I, H, W]:
//
//   nChw8c      {.blocks = {{1, 8}}}            [N, C/8, H, W, 8]
//   OIhw16i16o  {.blocks = {{1, 16}, {0, 16}}}  [O/16, I/16, H, W, 16 I, 16 O]
//   nhwc        {.order = {0, 2, 3, 1}}         [N, H, W, C]
//
// An extent need not be a multiple of its block: the number of blocks is
// rounded up, and what lies behind the extent in the last one is padding.
//
// The padding holds zeros (all bits 0), whatever the dtype, whenever a kernel
// reads the tensor:
//
//   * Whoever writes guarantees it. A launch leaves zeros in all padding of
//     each of its outputs, whatever was there before: also where it stores only
//     some of the elements, combines with what they hold, or writes over an
//     input (which it may only where operand and layout are the same). So any
//     kernel may be the first or the last to write a tensor, and memory need
//     not be cleared before.
//   * Whoever hands memory to a launch from outside (a test, a caller that
//     packs by itself) guarantees it for that. Inputs, outputs and parameters
//     of a compiled graph are dense, so there only kernels make padding.
//   * Readers may rely on it: load whole blocks without a mask, and let the
//     padding take part where a zero changes nothing. That is so in a sum; in a
//     sum of products, where both factors are padded along that dim, because 0
//     times an infinity is none; not in a product, maximum, minimum or mean.
//   * It is no element. Indices are of the tensor: one that is not below the
//     extent does not exist, and a checked load gives its fill there.
#ifndef ENCORE_BACKENDS_REGION_LAYOUT_H_
#define ENCORE_BACKENDS_REGION_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends {

inline constexpr size_t kMaxBlocks = 2;
inline constexpr int64_t kMaxBlockSize = 4096;

struct Layout {
  struct Block {
    int dim = 0;
    int64_t size = 1;
    bool operator==(const Block&) const = default;
  };
  std::vector<int> order = {};
  // At most kMaxBlocks, each of another dim, whose extent is constant.
  std::vector<Block> blocks = {};

  bool is_row_major() const { return order.empty() && blocks.empty(); }
  // The size of the blocks of `dim`; 1 where it has none.
  int64_t BlockSize(int dim) const;
  // The dim at place `place` of the order.
  int DimAt(size_t place) const {
    return order.empty() ? static_cast<int>(place) : order[place];
  }
  bool operator==(const Layout&) const = default;
};

// The functions below REQUIRE a layout and dims that region/verify.h accepts.

// Extents in memory, outermost first: of the dims in their order, blocked ones
// in blocks, then of the blocks. A product of them is a number of elements.
std::vector<Dim> MemoryDims(std::span<const Dim> dims, const Layout& layout);

// Bytes of a tensor, padding included.
Dim MemoryBytes(DType dtype, std::span<const Dim> dims, const Layout& layout);

// Whether there is padding, however many elements there are.
bool HasPadding(std::span<const Dim> dims, const Layout& layout);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_LAYOUT_H_
