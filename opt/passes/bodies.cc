#include "encore/opt/passes/bodies.h"

#include <vector>

namespace encore::opt {

bool DefinesSymbols(const Graph& body) {
  std::vector<const Graph*> work = {&body};
  while (!work.empty()) {
    const Graph& graph = *work.back();
    work.pop_back();
    for (const NodeId node : Nodes(graph)) {
      if (graph.info(node).has(kDefinesSymbols)) return true;
      for (const Graph& inner : graph.bodies(node)) work.push_back(&inner);
    }
  }
  return false;
}

}  // namespace encore::opt
