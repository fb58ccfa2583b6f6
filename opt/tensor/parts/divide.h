// Divide: a large graph cut into parts of bounded size, equal subgraphs into
// equal parts.
//
// Nodes stand in a row, in the graph's order. Where to cut is decided by what
// is near: a place is good where few values cross it, and of places where as
// many do that is taken whose neighbours (operators, attributes and types, not
// names or weights) have the least hash, among all within a radius. A block
// that is repeated is thus cut alike wherever it stands, whatever stands around
// it, as content-defined chunking does with files (Muthitacharoen, Chen,
// Mazières: A Low-bandwidth Network File System, SOSP 2001).
//
// What blocks share is taken out before: where a value has several equal uses
// in places far apart (keys and values of a cross-attention in each layer, a
// mask that each layer prepares), these, and what follows from them alone, are
// a part of their own, in which they can be merged.
#ifndef ENCORE_OPT_TENSOR_PARTS_DIVIDE_H_
#define ENCORE_OPT_TENSOR_PARTS_DIVIDE_H_

#include <vector>

#include "encore/ir/graph/graph.h"

namespace encore::opt {

// Nodes that are rewritten together. No path leaves the part and comes back.
struct Part {
  std::vector<NodeId> nodes;  // ascending
  // What the nodes use and others make, in the order of first use.
  struct Input {
    ValueId value;
    bool weight_only = false;
    // Of a weight: others use it as well.
    bool shared = false;
  };
  std::vector<Input> inputs;
  std::vector<ValueId>
      outputs;  // that others use, or the graph gives; ascending
};

struct DivideOptions {
  // Nodes of a part: no cut is nearer to another; of places within the radius
  // one is cut, unless equal ones are; none is longer.
  int least = 48, radius = 64, most = 512;
};

struct Division {
  std::vector<Part> parts;
  // By value: crosses a cut.
  std::vector<bool> cut;
};

// Nodes that define symbols, have bodies, several results or values that are no
// tensors, and whatever has sizes that are known at run time only are in no
// part; neither are weights that several parts use, nor arguments. A small
// constant is in each part that uses it. Deterministic; linear in the graph but
// for the radius.
Division Divide(const Graph& graph, const DivideOptions& options = {});

// What lies around the cuts of before: for each place that only values cross
// which are `cut`, a part of the nodes near it. The rest is in no part.
Division DivideAroundCuts(const Graph& graph, const std::vector<bool>& cut);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_PARTS_DIVIDE_H_
