// The quick methods: tree cost and greedy DAG cost.
#ifndef ENCORE_OPT_EXTRACT_GREEDY_H_
#define ENCORE_OPT_EXTRACT_GREEDY_H_

#include <cstdint>
#include <vector>

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// Per class the least cost of a derivation in which everything shared is paid
// for at each use, and the node that attains it; infinity and kNoNode where a
// class has no derivation. Choices never form a cycle. With negative costs no
// least tree exists in general; they count as zero here, so that `choice` is
// still a solution.
//
// Knuth's generalization of Dijkstra's algorithm (Information Processing
// Letters 6(1), 1977). O(m log n), m the number of children.
struct TreeCosts {
  std::vector<double> cost;
  Selection choice;
};
TreeCosts BottomUpTree(const Problem& problem, const ProblemIndex& index);

// The solution that grows, per class, the cheapest set of chosen nodes, sets of
// the children united (the "faster-greedy-dag" of extraction-gym). It may be
// worse than the tree's, and with negative costs its choices may form a cycle:
// check the result. Stops after `max_work` set elements were visited (give or
// take one node's); classes it has no set for are kNoNode. `work` is increased
// by what it did.
Selection GreedyDag(const Problem& problem, const ProblemIndex& index,
                    uint64_t max_work, uint64_t* work);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_GREEDY_H_
