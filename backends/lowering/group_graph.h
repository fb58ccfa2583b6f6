// GroupGraph: sets of a graph's nodes as kernels: what they read and write,
// what they take, and in which order they run.
#ifndef ENCORE_BACKENDS_LOWERING_GROUP_GRAPH_H_
#define ENCORE_BACKENDS_LOWERING_GROUP_GRAPH_H_

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/ops/op.h"

namespace encore::backends {

// Nodes, ascending.
using NodeList = std::vector<NodeId>;

// Whether the list has the node.
bool Contains(const NodeList& nodes, NodeId node);

NodeList Union(const NodeList& a, const NodeList& b);

class GroupGraph {
 public:
  // Both outlive this.
  GroupGraph(const Graph& graph, const FusionContext& context);

  const Graph& graph() const { return graph_; }
  bool fuses() const { return context_.fuse; }
  double calls() const { return context_.calls; }
  bool is_live(NodeId node) const { return live_[node.value()]; }
  bool is_output(ValueId value) const { return is_output_[value.value()]; }
  const KernelSite& site(NodeId node) const {
    return *context_.sites[node.value()];
  }
  bool HasKernel(NodeId node) const {
    return context_.sites[node.value()].has_value();
  }
  bool IsAt(NodeId node, NodeId other) const {
    return context_.sites[node.value()] == context_.sites[other.value()];
  }
  // Too cheap to keep the result of: computed again wherever it is used.
  bool IsCheap(NodeId node) const { return graph_.info(node).has(kCheap); }
  // Whether others make the value again instead of reading it from the group.
  bool IsRematerialized(NodeId node) const {
    return IsCheap(node) || IsView(graph_, node);
  }

  // Live nodes that need the value: as operand or for its run-time size.
  std::span<const NodeId> users(ValueId value) const {
    return users_[value.value()];
  }
  // What the value is a view of, by views that kernels may take in.
  ValueId BehindViews(ValueId value) const;
  // What must be there before the node: its operands, and its run-time sizes.
  std::vector<ValueId> Needed(NodeId node) const;

  // What a group writes.
  std::vector<ValueId> OutputsOf(const NodeList& nodes) const;
  // The nodes of a group whose results others read from it: not those that
  // others remake from what is outside of it.
  NodeList LiveOut(const NodeList& nodes) const;

  // What the nodes, the last of which says where, take as one kernel that
  // writes `outputs`; nothing where they cannot be one, or would compute a
  // reduction again for each point. What was asked once is kept.
  std::optional<double> Seconds(const NodeList& nodes,
                                const std::vector<ValueId>& outputs);

  // Why Seconds gives nothing.
  std::string_view WhyNoKernel(const NodeList& nodes,
                               const std::vector<ValueId>& outputs) const;

  // Those of the groups that are needed, each after those it reads from.
  std::vector<Group> Ordered(std::vector<Group> groups) const;

 private:
  // Whether a group has nothing that others would not make again themselves.
  bool OnlyRemakes(const NodeList& nodes) const;
  std::vector<bool> NeededCheapNodes(std::span<const Group> groups) const;
  std::vector<Group> Sort(std::vector<Group> groups,
                          const std::map<ValueId, size_t>& made_by) const;
  std::optional<double> TraceSeconds(const NodeList& nodes,
                                     const std::vector<ValueId>& outputs) const;

  const Graph& graph_;
  const FusionContext& context_;
  std::vector<bool> live_;
  SymbolDefinitions definitions_;
  std::vector<std::vector<NodeId>> users_;  // by value
  std::vector<bool> is_output_;             // by value
  std::map<std::pair<NodeList, std::vector<ValueId>>, std::optional<double>>
      seconds_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_GROUP_GRAPH_H_
