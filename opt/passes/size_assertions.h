// Checks of data-dependent sizes.
//
// A kernel believes its sizes. What inference cannot tell before they are
// known (that a slice lies within its operand, that a reshape keeps the number
// of elements) an assertion checks between the step that defines a size and the
// kernel that uses it.
#ifndef ENCORE_OPT_PASSES_SIZE_ASSERTIONS_H_
#define ENCORE_OPT_PASSES_SIZE_ASSERTIONS_H_

#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

// The graph, and its bodies, with assertions before nodes that sizes known at
// run time only may not fit; nothing where there are no such sizes.
StatusOr<std::optional<Graph>> AddSizeAssertions(const Graph& graph);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_SIZE_ASSERTIONS_H_
