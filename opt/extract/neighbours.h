// Neighbours: solutions next to a given one, for who knows more of what a
// solution costs than a sum over nodes says, and wants a few to judge.
#ifndef ENCORE_OPT_EXTRACT_NEIGHBOURS_H_
#define ENCORE_OPT_EXTRACT_NEIGHBOURS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

struct Neighbour {
  Selection choice;  // kNoNode for classes the roots do not reach
  double cost = 0;
};

struct NeighbourLimits {
  size_t count = 16;
  // What a neighbour may cost, as a multiple of the given solution.
  double most_cost = 1.25;
  // Evaluations, about.
  uint64_t work = 1'000'000;
};

// Solutions that hold another node of one class than `choice` does, everything
// else changed where it then gets cheaper: so what only pays for several uses
// of a class comes with the first of them. Classes come in turns, that of which
// another node leaves the most of `choice` behind first, and so do their nodes,
// of equal ones the nearest first. None is `choice`, no two are equal.
//
// Deterministic. An error where `problem` is not valid or `choice` is no
// solution of it.
StatusOr<std::vector<Neighbour>> Neighbours(const Problem& problem,
                                            const Selection& choice,
                                            const NeighbourLimits& limits);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_NEIGHBOURS_H_
