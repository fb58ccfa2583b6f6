// Large-neighbourhood search: frees the choices of some classes that lie close
// together, holds the others, and solves what reductions leave of that exactly.
#ifndef ENCORE_OPT_EXTRACT_LNS_H_
#define ENCORE_OPT_EXTRACT_LNS_H_

#include <cstdint>

#include "encore/opt/extract/problem.h"
#include "encore/opt/extract/search.h"

namespace encore::opt::extract {

// Improves *solved until the budget is exhausted, or until neighbourhoods have
// grown to the whole problem. Leaves bound and optimal as they are, except
// where the whole was solved. REQUIRES: solved->selection is a solution of
// `problem`, MipAvailable().
void SearchNeighbourhoods(const Problem& problem, const ProblemIndex& index,
                          uint64_t seed, Budget* budget, Solved* solved,
                          const ReportFunction& report);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_LNS_H_
