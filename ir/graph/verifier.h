// The IR's contract: what holds for every graph, and for every body in it.
//
//   G1  A node's op is a row of the op table, and its attributes are of the
//       struct that the row names.
//   G2  Operands are values of the graph whose producers come before the node.
//   G3  Results belong to the node that lists them.
//   G4  Result types are those that inference gives (infer.h): operand count,
//       dtypes, shapes and attribute values are legal.
//   G5  A node has as many bodies as its row says; they nest at most
//       kMaxBodyDepth deep and share the graph's symbols.
//   G6  Arguments are the input and parameter nodes, each once, under names
//       that differ.
//   G7  Only parameters carry data, and it is of the parameter's type.
//   G8  Outputs are values of the graph under names that differ.
//   G9  Symbols have names that differ and bounds 0 <= lower <= upper.
//   G10 Shapes have at most kMaxRank dims, each over the graph's symbols and
//       not negative where it is a constant; their sizes fit 64 bits.
//   G11 A symbol that is known at run time only is defined before a type or an
//       attribute mentions it, in the graph or one around it; a define_symbols
//       node defines what nothing before it does, each symbol once.
#ifndef ENCORE_IR_GRAPH_VERIFIER_H_
#define ENCORE_IR_GRAPH_VERIFIER_H_

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore {

// InvalidArgument "G4: node 7 (relu): …" for the first invariant that does not
// hold. Graphs made through Graph's own functions pass; this is for what was
// read or transformed by other means, and for tests. Linear in the graph.
Status Verify(const Graph& graph);

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_VERIFIER_H_
