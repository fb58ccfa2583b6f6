// Fusion: which nodes become one kernel.
//
// A partition of a graph into groups, each a convex set of nodes with the
// values that others need of it. This is what the e-graph's extraction will
// hand to lowering; until then GreedyPartition makes one.
//
// Cheap nodes (broadcasts, iotas) may be in several groups. Reshapes that no
// group took are views and in none.
#ifndef ENCORE_BACKENDS_LOWERING_FUSION_H_
#define ENCORE_BACKENDS_LOWERING_FUSION_H_

#include <functional>
#include <optional>
#include <vector>

#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct Group {
  std::vector<NodeId> nodes;     // ascending
  std::vector<ValueId> outputs;  // ascending; used outside, or of the graph
};

// What is known of a graph beside its nodes; indexed by node.
struct FusionContext {
  // Nodes with different labels are never in one group (backend, phase); -1: no
  // kernel (arguments, constants, control flow).
  std::vector<int> labels;
  // Estimated seconds of the kernel that a group's region has under that label;
  // nothing where there is none.
  std::function<std::optional<double>(const BuiltRegion& region, int label)>
      seconds;
  // Otherwise every group has one node.
  bool fuse = true;
};

// Groups in an order in which each comes after those it reads from. Covers all
// live nodes with a label, but for reshapes left as views. Deterministic.
std::vector<Group> GreedyPartition(const Graph& graph,
                                   const FusionContext& context);

// Whether the node gives the bytes of its operand under another shape. Where
// the numbers of elements agree only once the sizes have their values, it does
// not: a plan could not show that the view lies in its operand.
bool IsView(const Graph& graph, NodeId node);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_FUSION_H_
