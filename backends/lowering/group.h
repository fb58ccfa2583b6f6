// Group: nodes that become one kernel, and what is known of a graph to choose
// them.
//
// A partition is groups of a graph, each a convex set of nodes with the values
// that others need of it. Nodes may be in several groups, each of which
// computes them for itself; a value is written by one group. Reshapes that no
// group took are views and in none.
#ifndef ENCORE_BACKENDS_LOWERING_GROUP_H_
#define ENCORE_BACKENDS_LOWERING_GROUP_H_

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

// Where and when a kernel runs.
struct KernelSite {
  int backend = 0;       // in Placement::backends
  bool prepare = false;  // in the prepare plan: depends on weights only

  bool operator==(const KernelSite&) const = default;
};

// What is known of a graph beside its nodes; indexed by node.
struct FusionContext {
  // Nodes with different sites are never in one group; none: no kernel
  // (arguments, constants, control flow).
  std::vector<std::optional<KernelSite>> sites;
  // Estimated seconds of the kernel that a group's region has at that site;
  // nothing where there is none. A function of its arguments: what was asked
  // once may not be asked again.
  std::function<std::optional<double>(const BuiltRegion& region,
                                      KernelSite site)>
      seconds;
  // How many runs share what the prepare plan computes.
  double calls = 100;
  // Otherwise every group has one node.
  bool fuse = true;
};

// Whether the node gives the bytes of its operand under another shape. Where
// the numbers of elements agree only once the sizes have their values, it does
// not: a plan could not show that the view lies in its operand.
bool IsView(const Graph& graph, NodeId node);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_GROUP_H_
