// Local search over selections, with exact reference counts: what a change of a
// choice costs is what becomes needed less what is needed no more.
#ifndef ENCORE_OPT_EXTRACT_LOCAL_SEARCH_H_
#define ENCORE_OPT_EXTRACT_LOCAL_SEARCH_H_

#include <cstdint>

#include "encore/opt/extract/problem.h"
#include "encore/opt/extract/search.h"

namespace encore::opt::extract {

// Improves *solved by two kinds of moves, taken where they make it cheaper:
//  * another node for one class;
//  * a group move: for one class d, every chosen class that has a node with
//    child d takes it, so that an operation whose cost several must share (the
//    operation of a group, a common subterm) can come in.
// With `kicks`, random changes follow each local optimum until the budget is
// exhausted; without, it ends at the first. REQUIRES: solved->selection is a
// solution of `problem`.
void SearchLocally(const Problem& problem, const ProblemIndex& index,
                   uint64_t seed, bool kicks, Budget* budget, Solved* solved);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_LOCAL_SEARCH_H_
