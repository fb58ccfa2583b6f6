#include "encore/backends/lowering/fusion.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "encore/backends/lowering/fusion_rules.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/lowering/joins.h"

namespace encore::backends {
namespace {

class Partitioner {
 public:
  explicit Partitioner(GroupGraph* graph)
      : kernels_(*graph),
        graph_(graph->graph()),
        group_of_(graph_.node_count(), -1) {}

  std::vector<Group> Run() {
    for (const NodeId node : Nodes(graph_)) {
      if (!kernels_.is_live(node) || !kernels_.HasKernel(node) ||
          IsView(graph_, node)) {
        continue;
      }
      group_of_[node.value()] = static_cast<int>(groups_.size());
      groups_.push_back({node});
      // A cheap node that took others would hide them from its other users.
      if (kernels_.fuses() && !kernels_.IsCheap(node)) {
        Grow(node);
      }
    }
    std::vector<Group> groups;
    for (const NodeList& nodes : groups_) {
      if (nodes.empty()) continue;
      groups.push_back({nodes, kernels_.OutputsOf(nodes)});
    }
    return kernels_.Ordered(std::move(groups));
  }

 private:
  // Takes the groups of the node's operands into its own where that works;
  // again, as taken groups bring operands of their own.
  void Grow(NodeId node) {
    for (bool grown = true; grown;) {
      grown = false;
      const int group = group_of_[node.value()];
      std::set<ValueId> tried;
      for (const NodeId member : NodeList(groups_[group])) {
        for (const ValueId operand : graph_.operands(member)) {
          if (!tried.insert(operand).second) continue;
          if (TryTake(operand, group)) {
            grown = true;
            break;
          }
        }
        if (grown) break;
      }
    }
  }

  // The producer behind reshapes that only lead to it; the reshapes go to
  // `path`.
  NodeId Source(ValueId value, NodeList* path) const {
    NodeId node = graph_.producer(value);
    while (IsView(graph_, node) && group_of_[node.value()] < 0 &&
           kernels_.HasKernel(node)) {
      path->push_back(node);
      node = graph_.producer(graph_.operand(node, 0));
    }
    return node;
  }

  bool TryTake(ValueId operand, int group) {
    NodeList path;
    const NodeId source = Source(operand, &path);
    if (Contains(groups_[group], source) || !kernels_.HasKernel(source))
      return false;
    const NodeId root = groups_[group].back();
    NodeList merged = groups_[group];
    merged.insert(merged.end(), path.begin(), path.end());
    const bool duplicate = kernels_.IsCheap(source);
    const int other = group_of_[source.value()];
    if (duplicate) {
      merged.push_back(source);
    } else {
      if (!kernels_.IsAt(source, root) || other < 0 || other == group) {
        return false;
      }
      merged.insert(merged.end(), groups_[other].begin(), groups_[other].end());
      if (!MayFuse(kernels_, groups_[other], groups_[group], source_)) {
        return false;
      }
    }
    std::sort(merged.begin(), merged.end());
    merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
    if (merged.size() > kMostGroupNodes || !IsConvex(merged) ||
        StoresBeforeContraction(kernels_, merged, kernels_.OutputsOf(merged))) {
      return false;
    }
    const std::optional<double> seconds = Seconds(merged);
    if (!seconds.has_value()) return false;
    if (!duplicate &&
        IsMoveBeforeContraction(kernels_, groups_[other], groups_[group],
                                source_) &&
        *seconds > Apart(groups_[other], groups_[group])) {
      return false;
    }
    groups_[group] = merged;
    if (!duplicate) {
      groups_[other].clear();
      for (const NodeId node : merged) {
        if (!kernels_.IsCheap(node) || group_of_[node.value()] == other) {
          group_of_[node.value()] = group;
        }
      }
    }
    return true;
  }

  // No path leaves the group and comes back.
  bool IsConvex(const NodeList& nodes) const {
    std::vector<NodeId> work;
    std::set<NodeId> seen;
    const auto visit_users = [&](NodeId node) {
      for (int i = 0; i < graph_.result_count(node); ++i) {
        for (const NodeId user : kernels_.users(graph_.result(node, i))) {
          if (user < nodes.back() && !Contains(nodes, user) &&
              seen.insert(user).second) {
            work.push_back(user);
          }
        }
      }
    };
    // What is outside: other groups count as a whole, since they run at once.
    for (const NodeId node : kernels_.LiveOut(nodes)) visit_users(node);
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      const int group = group_of_[node.value()];
      const NodeList whole =
          group >= 0 ? kernels_.LiveOut(groups_[group]) : NodeList{node};
      for (const NodeId member : whole) {
        for (int i = 0; i < graph_.result_count(member); ++i) {
          for (const NodeId user : kernels_.users(graph_.result(member, i))) {
            if (Contains(nodes, user)) return false;
          }
        }
        if (member == node || seen.insert(member).second) visit_users(member);
      }
    }
    return true;
  }

  std::optional<double> Seconds(const NodeList& nodes) {
    return kernels_.Seconds(nodes, kernels_.OutputsOf(nodes));
  }

  double Apart(const NodeList& from, const NodeList& into) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return Seconds(from).value_or(kNever) + Seconds(into).value_or(kNever);
  }

  GroupGraph& kernels_;
  const Graph& graph_;
  std::vector<int> group_of_;  // by node
  std::vector<NodeList> groups_;
  const SourceOfValue source_ = [this](ValueId value) {
    NodeList path;
    return Source(value, &path);
  };
};

}  // namespace

std::vector<Group> GreedyPartition(const Graph& graph,
                                   const FusionContext& context) {
  GroupGraph groups(graph, context);
  return GreedyPartition(&groups);
}

std::vector<Group> GreedyPartition(GroupGraph* graph) {
  return Partitioner(graph).Run();
}

}  // namespace encore::backends
