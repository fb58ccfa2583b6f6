#include "encore/ir/transform/grad.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/transform/grad_rules.h"

namespace encore {
namespace {

using Values = std::vector<Value>;

Status WithoutRule(const Graph& graph, NodeId node) {
  const std::string& origin = graph.origin(node);
  return UnimplementedError(StrCat(graph.op(node), origin.empty() ? "" : " of ",
                                   origin, " has no derivative rule"));
}

// The nodes that `y` needs, up to the values in `ends`, ascending.
std::vector<NodeId> Between(const Graph& graph, ValueId y,
                            const std::set<ValueId>& ends) {
  std::set<NodeId> found;
  std::vector<ValueId> work = {y};
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    const NodeId node = graph.producer(value);
    if (ends.contains(value) || !found.insert(node).second) continue;
    for (const ValueId operand : graph.operands(node)) work.push_back(operand);
  }
  return {found.begin(), found.end()};
}

// Those of `nodes` that depend on a value in `ends`.
std::vector<NodeId> Depending(const Graph& graph,
                              const std::vector<NodeId>& nodes,
                              const std::set<ValueId>& ends) {
  std::set<ValueId> depending = ends;
  std::vector<NodeId> kept;
  for (const NodeId node : nodes) {
    const auto operands = graph.operands(node);
    if (std::ranges::none_of(operands, [&](ValueId operand) {
          return depending.contains(operand);
        })) {
      continue;
    }
    kept.push_back(node);
    for (int i = 0; i < graph.result_count(node); ++i) {
      depending.insert(graph.result(node, i));
    }
  }
  return kept;
}

// y in primitives, with `at` in place of `xs`.
StatusOr<Value> Primal(GraphBuilder& g, Value y, std::span<const Value> xs,
                       std::span<const Value> at) {
  std::map<ValueId, Value> values;
  std::set<ValueId> ends;
  for (size_t i = 0; i < xs.size(); ++i) {
    values[xs[i].id()] = at[i];
    ends.insert(xs[i].id());
  }
  const std::vector<NodeId> nodes =
      Depending(g.graph(), Between(g.graph(), y.id(), ends), ends);
  const auto current = [&](ValueId value) {
    const auto found = values.find(value);
    return found == values.end() ? g.Wrap(value) : found->second;
  };
  for (const NodeId node : nodes) {
    const OpInfo& info = g.graph().info(node);
    if (info.has(kBodies) || info.has(kNonFlatValues) ||
        info.op == Op::kCustom) {
      return WithoutRule(g.graph(), node);
    }
    Values operands;
    for (const ValueId operand : g.graph().operands(node)) {
      operands.push_back(current(operand));
    }
    const Attributes attributes = g.graph().attributes(node);
    Values results;
    if (info.level == OpLevel::kComposite) {
      ENCORE_ASSIGN_OR_RETURN(results,
                              Decompose(g, info.op, attributes, operands));
    } else {
      results = g.Node(info.op, operands, attributes);
    }
    ENCORE_RETURN_IF_ERROR(g.status());
    for (size_t i = 0; i < results.size(); ++i) {
      values[g.graph().result(node, static_cast<int>(i))] = results[i];
    }
  }
  return current(y.id());
}

// The sums of what reaches each value.
class Adjoints {
 public:
  explicit Adjoints(GraphBuilder& g) : g_(g) {}

  void Add(ValueId value, Value part) {
    if (!part.valid()) return;
    const auto [it, first] = sums_.emplace(value, part);
    if (!first) it->second = g_.Add(it->second, part);
  }
  Value Of(ValueId value) const {
    const auto found = sums_.find(value);
    return found == sums_.end() ? Value() : found->second;
  }

 private:
  GraphBuilder& g_;
  std::map<ValueId, Value> sums_;
};

// Sends what reached the node's result on to its operands.
Status PassOn(GraphBuilder& g, NodeId id, Adjoints* adjoints) {
  GradNode node{g.graph().op(id), g.graph().attributes(id), {}, {}, {}};
  node.y = g.Wrap(g.graph().result(id));
  node.dy = adjoints->Of(node.y.id());
  if (!node.dy.valid()) return OkStatus();
  for (const ValueId operand : g.graph().operands(id)) {
    node.x.push_back(g.Wrap(operand));
  }
  const OpInfo& info = Info(node.op);
  auto parts = info.has(kElementwise)   ? GradElementwise(g, node)
               : info.has(kContraction) ? GradContraction(g, node)
                                        : GradMovement(g, node);
  if (!parts) return WithoutRule(g.graph(), id);
  ENCORE_RETURN_IF_ERROR(g.status());
  for (size_t i = 0; i < parts->size(); ++i) {
    if (!IsFloat(node.x[i].dtype())) continue;
    adjoints->Add(node.x[i].id(), (*parts)[i]);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<Value>> Gradients(GraphBuilder& g, Value y,
                                       std::span<const Value> xs,
                                       std::span<const Value> at) {
  if (!y.valid() || y.type().kind != ValueKind::kTensor ||
      !IsFloat(y.dtype())) {
    return InvalidArgumentError(StrCat("the derivative of ", y.type(),
                                       ", expected a tensor of floats"));
  }
  std::set<ValueId> ends;
  for (const Value& x : at) {
    if (!ends.insert(x.id()).second) {
      return UnimplementedError(
          "two names are given for the derivative with respect to one value");
    }
  }
  ENCORE_ASSIGN_OR_RETURN(const Value primal, Primal(g, y, xs, at));
  Adjoints adjoints(g);
  adjoints.Add(primal.id(),
               g.Full(primal.shape(), g.Scalar(primal.dtype(), 1.0)));
  const std::vector<NodeId> nodes =
      Depending(g.graph(), Between(g.graph(), primal.id(), ends), ends);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    ENCORE_RETURN_IF_ERROR(PassOn(g, *node, &adjoints));
  }
  Values gradients;
  for (const Value& x : at) {
    const Value gradient = adjoints.Of(x.id());
    gradients.push_back(gradient.valid()
                            ? gradient
                            : g.Full(x.shape(), g.Scalar(x.dtype(), 0.0)));
  }
  ENCORE_RETURN_IF_ERROR(g.status());
  return gradients;
}

}  // namespace encore
