// Graph to DOT, for people to look at: `dot -Tsvg` draws it.
#ifndef ENCORE_IR_TEXT_DOT_H_
#define ENCORE_IR_TEXT_DOT_H_

#include <string>

#include "encore/ir/graph/graph.h"

namespace encore {

// A digraph with a box for each node that an output needs, with op, attributes
// and origin; arguments and outputs are ovals, edges carry types, and each body
// is a cluster that a dashed edge joins to its node. The same text for the same
// graph; linear in it.
std::string Dot(const Graph& graph);

}  // namespace encore

#endif  // ENCORE_IR_TEXT_DOT_H_
