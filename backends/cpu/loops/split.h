// Parts of a region between whose points range checks change their answer.
//
// A concatenation, a padded tensor or one that is updated in part reads each
// element through range checks, one operand behind the other. For ranges of an
// outer variable these have one answer each: a part of such a range has no
// checks, and only the loads that are in range.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_SPLIT_H_
#define ENCORE_BACKENDS_CPU_LOOPS_SPLIT_H_

#include <cstdint>
#include <vector>

#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// `region` cut along its outer variable `variable` where that decides checks of
// accesses or comparisons of positions: regions of the same operands whose
// points together are those of `region`, in order. Empty where it decides
// nothing, or for more than kMostParts ranges. REQUIRES constant extents.
inline constexpr int64_t kMostParts = 8;
std::vector<Region> SplitAlong(const Region& region, uint32_t variable);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_SPLIT_H_
