// Blocks: several neighbouring points, or vectors of them, of an outer
// variable, of which each stage is computed for all before the next one begins.
//
// Two things are gained. Where the lanes of a vector are folded to one value,
// each operation waits for the one before, and the vectors of the next stage
// for the last; the folds of other points fill that time. And a reduction whose
// outer loops step from page to page reads what lies side by side for the
// points of a block before it steps on.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_BLOCKS_H_
#define ENCORE_BACKENDS_CPU_LOOPS_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

struct Blocks {
  int64_t points = 1;  // of a block, or vectors; 1: none
  // By stage: a reduction that has the loop over the points inside of its own,
  // but for one that runs along the lanes. None where empty.
  std::vector<bool> together;

  bool IsTogether(size_t stage) const {
    return stage < together.size() && together[stage];
  }
};

// The blocks of points along the outer variable `row`, each point of so many
// cycles. `stage_variables`: what runs along the lanes of each stage, below 0
// for scalar code; no outer variable does. None where sizes are symbolic or
// indices are checked.
Blocks FindBlocks(const FlatRegion& flat,
                  const std::vector<int>& stage_variables, uint32_t row,
                  double cycles);

// The blocks of vectors along the outer variable `v`, which runs along so many
// lanes. None where a stage has loops of its own.
Blocks FindVectorBlocks(const FlatRegion& flat, uint32_t v, int lanes);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_BLOCKS_H_
