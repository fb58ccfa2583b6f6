// Stages that have nothing to do with one another, each as a region.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_STAGES_H_
#define ENCORE_BACKENDS_CPU_LOOPS_STAGES_H_

#include <vector>

#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// A region for each stage of `region`, whose loops are outer variables there,
// in the order of the stored dims: a concatenation is a copy for each operand,
// of elements that follow one another where they do in memory. Empty where a
// stage reads what another one gives, does more than to store one value at each
// point in an element of its own, or may write the same element as another one.
// REQUIRES constant extents above 0.
std::vector<Region> SeparateStages(const Region& region);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_STAGES_H_
