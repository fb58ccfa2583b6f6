// Dynamic programming over the classes of a problem that is narrow: exact, and
// in time linear in the number of classes where the width is bounded, as in
// chains of blocks that meet at few classes.
#ifndef ENCORE_OPT_EXTRACT_NARROW_DP_H_
#define ENCORE_OPT_EXTRACT_NARROW_DP_H_

#include <cstdint>

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// A cheapest selection, or an empty one where `problem` does not qualify: it
// has a cycle between classes or a negative cost, some step would join more
// than `max_width` classes, or all steps together more than `max_work` table
// entries.
//
// Bucket elimination (R. Dechter, Artificial Intelligence 113, 1999) over one
// bit per class, "needed": the factor of class c is the cost of its cheapest
// node whose children are all needed, or 0 where c is not needed. Classes are
// eliminated by least degree. Adds the entries computed to *work.
// REQUIRES: costs finite, every class has a node, roots have a solution.
Selection SolveNarrow(const Problem& problem, uint32_t max_width,
                      uint64_t max_work, uint64_t* work);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_NARROW_DP_H_
