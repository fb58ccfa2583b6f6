// Drives the methods over one problem within a budget: reductions, then for
// every independent part exact solution and neighbourhood search in turns.
#ifndef ENCORE_OPT_EXTRACT_SOLVER_H_
#define ENCORE_OPT_EXTRACT_SOLVER_H_

#include <cstdint>

#include "encore/opt/extract/problem.h"
#include "encore/opt/extract/search.h"

namespace encore::opt::extract {

struct SolverReport {
  uint32_t reduced_nodes = 0;
  uint32_t parts = 0;
  uint32_t proven_parts = 0;
};

// Improves *solved, a solution of `problem` (without groups), and proves what
// it can. `report` is called with the cost and the bound of the whole now and
// then.
SolverReport Solve(const Problem& problem, uint64_t seed, Budget* budget,
                   Solved* solved, const ReportFunction& report);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_SOLVER_H_
