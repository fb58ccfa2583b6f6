// Drives the methods over one problem within a budget: reductions, then for
// every independent part exact solution and neighbourhood search in turns.
#ifndef ENCORE_OPT_EXTRACT_SOLVER_H_
#define ENCORE_OPT_EXTRACT_SOLVER_H_

#include <cstdint>
#include <functional>

#include "encore/opt/extract/problem.h"
#include "encore/opt/extract/search.h"

namespace encore::opt::extract {

struct SolverReport {
  uint32_t reduced_nodes = 0;
  uint32_t parts = 0;
  uint32_t proven_parts = 0;
};

// Improves *solved, a solution of `problem` (without groups), and proves what
// it can. `improved` is called after each part and now and then in between.
SolverReport Solve(const Problem& problem, uint64_t seed, Budget* budget,
                   Solved* solved, const std::function<void()>& improved);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_SOLVER_H_
