#include "encore/opt/egraph/tree_cost.h"

#include <cmath>
#include <queue>
#include <span>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::egraph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether a column of this sort leads to another class.
bool IsChild(const EGraph& graph, SortId sort) {
  return sort != kUnitSort && graph.language().is_class(sort);
}

// The cost of the node with the least costs of its children.
double CostOfTerm(const EGraph& graph, NodeId node, const NodeCostFn& cost,
                  const std::vector<double>& costs) {
  double total = cost(graph, node);
  const std::vector<SortId>& sorts = graph.language().op(graph.op(node)).args;
  const std::span<const Value> args = graph.args(node);
  for (size_t i = 0; i < args.size() && total < kInfinity; ++i) {
    if (IsChild(graph, sorts[i])) total += costs[args[i]];
  }
  return total;
}

}  // namespace

double DeclaredCost(const EGraph& graph, NodeId node) {
  const OpInfo& op = graph.language().op(graph.op(node));
  if (!op.extractable) return kInfinity;
  double cost = op.cost;
  for (const SortId sort : op.args) cost += IsChild(graph, sort) ? 0 : 1;
  return cost;
}

std::string DefaultLiteralText(const EGraph& graph, SortId sort, Value value) {
  return sort == kUnitSort ? "()" : graph.language().literals().ToText(value);
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
  if (!best(c).has_value()) {
    return NotFoundError("the class has no term of finite cost");
  }
  struct Frame {
    NodeId node;
    size_t next;  // column to write next
  };
  std::string text;
  std::vector<Frame> stack;
  const auto open = [&](ClassId cls) {
    const NodeId node = *best(cls);
    StrAppend(&text, "(", graph_->language().op(graph_->op(node)).name);
    stack.push_back({node, 0});
  };
  open(c);
  while (!stack.empty() && text.size() <= max_bytes) {
    Frame& top = stack.back();
    const std::span<const Value> args = graph_->args(top.node);
    if (top.next == args.size()) {
      text += ')';
      stack.pop_back();
      continue;
    }
    const SortId sort =
        graph_->language().op(graph_->op(top.node)).args[top.next];
    const Value value = args[top.next++];
    text += ' ';
    if (IsChild(*graph_, sort)) {
      open(ClassId(value));
    } else {
      text += literal(*graph_, sort, value);
    }
  }
  if (text.size() > max_bytes) {
    return ResourceExhaustedError(
        StrCat("the least term is longer than ", max_bytes, " bytes"));
  }
  return text;
}

}  // namespace encore::egraph
