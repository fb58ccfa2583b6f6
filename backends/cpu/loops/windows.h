// Extremes and sums over windows, along one dim after the other.
//
// The maximum over a window of k x k elements is that over k columns of the
// maxima over k lines, and likewise a sum, which neighbouring windows share: k
// + k / stride elements a window in place of k * k, and lines are read as they
// lie.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_WINDOWS_H_
#define ENCORE_BACKENDS_CPU_LOOPS_WINDOWS_H_

#include <optional>

#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// `region` with the last reduced variable of its first stage in a stage of its
// own, which reads a line of what the others give. Nothing where that stage is
// no maximum, minimum or sum over several variables of windows whose places
// along the last dim one outer variable alone says, or where more than
// elementwise stages follow. The same bits but for which NaN it is; sums of
// floats are added in another order. REQUIRES constant extents above 0.
std::optional<Region> SeparateWindows(const Region& region);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_WINDOWS_H_
