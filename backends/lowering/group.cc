#include "encore/backends/lowering/group.h"

namespace encore::backends {

bool IsView(const Graph& graph, NodeId node) {
  if (graph.op(node) == Op::kBitcast) return true;
  return graph.op(node) == Op::kReshape &&
         graph.shape(graph.operand(node, 0)).ElementCount() ==
             graph.shape(graph.result(node)).ElementCount();
}

}  // namespace encore::backends
