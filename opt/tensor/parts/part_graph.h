// PartGraph: a part as a graph of its own, with an identity, so that what was
// found out of one serves all that are equal.
#ifndef ENCORE_OPT_TENSOR_PARTS_PART_GRAPH_H_
#define ENCORE_OPT_TENSOR_PARTS_PART_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/parts/divide.h"

namespace encore::opt {

struct PartGraph {
  // The part's inputs as arguments "0", "1", …, weights as parameters without
  // data, its outputs likewise; over the symbols of the graph that it is of.
  Graph graph;
  // Equal for parts that compute the same of arguments of the same types, and
  // whose nodes are at the same places (Costs::PlaceOf) and share origins
  // alike.
  std::string key;
  // Origins in an order that equal parts share: the first of one part
  // corresponds to the first of the other, and so on. Each once.
  std::vector<std::string> origins;
};

// Linear in the part.
StatusOr<PartGraph> MakePartGraph(const Graph& graph, const Part& part,
                                  const Costs& costs);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_PARTS_PART_GRAPH_H_
