// Planes: the windowed input of a sum, copied into scratch memory with its
// padding, so that windows are read without range checks.
//
// For windows whose elements are read too few times for staging.h: depthwise
// convolutions, pooling. A unit of work copies what a chunk of rows reads of
// one input, and of positions that all windows skip nothing. Where windows move
// by a stride along the lanes, the copy holds the positions of each phase of
// the stride side by side, so that neighbouring windows read neighbouring
// elements.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PLANES_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PLANES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct Planes {
  uint32_t access = 0;  // of the original region, read by a sum
  // The original region with an access and a load more, which read one element
  // of the copy, and variables for its dims, outermost first. The last two run
  // through the phases and the positions of the lanes' dim.
  Region region;
  ExprId load;
  std::vector<uint32_t> dims;
  std::vector<int64_t> extents;  // of the copy, by `dims`
  // The original flat region with that access as one to the copy.
  FlatRegion flat;
  int64_t row_step = 0;  // elements of the copy between rows of results

  int64_t elements() const;
};

// The copy for `rows` rows of results along `row_variable` at once and lanes
// along `vector_variable`; nothing where no sum reads its input through range
// checks in a way that can be copied. REQUIRES that no extent is 0.
std::optional<Planes> MakePlanes(const FlatRegion& flat,
                                 uint32_t vector_variable,
                                 uint32_t row_variable, int64_t rows,
                                 int lanes);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PLANES_H_
