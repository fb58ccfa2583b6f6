// The independent judge of a selection: it shares no code with the algorithms
// that find one.
#ifndef ENCORE_OPT_EXTRACT_CHECKER_H_
#define ENCORE_OPT_EXTRACT_CHECKER_H_

#include <span>

#include "encore/ir/support/status.h"
#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// The cost of what `selection` chooses for the classes that the roots reach, or
// an error that says why it is no solution: a reachable class without a choice,
// a choice of another class or of a forbidden node, a cycle. Entries of
// unreachable classes are ignored. Linear time; no recursion.
// REQUIRES: Validate(problem).ok(), selection.size() == num_classes().
StatusOr<double> CheckedCost(const Problem& problem,
                             std::span<const NodeIndex> selection);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_CHECKER_H_
