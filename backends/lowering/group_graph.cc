#include "encore/backends/lowering/group_graph.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "encore/backends/region/build.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/check.h"

namespace encore::backends {
namespace {

// Kernels whose seconds are kept at most.
constexpr size_t kMostKnown = 1 << 14;

// Whether a reduction would be computed again for outer points that it does
// not depend on.
bool Recomputes(const Region& region) {
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
        used[s].insert(used[access.number].begin(), used[access.number].end());
      }
    }
    if (stage.kind != Stage::Kind::kReduce) continue;
    for (uint32_t v = 0; v < region.outer; ++v) {
      if (region.extents[v] != Dim(1) && used[s].count(v) == 0) return true;
    }
  }
  return false;
}
}  // namespace

bool Contains(const NodeList& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

NodeList Union(const NodeList& a, const NodeList& b) {
  NodeList nodes;
  std::ranges::set_union(a, b, std::back_inserter(nodes));
  return nodes;
}

GroupGraph::GroupGraph(const Graph& graph, const FusionContext& context)
    : graph_(graph),
      context_(context),
      live_(LiveNodes(graph)),
      definitions_(graph),
      users_(graph.value_count()),
      is_output_(graph.value_count()) {
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

ValueId GroupGraph::BehindViews(ValueId value) const {
  for (;;) {
    const NodeId node = graph_.producer(value);
    if (!IsView(graph_, node) || !HasKernel(node)) return value;
    value = graph_.operand(node, 0);
  }
}

std::vector<ValueId> GroupGraph::Needed(NodeId node) const {
  const auto operands = graph_.operands(node);
  std::vector<ValueId> needed(operands.begin(), operands.end());
  for (const NodeId definition : definitions_.NeededBy(node)) {
    needed.push_back(graph_.result(definition));
  }
  return needed;
}
std::vector<ValueId> GroupGraph::OutputsOf(const NodeList& nodes) const {
  std::vector<ValueId> outputs;
  std::set<ValueId> behind_remade;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const ValueId result = graph_.result(*it);
    bool needed = is_output_[result.value()] || behind_remade.count(result) > 0;
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
NodeList GroupGraph::LiveOut(const NodeList& nodes) const {
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
std::optional<double> GroupGraph::Seconds(const NodeList& nodes,
                                          const std::vector<ValueId>& outputs) {
  std::pair key(nodes, outputs);
  if (const auto known = seconds_.find(key); known != seconds_.end()) {
    return known->second;
  }
  if (seconds_.size() >= kMostKnown) seconds_.clear();
  const std::optional<double> seconds = TraceSeconds(nodes, outputs);
  seconds_.emplace(std::move(key), seconds);
  return seconds;
}

std::optional<double> GroupGraph::TraceSeconds(
    const NodeList& nodes, const std::vector<ValueId>& outputs) const {
  const std::optional<BuiltRegion> built = BuildRegion(graph_, nodes, outputs);
  if (!built.has_value() || Recomputes(built->region)) return std::nullopt;
  return context_.seconds(*built, site(nodes.back()));
}

std::string_view GroupGraph::WhyNoKernel(
    const NodeList& nodes, const std::vector<ValueId>& outputs) const {
  const std::optional<BuiltRegion> built = BuildRegion(graph_, nodes, outputs);
  if (!built.has_value()) return "the two are no one region";
  if (Recomputes(built->region)) {
    return "a reduction would be computed again for each point";
  }
  return "the backend has no kernel for it";
}

std::vector<Group> GroupGraph::Ordered(std::vector<Group> groups) const {
  const std::vector<bool> needed = NeededCheapNodes(groups);
  std::erase_if(groups, [&](const Group& group) {
    return OnlyRemakes(group.nodes) && !needed[group.nodes.back().value()];
  });
  std::map<ValueId, size_t> made_by;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const ValueId output : groups[g].outputs) made_by[output] = g;
  }
  return Sort(std::move(groups), made_by);
}

bool GroupGraph::OnlyRemakes(const NodeList& nodes) const {
  return IsCheap(nodes.back()) && std::ranges::all_of(nodes, [&](NodeId node) {
           return IsRematerialized(node);
         });
}

std::vector<bool> GroupGraph::NeededCheapNodes(
    std::span<const Group> groups) const {
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
  for (const Group& group : groups) {
    const NodeList& nodes = group.nodes;
    if (OnlyRemakes(nodes)) continue;
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
    needed[producer.value()] = IsCheap(producer);
    for (const ValueId operand : graph_.operands(producer)) {
      work.push_back(operand);
    }
  }
  return needed;
}
std::vector<Group> GroupGraph::Sort(
    std::vector<Group> groups, const std::map<ValueId, size_t>& made_by) const {
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
          const NodeId producer = graph_.producer(value);
          // What it computes itself it does not wait for, also where another
          // group does so for others.
          if (!seen.insert(value).second ||
              Contains(groups[g].nodes, producer)) {
            continue;
          }
          const auto maker = made_by.find(value);
          if (maker != made_by.end()) {
            reads.insert(maker->second);
            continue;
          }
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
  ENCORE_CHECK_EQ(sorted.size(), groups.size()) << "groups wait for each other";
  return sorted;
}
}  // namespace encore::backends
