#include "encore/opt/egraph/run/tree_cost.h"

#include <cmath>
#include <queue>
#include <span>
#include <utility>

namespace encore::egraph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The cost of the node with the least costs of its children.
double CostOfTerm(const EGraph& graph, NodeId node, const NodeCostFn& cost,
                  const std::vector<double>& costs) {
  double total = cost(graph, node);
  const std::vector<SortId>& sorts = graph.language().op(graph.op(node)).args;
  const std::span<const Value> args = graph.args(node);
  for (size_t i = 0; i < args.size() && total < kInfinity; ++i) {
    if (graph.language().has_terms(sorts[i])) total += costs[args[i]];
  }
  return total;
}

}  // namespace

double DeclaredCost(const EGraph& graph, NodeId node) {
  const OpInfo& op = graph.language().op(graph.op(node));
  if (!op.extractable) return kInfinity;
  double cost = op.cost;
  for (const SortId sort : op.args) {
    cost += graph.language().has_terms(sort) ? 0 : 1;
  }
  return cost;
}

// Knuth's generalization of Dijkstra's algorithm: classes are settled in the
// order of their costs, and a node has a cost as soon as its children are
// settled, so that the chosen nodes make no cycle even where costs are zero.
TreeCosts::TreeCosts(const EGraph& graph, const NodeCostFn& cost)
    : graph_(&graph),
      costs_(graph.node_limit(), kInfinity),
      best_(graph.node_limit()) {
  using Entry = std::pair<double, uint32_t>;  // cost, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  const auto offer = [&](NodeId node) {
    if (graph.language().is_relation(graph.op(node))) return;
    const double total = CostOfTerm(graph, node, cost, costs_);
    if (total < kInfinity) queue.emplace(total, node.value());
  };
  for (uint32_t n = 0; n < graph.node_limit(); ++n) {
    if (graph.live(NodeId(n))) offer(NodeId(n));
  }
  while (!queue.empty()) {
    const auto [total, n] = queue.top();
    queue.pop();
    const ClassId cls = graph.class_of(NodeId(n));
    if (best_[cls.value()].valid()) continue;
    costs_[cls.value()] = total;
    best_[cls.value()] = NodeId(n);
    for (const NodeId user : graph.Users(cls)) offer(user);
  }
}

double TreeCosts::cost(ClassId c) const {
  return costs_[graph_->Find(c).value()];
}

std::optional<NodeId> TreeCosts::best(ClassId c) const {
  const NodeId node = best_[graph_->Find(c).value()];
  if (!node.valid()) return std::nullopt;
  return node;
}

StatusOr<std::string> TreeCosts::Text(ClassId c, size_t max_bytes,
                                      const LiteralTextFn& literal) const {
  return TermText(
      *graph_, c, [this](ClassId cls) { return best(cls); }, max_bytes,
      literal);
}

}  // namespace encore::egraph
