// Loops in the forms that plans have.
//
// A plan knows If, While, and Scan along the outermost dim (runtime's Invoke).
// A scan along another dim becomes one over transposed values. A loop becomes
//   * a while, where it stacks nothing;
//   * a scan over 0, 1, …, where every trip is made: the count is then known
//     before the first one;
//   * both, where its condition may end it and it stacks values: the while
//     counts the trips, the scan makes them again and stacks. Bodies have no
//     side effects, so the second time gives the same, and makes no trip that
//     might fail but for those of the first;
//   * in that case, where the body defines symbols, which can be said once
//     only, a while that carries sequences, to which each trip appends.
// Strings are no bytes that a scan could slice or stack: what is scanned of
// them is taken by the number of the trip, what is stacked is carried in a
// sequence.
#ifndef ENCORE_OPT_PASSES_LOOPS_H_
#define ENCORE_OPT_PASSES_LOOPS_H_

#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

// The graph, and its bodies, without loops and with scans along dim 0 only;
// nothing where it stays as it is.
StatusOr<std::optional<Graph>> LowerLoops(const Graph& graph);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_LOOPS_H_
