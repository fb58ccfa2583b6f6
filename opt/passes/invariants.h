// What every trip of a loop would compute again, before the loop.
//
// A value of a body is invariant where it follows from what is the same in all
// trips: captures, values that are carried unchanged, constants. Such nodes
// move in front of the while or the scan, and the body captures what it needs
// of them, where that is cheaper: not what only repeats, slices or renames
// elements, and no elementwise value that has more bytes than what it is
// computed from. What may fail stays, as a loop may make no trip.
#ifndef ENCORE_OPT_PASSES_INVARIANTS_H_
#define ENCORE_OPT_PASSES_INVARIANTS_H_

#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

// The graph with invariants in front of its loops and those of its bodies;
// nothing where it stays as it is.
StatusOr<std::optional<Graph>> HoistInvariants(const Graph& graph);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_INVARIANTS_H_
