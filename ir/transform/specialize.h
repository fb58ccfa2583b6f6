// Specialize: a graph with sizes put in place of symbols.
#ifndef ENCORE_IR_TRANSFORM_SPECIALIZE_H_
#define ENCORE_IR_TRANSFORM_SPECIALIZE_H_

#include <span>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"

namespace encore {

// The same nodes with replacements[i] for symbol i in every shape and
// attribute; symbols past the end, and their numbers, stay. Names, origins,
// parameter data and the order of nodes stay too. InvalidArgument, with the
// node's origin, where a node is no longer well-typed.
StatusOr<Graph> Specialize(const Graph& graph,
                           std::span<const Dim> replacements);

}  // namespace encore

#endif  // ENCORE_IR_TRANSFORM_SPECIALIZE_H_
