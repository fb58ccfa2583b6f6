// A lower bound from the longest paths that every choice has.
#ifndef ENCORE_OPT_EXTRACT_PATH_BOUND_H_
#define ENCORE_OPT_EXTRACT_PATH_BOUND_H_

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// No solution of `problem` (without groups) is cheaper; infinity where there is
// none.
//
// Whatever is chosen is acyclic, so that under a chosen node lie a path to its
// dearest child's leaves and all nodes on it, each once: with costs of no less
// than zero a class costs at least the minimum over its nodes of the node's
// cost and the most that one of its children costs at least (Knuth's
// generalization of Dijkstra's algorithm). Negative costs count as zero on
// paths, and each class's least one is added. n log n.
double PathBound(const Problem& problem, const ProblemIndex& index);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_PATH_BOUND_H_
