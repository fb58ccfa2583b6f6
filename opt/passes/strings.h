// Movement of strings in the form that backends have: of numbers.
//
// An operator that only moves elements, on tensors of strings, becomes the same
// operator on the elements' numbers, and a take_strings by the result. So every
// such operator has strings wherever a backend has integers, and only one
// kernel touches the strings themselves.
#ifndef ENCORE_OPT_PASSES_STRINGS_H_
#define ENCORE_OPT_PASSES_STRINGS_H_

#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

// The graph, and its bodies, without movement of strings; nothing where it
// stays as it is.
StatusOr<std::optional<Graph>> LowerStrings(const Graph& graph);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_STRINGS_H_
