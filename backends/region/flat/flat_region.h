// FlatRegion: a region, its accesses as linear addresses, in the form that code
// is generated from.
//
// Each access becomes base + sum of coefficient * variable (elements), plus
// what stays dynamic: indirect parts, quotients and range checks that could not
// be shown to hold. Variables that every access walks through as if they were
// one are merged, so that [8, 4, 16] contiguous elements are one loop over 512.
#ifndef ENCORE_BACKENDS_REGION_FLAT_FLAT_REGION_H_
#define ENCORE_BACKENDS_REGION_FLAT_FLAT_REGION_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/region/flat/size.h"
#include "encore/backends/region/region.h"

namespace encore::backends {

// offset + sum of coefficient * variable.
struct Affine {
  Size offset = 0;
  std::vector<std::pair<uint32_t, Size>> terms;  // variables ascending

  Size Coefficient(uint32_t variable) const;
  void AddTerm(uint32_t variable, const Size& coefficient);
};

// An index that is not part of the linear address, or is but must be checked.
struct DynamicIndex {
  Affine index;
  ExprId indirect;  // added to `index`; invalid: none
  int64_t divisor = 1;
  Size extent = 0;  // valid in [0, extent)
  bool checked = false;
  // What one step of the quotient adds to the address; 0 where the affine part
  // is in the address already and there is nothing to add.
  Size stride = 0;
  // Above 1: of a dim with blocks. The quotient q, affine part included, adds
  // q / block * block_stride + q % block * stride.
  int64_t block = 1;
  Size block_stride = 0;

  // Whether `lanes` neighbours in `variable`, the first at a multiple of
  // `lanes`, lie in one block, whatever the other variables are.
  bool InOneBlock(uint32_t variable, int lanes) const;
};

struct FlatAccess {
  Affine address;  // elements
  std::vector<DynamicIndex> dynamic;
  bool checked = false;  // some of `dynamic` is
  // A variable along whose blocks the operand is packed (FlattenPanels):
  // its coefficient holds for multiples of the block; within one, elements are
  // neighbours. kNoPanel: none.
  static constexpr uint32_t kNoPanel = UINT32_MAX;
  uint32_t panel = kNoPanel;

  // Adds coefficient * (variable * step / divisor), rounded down, to the
  // address: an element that is read for several neighbours, as in upsampling.
  // step < divisor. At most one per variable, which is not in `address` then.
  struct Repeat {
    uint32_t variable = 0;
    int64_t divisor = 1;
    int64_t coefficient = 0;
    int64_t step = 1;
  };
  std::vector<Repeat> repeats;
  // Of an access to a copy that planes.h describes: lanes behind the last
  // point exist, and `phased` = q * phases + r adds r * phase_pitch + q. Its
  // variables are constants or have multiples of `phases` as coefficients.
  bool padded = false;
  int64_t phases = 1, phase_pitch = 0;
  Affine phased;

  // Whether the address or a check depends on `variable` other than through
  // `address`.
  bool DynamicIn(uint32_t variable) const;
  const Repeat* RepeatOf(uint32_t variable) const;
};

struct FlatRegion {
  const Region* region = nullptr;
  std::vector<Size> extents;    // by variable; 1 where merged away
  std::vector<uint32_t> outer;  // what is left of the outer variables
  // By stage: what is left of its lists.
  std::vector<std::vector<uint32_t>> loops, reduced;
  std::vector<FlatAccess> loads;                // by access
  std::vector<std::vector<FlatAccess>> stores;  // by stage and store
  std::vector<Affine> positions;  // by check, but for what is indirect
  // By stage: where its result at a point of `loops` lies in its buffer.
  std::vector<Affine> results;
  std::vector<Size> result_sizes;  // elements of the buffer; 1: a scalar
  // What is read and written, each element once, at the typical sizes.
  double moved_bytes = 0;

  bool is_symbolic() const { return region->symbols > 0; }
};

// Nothing where a size is symbolic. With `repeats` a small innermost variable
// is merged even where loads do not depend on it, and quotients of variables
// are no values to load by.
std::optional<FlatRegion> Flatten(const Region& region, bool repeats = false);

// The same, with inputs that have blocks as panels, for code whose values of
// panel variables are multiples of the block and a constant below it. `planned`
// is what the code was planned for, the region without panels: the same
// variables are merged, though panels may lie so that more could be. Nothing
// where these cannot be merged, a blocked dim is not the outermost, or is
// indexed by anything but one outer variable, or an output has blocks.
std::optional<FlatRegion> FlattenPanels(const Region& region,
                                        const FlatRegion& planned);

// The same for a region with symbols, of which typical[i] is a value of symbol
// i to plan for, at least 2: what depends on symbols must be generated from
// Size::dim.
std::optional<FlatRegion> FlattenSymbolic(const Region& region,
                                          std::vector<int64_t> typical);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_FLAT_REGION_H_
