// Nodes of a graph to a region.
#ifndef ENCORE_BACKENDS_REGION_BUILD_H_
#define ENCORE_BACKENDS_REGION_BUILD_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/region/region.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

// A region and what it stands for in the graph.
struct BuiltRegion {
  Region region;
  std::vector<ValueId> inputs, outputs;  // of the region, in its order
  std::vector<Dim> args;  // the region's symbols, over the graph's
};

// The region that computes `outputs`, values of `nodes`, from values of other
// nodes. Small constants among the operands become part of it. Nothing where
// the nodes do not fit one region: fusion then takes fewer.
//
// REQUIRES primitives without bodies, in the order of the graph, no custom op;
// `outputs` not empty. A single node always fits. Cost: linear in the nodes and
// in the paths through them that end at different elements.
std::optional<BuiltRegion> BuildRegion(const Graph& graph,
                                       std::span<const NodeId> nodes,
                                       std::span<const ValueId> outputs);

// Whether `node` is an operator that BuildRegion takes.
bool HasRegion(const Graph& graph, NodeId node);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_BUILD_H_
