#include "encore/backends/region/whole_region.h"

#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"

namespace encore::backends {

BuiltRegion BuildWhole(const Graph& graph) {
  std::vector<NodeId> nodes;
  std::vector<ValueId> outputs;
  for (const NodeId node : Nodes(graph)) {
    if (HasRegion(graph, node)) nodes.push_back(node);
  }
  for (const Graph::Output& output : graph.outputs()) {
    outputs.push_back(output.value);
  }
  std::optional<BuiltRegion> built = BuildRegion(graph, nodes, outputs);
  ENCORE_CHECK(built.has_value());
  return *std::move(built);
}

}  // namespace encore::backends
