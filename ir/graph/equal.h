// Structural equality of graphs: what the round-trip laws are stated in.
//
// Two graphs are equal where name, symbols, arguments (name, type, origin,
// data), outputs and the sequence of other nodes (op, operands, attributes by
// bits, bodies, origin, result types) are. Ids do not count: arguments may
// stand anywhere among the nodes.
#ifndef ENCORE_IR_GRAPH_EQUAL_H_
#define ENCORE_IR_GRAPH_EQUAL_H_

#include <optional>
#include <string>

#include "encore/ir/graph/graph.h"

namespace encore {

// Where the graphs first differ, in words; nothing where they are equal.
// Linear in their size.
std::optional<std::string> FirstDifference(const Graph& a, const Graph& b);

inline bool Equal(const Graph& a, const Graph& b) {
  return !FirstDifference(a, b).has_value();
}

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_EQUAL_H_
