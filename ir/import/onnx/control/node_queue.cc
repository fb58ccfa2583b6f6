#include "encore/ir/import/onnx/control/node_queue.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "encore/ir/import/onnx/control/node_writer.h"
#include "encore/ir/import/onnx/control/subgraphs.h"
#include "encore/ir/import/onnx/format/functions.h"
#include "encore/ir/import/onnx/format/node_order.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {
namespace {

// Ifs of two ranks in each other's branches; each doubles what follows.
constexpr int kMaxDepth = 6;

bool ReadsAny(const Node& node, const std::set<std::string_view>& names) {
  return std::ranges::any_of(NamesRead(node), [&](std::string_view name) {
    return names.contains(name);
  });
}

const Graph* BranchOf(const Node& node, std::string_view name) {
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name == name) return attribute.g.get();
  }
  return nullptr;
}

}  // namespace

NodeQueue::NodeQueue(const Graph& graph, Shared* shared)
    : graph_(graph), shared_(shared), depth_(shared->depth) {
  for (const Node& node : graph.nodes) nodes_.push_back(&node);
}

const Node* NodeQueue::Take() {
  if (nodes_.empty()) return nullptr;
  const Node* node = nodes_.front();
  nodes_.pop_front();
  shared_->depth = depth_ + (merged_.contains(node) ? 1 : 0);
  return node;
}

NodeQueue::Nodes NodeQueue::Dependents(const Nodes& givers) const {
  Names names;
  for (const Node* giver : givers) {
    names.insert(giver->outputs.begin(), giver->outputs.end());
  }
  names.erase("");
  Nodes dependents;
  for (const Node* next : nodes_) {
    if (!ReadsAny(*next, names)) continue;
    dependents.push_back(next);
    names.insert(next->outputs.begin(), next->outputs.end());
    names.erase("");
  }
  return dependents;
}

NodeQueue::Nodes NodeQueue::WithSources(const Nodes& nodes) const {
  const std::set<const Node*> given(nodes.begin(), nodes.end());
  Names needed;
  Nodes all;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const bool gives = std::ranges::any_of(
        (*node)->outputs,
        [&](std::string_view name) { return needed.contains(name); });
    if (!gives && !given.contains(*node)) continue;
    all.push_back(*node);
    for (const std::string_view name : NamesRead(**node)) needed.insert(name);
  }
  std::ranges::reverse(all);
  return all;
}

NodeQueue::Nodes NodeQueue::Cluster(const Node& node) const {
  Nodes cluster;
  for (;;) {
    Nodes givers = cluster;
    givers.push_back(&node);
    const Nodes dependents = Dependents(givers);
    std::set<const Node*> members(cluster.begin(), cluster.end());
    members.insert(dependents.begin(), dependents.end());
    Nodes grown;
    std::ranges::copy_if(
        nodes_, std::back_inserter(grown),
        [&](const Node* next) { return members.contains(next); });
    grown = WithSources(grown);
    if (grown.size() == cluster.size()) return cluster;
    cluster = std::move(grown);
  }
}

bool NodeQueue::Defer(const Node& node) {
  const Nodes dependents = Dependents({&node});
  if (dependents.size() == nodes_.size() || !deferred_.insert(&node).second) {
    return false;
  }
  const std::set<const Node*> behind(dependents.begin(), dependents.end());
  std::erase_if(nodes_,
                [&](const Node* next) { return behind.contains(next); });
  nodes_.push_back(&node);
  nodes_.insert(nodes_.end(), dependents.begin(), dependents.end());
  return true;
}

std::vector<std::string_view> NodeQueue::ReadOutside(const Node& node,
                                                     const Nodes& inside,
                                                     bool by_inside) const {
  const std::set<const Node*> own(inside.begin(), inside.end());
  Names read;
  for (const ValueInfo& output : graph_.outputs) read.insert(output.name);
  for (const Node* next : nodes_) {
    if (!by_inside && own.contains(next)) continue;
    for (const std::string_view name : NamesRead(*next)) read.insert(name);
  }
  std::vector<std::string_view> wanted;
  const auto add = [&](const Node& giver) {
    for (const std::string_view name : giver.outputs) {
      if (!name.empty() && read.contains(name)) wanted.push_back(name);
    }
  };
  add(node);
  for (const Node* next : inside) add(*next);
  return wanted;
}

StatusOr<const Node*> NodeQueue::Merge(NodeContext& context,
                                       const Nodes& inside,
                                       std::vector<std::string_view> outputs) {
  const Node& node = context.node();
  Node merged = node;
  for (Attribute& attribute : merged.attributes) {
    const bool then = attribute.name == "then_branch";
    FunctionNames& names = shared_->names;
    const std::string_view condition = names.emplace_back(
        StrCat(then ? "then#" : "else#", names.size(), "/", node.outputs[0]));
    ENCORE_RETURN_IF_ERROR(context.scope().Bind(
        condition, Bound{std::nullopt, Literal::Scalar(then), std::nullopt}));
    Graph branch;
    branch.nodes.push_back(node);
    branch.nodes[0].inputs = {condition};
    for (const Node* next : inside) branch.nodes.push_back(*next);
    for (const std::string_view name : outputs) {
      branch.outputs.push_back(NodeWriter::Info(name));
    }
    attribute.g = std::make_shared<const Graph>(std::move(branch));
  }
  merged.outputs = std::move(outputs);
  return &made_.emplace_back(std::move(merged));
}

StatusOr<std::optional<NodeQueue::Names>> NodeQueue::FindMixed(
    NodeContext& context, const Nodes& inside,
    const std::vector<std::string_view>& names) {
  ENCORE_ASSIGN_OR_RETURN(const Node* trial, Merge(context, inside, names));
  const Graph* graphs[] = {BranchOf(*trial, "then_branch"),
                           BranchOf(*trial, "else_branch")};
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {graphs[0], graphs[1]}));
  std::vector<Body> bodies;
  for (const Graph* graph : graphs) {
    Obstacle obstacle = Obstacle::kNone;
    StatusOr<Body> body = MakeBody(context, context.builder(), *graph, captures,
                                   {}, {.mixed = true, .obstacle = &obstacle});
    if (!body.ok() && obstacle == Obstacle::kShapeMismatch &&
        context.bodies().extents_given()) {
      return std::nullopt;
    }
    if (!body.ok()) return context.scope().Stop(obstacle, body.status());
    bodies.push_back(*std::move(body));
  }
  Names mixed;
  for (size_t i = 0; i < names.size(); ++i) {
    const Value a = bodies[0].outputs[i], b = bodies[1].outputs[i];
    if (!a.valid() || !b.valid() || a.rank() != b.rank()) {
      mixed.insert(names[i]);
    }
  }
  return std::optional(std::move(mixed));
}

StatusOr<const Node*> NodeQueue::Absorb(NodeContext& context) {
  const Node& node = context.node();
  Nodes inside = Cluster(node);
  const auto candidates = ReadOutside(node, inside, /*by_inside=*/true);
  if (candidates.empty()) return nullptr;
  ENCORE_ASSIGN_OR_RETURN(const std::optional<Names> mixed,
                          FindMixed(context, inside, candidates));
  if (mixed) {
    std::erase_if(inside,
                  [&](const Node* next) { return !ReadsAny(*next, *mixed); });
    inside = WithSources(inside);
  }
  std::vector<std::string_view> outputs =
      ReadOutside(node, inside, /*by_inside=*/false);
  std::erase_if(outputs, [&](std::string_view name) {
    const bool two = mixed && mixed->contains(name);
    if (two) context.scope().AddMixed(name);
    return two;
  });
  ENCORE_ASSIGN_OR_RETURN(const Node* merged,
                          Merge(context, inside, std::move(outputs)));
  const std::set<const Node*> taken(inside.begin(), inside.end());
  std::erase_if(nodes_, [&](const Node* next) { return taken.contains(next); });
  return merged->outputs.empty() ? nullptr : merged;
}

Status NodeQueue::Splice(const Node& node, const Graph& branch) {
  ENCORE_ASSIGN_OR_RETURN(std::vector<Node> nodes,
                          BranchInPlace(branch, node, &shared_->names));
  for (auto next = nodes.rbegin(); next != nodes.rend(); ++next) {
    nodes_.push_front(&made_.emplace_back(std::move(*next)));
  }
  return OkStatus();
}

Status NodeQueue::Replace(NodeContext& context, const Status& why) {
  const Node& node = context.node();
  if (node.op_type != "If" || merged_.contains(&node)) return why;
  if (const auto known = context.scope().Constant(node.inputs[0])) {
    return Splice(node, *BranchOf(node, known->AsInt(0) != 0 ? "then_branch"
                                                             : "else_branch"));
  }
  if (Defer(node)) return OkStatus();
  if (depth_ >= kMaxDepth) {
    return UnimplementedError(
        "If nodes whose branches give a value in two ranks nest too deep");
  }
  shared_->depth = depth_ + 1;
  ENCORE_ASSIGN_OR_RETURN(const Node* merged, Absorb(context));
  if (merged == nullptr) return OkStatus();
  merged_.insert(merged);
  nodes_.push_front(merged);
  return OkStatus();
}

}  // namespace encore::onnx
