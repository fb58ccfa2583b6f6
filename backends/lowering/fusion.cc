#include "encore/backends/lowering/fusion.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "encore/backends/region/build.h"
#include "encore/ir/graph/symbol_definitions.h"

namespace encore::backends {
namespace {

// Nodes of a group at most; keeps the tracing of one region short.
constexpr size_t kMaxGroup = 64;

// Kernels whose seconds are kept at most.
constexpr size_t kMostKnown = 1 << 14;

// Too cheap to keep the result of: computed again wherever it is used.
bool IsCheap(const Graph& graph, NodeId node) {
  return graph.info(node).has(kCheap);
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, const FusionContext& context)
      : graph_(graph),
        context_(context),
        live_(LiveNodes(graph)),
        definitions_(graph),
        users_(graph.value_count()),
        is_output_(graph.value_count()),
        group_of_(graph.node_count(), -1) {
    for (const NodeId node : Nodes(graph)) {
      if (!live_[node.value()]) continue;
      for (const ValueId value : Needed(node)) {
        users_[value.value()].push_back(node);
      }
    }
    for (const Graph::Output& output : graph.outputs()) {
      is_output_[output.value.value()] = true;
    }
  }

  std::vector<Group> Run() {
    for (const NodeId node : Nodes(graph_)) {
      if (!live_[node.value()] || !HasKernel(node) || IsView(graph_, node)) {
        continue;
      }
      group_of_[node.value()] = static_cast<int>(groups_.size());
      groups_.push_back({node});
      // A cheap node that took others would hide them from its other users.
      if (context_.fuse && !IsCheap(graph_, node)) Grow(node);
    }
    return Ordered();
  }

 private:
  using NodeList = std::vector<NodeId>;

  bool HasKernel(NodeId node) const {
    return context_.sites[node.value()].has_value();
  }
  bool IsAt(NodeId node, NodeId other) const {
    return context_.sites[node.value()] == context_.sites[other.value()];
  }

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
           HasKernel(node)) {
      path->push_back(node);
      node = graph_.producer(graph_.operand(node, 0));
    }
    return node;
  }

  bool TryTake(ValueId operand, int group) {
    NodeList path;
    const NodeId source = Source(operand, &path);
    if (Contains(groups_[group], source) || !HasKernel(source)) return false;
    const NodeId root = groups_[group].back();
    NodeList merged = groups_[group];
    merged.insert(merged.end(), path.begin(), path.end());
    const bool duplicate = IsCheap(graph_, source);
    const int other = group_of_[source.value()];
    if (duplicate) {
      merged.push_back(source);
    } else {
      if (!IsAt(source, root) || other < 0 || other == group) {
        return false;
      }
      merged.insert(merged.end(), groups_[other].begin(), groups_[other].end());
      if (!MayFuse(groups_[other], groups_[group])) return false;
    }
    std::sort(merged.begin(), merged.end());
    merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
    if (merged.size() > kMaxGroup || !IsConvex(merged)) return false;
    const std::optional<double> seconds = Seconds(merged);
    if (!seconds.has_value()) return false;
    if (!duplicate && IsMoveBeforeContraction(groups_[other], groups_[group]) &&
        *seconds > Apart(groups_[other], groups_[group])) {
      return false;
    }
    groups_[group] = merged;
    if (!duplicate) {
      groups_[other].clear();
      for (const NodeId node : merged) {
        if (!IsCheap(graph_, node) || group_of_[node.value()] == other) {
          group_of_[node.value()] = group;
        }
      }
    }
    return true;
  }

  static bool Contains(const NodeList& nodes, NodeId node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  }

  template <typename Predicate>
  bool Any(const NodeList& nodes, Predicate predicate) const {
    return std::any_of(nodes.begin(), nodes.end(), predicate);
  }

  bool Has(const NodeList& nodes, OpTraits trait) const {
    return Any(nodes,
               [&](NodeId node) { return graph_.info(node).has(trait); });
  }

  // Whether `from` may become part of the kernel of `into`, which reads it.
  bool MayFuse(const NodeList& from, const NodeList& into) const {
    if (Has(from, kEndsKernel)) return false;
    const bool computes = Has(from, kContraction);
    // Kernels of contractions report nothing.
    if (Has(into, kContraction) && Any(from, [&](NodeId node) {
          return MayFail(graph_.op(node), graph_.attributes(node));
        })) {
      return false;
    }
    if (!Has(into, kRereads)) return !computes || !Has(into, kReduction);
    // What comes after the rereading may be computed with it.
    if (!ReadBefore(from, into)) return !computes && !Has(from, kReduction);
    // Before it: moved, where that is no rereading too, and not for windows.
    const auto moves = [&](NodeId node) {
      const OpInfo& info = graph_.info(node);
      return info.has(kMovement) && !info.has(kRereads);
    };
    const auto combines_windows = [&](NodeId node) {
      const OpInfo& info = graph_.info(node);
      return info.has(kReduction) && info.has(kRereads);
    };
    return std::ranges::all_of(from, moves) && !Any(into, combines_windows);
  }

  // Whether `from` is read by a node of `into` that reduces or rereads, or by
  // one before it.
  bool ReadBefore(const NodeList& from, const NodeList& into) const {
    std::set<NodeId> before;
    for (const NodeId node : into) {
      const OpInfo& info = graph_.info(node);
      if (info.has(kReduction) || info.has(kRereads)) {
        before.insert(node);
      }
    }
    for (auto it = into.rbegin(); it != into.rend(); ++it) {
      for (const ValueId result : {graph_.result(*it)}) {
        for (const NodeId user : users_[result.value()]) {
          if (before.count(user) > 0 && Contains(into, user))
            before.insert(*it);
        }
      }
    }
    for (const NodeId node : before) {
      for (const ValueId operand : graph_.operands(node)) {
        NodeList path;
        if (Contains(from, Source(operand, &path))) return true;
      }
    }
    return false;
  }

  // Whether others make the value again instead of reading it from the group.
  bool IsRematerialized(NodeId node) const {
    return IsCheap(graph_, node) || IsView(graph_, node);
  }

  std::vector<ValueId> OutputsOf(const NodeList& nodes) const {
    std::vector<ValueId> outputs;
    std::set<ValueId> behind_remade;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const ValueId result = graph_.result(*it);
      bool needed =
          is_output_[result.value()] || behind_remade.count(result) > 0;
      for (const NodeId user : users_[result.value()]) {
        needed |= !Contains(nodes, user);
      }
      if (!needed) continue;
      if (IsRematerialized(*it) && *it != nodes.back()) {
        for (const ValueId operand : graph_.operands(*it)) {
          behind_remade.insert(operand);
        }
      } else {
        outputs.push_back(result);
      }
    }
    std::reverse(outputs.begin(), outputs.end());
    return outputs;
  }

  // The nodes of a group whose results others read from it: not those that
  // others remake from what is outside of it.
  NodeList LiveOut(const NodeList& nodes) const {
    std::set<NodeId> rematerialized;
    NodeList exporting;
    for (const NodeId node : nodes) {
      bool outside = IsRematerialized(node) && node != nodes.back();
      for (const ValueId operand : graph_.operands(node)) {
        const NodeId producer = graph_.producer(operand);
        outside &=
            !Contains(nodes, producer) || rematerialized.count(producer) > 0;
      }
      if (outside) {
        rematerialized.insert(node);
      } else {
        exporting.push_back(node);
      }
    }
    return exporting;
  }

  // No path leaves the group and comes back.
  bool IsConvex(const NodeList& nodes) const {
    std::vector<NodeId> work;
    std::set<NodeId> seen;
    const auto visit_users = [&](NodeId node) {
      for (int i = 0; i < graph_.result_count(node); ++i) {
        for (const NodeId user : users_[graph_.result(node, i).value()]) {
          if (user < nodes.back() && !Contains(nodes, user) &&
              seen.insert(user).second) {
            work.push_back(user);
          }
        }
      }
    };
    // What is outside: other groups count as a whole, since they run at once.
    for (const NodeId node : LiveOut(nodes)) visit_users(node);
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      const int group = group_of_[node.value()];
      const NodeList whole =
          group >= 0 ? LiveOut(groups_[group]) : NodeList{node};
      for (const NodeId member : whole) {
        for (int i = 0; i < graph_.result_count(member); ++i) {
          for (const NodeId user : users_[graph_.result(member, i).value()]) {
            if (Contains(nodes, user)) return false;
          }
        }
        if (member == node || seen.insert(member).second) visit_users(member);
      }
    }
    return true;
  }

  // What the nodes, the last of which says where, take as one kernel; nothing
  // where they cannot be one. The same nodes come up again: beside each group
  // that they might join, and as that group grows.
  std::optional<double> Seconds(const NodeList& nodes) {
    if (const auto known = seconds_.find(nodes); known != seconds_.end()) {
      return known->second;
    }
    if (seconds_.size() >= kMostKnown) seconds_.clear();
    const std::optional<double> seconds = TraceSeconds(nodes);
    seconds_.emplace(nodes, seconds);
    return seconds;
  }
  std::optional<double> TraceSeconds(const NodeList& nodes) const {
    const std::vector<ValueId> outputs = OutputsOf(nodes);
    const std::optional<BuiltRegion> built =
        BuildRegion(graph_, nodes, outputs);
    if (!built.has_value() || Recomputes(built->region)) return std::nullopt;
    return context_.seconds(*built, *context_.sites[nodes.back().value()]);
  }

  // Whether a contraction in `into` reads what `from` only moves: again for
  // every product, where it is not moved once before.
  bool IsMoveBeforeContraction(const NodeList& from,
                               const NodeList& into) const {
    return Has(into, kContraction) && ReadBefore(from, into);
  }

  double Apart(const NodeList& from, const NodeList& into) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return Seconds(from).value_or(kNever) + Seconds(into).value_or(kNever);
  }

  // Whether a reduction would be computed again for outer points that it does
  // not depend on.
  static bool Recomputes(const Region& region) {
    std::vector<std::set<uint32_t>> used(region.stages.size());
    for (size_t s = 0; s < region.stages.size(); ++s) {
      const Stage& stage = region.stages[s];
      const std::vector<bool> needed = Reachable(region, {stage.value});
      for (size_t e = 0; e < needed.size(); ++e) {
        const Expr& expr = region.exprs[e];
        if (!needed[e]) continue;
        if (expr.kind == Expr::Kind::kVariable) used[s].insert(expr.number);
        if (expr.kind != Expr::Kind::kLoad) continue;
        const Access& access = region.accesses[expr.number];
        for (const Index& index : access.indices) {
          for (const Index::Term& term : index.terms) {
            used[s].insert(term.variable);
          }
        }
        if (access.source == Access::Source::kStage) {
          used[s].insert(used[access.number].begin(),
                         used[access.number].end());
        }
      }
      if (stage.kind != Stage::Kind::kReduce) continue;
      for (uint32_t v = 0; v < region.outer; ++v) {
        if (region.extents[v] != Dim(1) && used[s].count(v) == 0) return true;
      }
    }
    return false;
  }

  // Groups that are needed, each after those that it reads from.
  std::vector<Group> Ordered() {
    const std::vector<bool> needed = NeededCheapNodes();
    std::vector<Group> groups;
    std::map<ValueId, size_t> made_by;
    for (const NodeList& nodes : groups_) {
      if (nodes.empty()) continue;
      if (IsCheap(graph_, nodes.back()) && !needed[nodes.back().value()]) {
        continue;
      }
      Group group{nodes, OutputsOf(nodes)};
      for (const ValueId output : group.outputs) {
        made_by[output] = groups.size();
      }
      groups.push_back(std::move(group));
    }
    return Sort(std::move(groups), made_by);
  }

  // Cheap nodes whose result somebody reads without making it himself.
  std::vector<bool> NeededCheapNodes() const {
    std::vector<ValueId> work;
    std::vector<bool> seen(graph_.value_count());
    std::vector<bool> needed(graph_.node_count());
    for (const Graph::Output& output : graph_.outputs()) {
      work.push_back(output.value);
    }
    for (const NodeId node : Nodes(graph_)) {
      if (!live_[node.value()] || HasKernel(node)) continue;
      for (const ValueId operand : graph_.operands(node)) {
        work.push_back(operand);
      }
    }
    for (const NodeList& nodes : groups_) {
      if (nodes.empty() || IsCheap(graph_, nodes.back())) continue;
      for (const NodeId node : nodes) {
        for (const ValueId operand : graph_.operands(node)) {
          if (!Contains(nodes, graph_.producer(operand))) {
            work.push_back(operand);
          }
        }
      }
    }
    while (!work.empty()) {
      const ValueId value = work.back();
      work.pop_back();
      if (seen[value.value()]) continue;
      seen[value.value()] = true;
      const NodeId producer = graph_.producer(value);
      if (!HasKernel(producer) || !IsRematerialized(producer)) continue;
      needed[producer.value()] = IsCheap(graph_, producer);
      for (const ValueId operand : graph_.operands(producer)) {
        work.push_back(operand);
      }
    }
    return needed;
  }

  // What must be there before the node: its operands, and its run-time sizes.
  std::vector<ValueId> Needed(NodeId node) const {
    const auto operands = graph_.operands(node);
    std::vector<ValueId> needed(operands.begin(), operands.end());
    for (const NodeId definition : definitions_.NeededBy(node)) {
      needed.push_back(graph_.result(definition));
    }
    return needed;
  }

  // Kahn's algorithm; of those that are ready the one that ends first.
  std::vector<Group> Sort(std::vector<Group> groups,
                          const std::map<ValueId, size_t>& made_by) const {
    std::vector<std::set<size_t>> readers(groups.size());
    std::vector<size_t> waiting(groups.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      std::set<size_t> reads;
      for (const NodeId node : groups[g].nodes) {
        for (const ValueId operand : Needed(node)) {
          // Behind views and control flow, back to groups.
          std::vector<ValueId> work = {operand};
          std::set<ValueId> seen;
          while (!work.empty()) {
            const ValueId value = work.back();
            work.pop_back();
            if (!seen.insert(value).second) continue;
            const auto maker = made_by.find(value);
            if (maker != made_by.end()) {
              if (maker->second != g) reads.insert(maker->second);
              continue;
            }
            const NodeId producer = graph_.producer(value);
            if (Contains(groups[g].nodes, producer)) continue;
            for (const ValueId next : Needed(producer)) work.push_back(next);
          }
        }
      }
      waiting[g] = reads.size();
      for (const size_t read : reads) readers[read].insert(g);
    }
    std::set<std::pair<NodeId, size_t>> ready;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (waiting[g] == 0) ready.insert({groups[g].nodes.back(), g});
    }
    std::vector<Group> sorted;
    while (!ready.empty()) {
      const size_t g = ready.begin()->second;
      ready.erase(ready.begin());
      for (const size_t reader : readers[g]) {
        if (--waiting[reader] == 0) {
          ready.insert({groups[reader].nodes.back(), reader});
        }
      }
      sorted.push_back(std::move(groups[g]));
    }
    return sorted;
  }

  const Graph& graph_;
  const FusionContext& context_;
  std::vector<bool> live_;
  SymbolDefinitions definitions_;
  std::vector<std::vector<NodeId>> users_;  // by value
  std::vector<bool> is_output_;             // by value
  std::vector<int> group_of_;               // by node
  std::vector<NodeList> groups_;
  std::map<NodeList, std::optional<double>> seconds_;
};

}  // namespace

bool IsView(const Graph& graph, NodeId node) {
  if (graph.op(node) == Op::kBitcast) return true;
  return graph.op(node) == Op::kReshape &&
         graph.shape(graph.operand(node, 0)).ElementCount() ==
             graph.shape(graph.result(node)).ElementCount();
}

std::vector<Group> GreedyPartition(const Graph& graph,
                                   const FusionContext& context) {
  return Partitioner(graph, context).Run();
}

}  // namespace encore::backends
