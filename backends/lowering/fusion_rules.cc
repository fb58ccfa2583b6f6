#include "encore/backends/lowering/fusion_rules.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

// Whether `from` is read by a node of `into` that reduces or rereads, or by
// one before it.
bool ReadBefore(const GroupGraph& groups, const NodeList& from,
                const NodeList& into, const SourceOfValue& source) {
  const Graph& graph = groups.graph();
  std::set<NodeId> before;
  for (const NodeId node : into) {
    const OpInfo& info = graph.info(node);
    if (info.has(kReduction) || info.has(kRereads)) {
      before.insert(node);
    }
  }
  for (auto it = into.rbegin(); it != into.rend(); ++it) {
    for (const ValueId result : {graph.result(*it)}) {
      for (const NodeId user : groups.users(result)) {
        if (before.count(user) > 0 && Contains(into, user)) before.insert(*it);
      }
    }
  }
  for (const NodeId node : before) {
    for (const ValueId operand : graph.operands(node)) {
      if (Contains(from, source(operand))) return true;
    }
  }
  return false;
}

std::optional<FusionObstacle> FindFailing(const Graph& graph,
                                          const NodeList& from,
                                          const NodeList& into) {
  if (!Has(graph, into, kContraction)) return std::nullopt;
  for (const NodeId node : from) {
    if (MayFail(graph.op(node), graph.attributes(node))) {
      return FusionObstacle{FusionRule::kMayFail, node};
    }
  }
  return std::nullopt;
}

// What of the nodes depends on the value.
NodeList Behind(const GroupGraph& groups, const NodeList& nodes,
                ValueId value) {
  const Graph& graph = groups.graph();
  NodeList behind;
  std::set<ValueId> made = {value};
  for (const NodeId node : nodes) {
    const auto depends = [&](ValueId operand) {
      return made.contains(operand) ||
             made.contains(groups.BehindViews(operand));
    };
    if (!std::ranges::any_of(graph.operands(node), depends)) continue;
    behind.push_back(node);
    made.insert(graph.result(node));
  }
  return behind;
}
}  // namespace

bool Has(const Graph& graph, const NodeList& nodes, OpTraits trait) {
  return std::ranges::any_of(
      nodes, [&](NodeId node) { return graph.info(node).has(trait); });
}

std::string ToText(const Graph& graph, const FusionObstacle& obstacle) {
  const std::string_view op = graph.info(obstacle.node).mnemonic;
  switch (obstacle.rule) {
    case FusionRule::kEndsKernel:
      return StrCat(op, " ends its kernel (kEndsKernel)");
    case FusionRule::kMayFail:
      return StrCat(op,
                    " may fail, which kernels of contractions do not report"
                    " (kContraction)");
    case FusionRule::kReducesContraction:
      return StrCat(op,
                    " combines what a contraction computes"
                    " (kReduction after kContraction)");
    case FusionRule::kReadsAgain:
      return StrCat(op,
                    " would be computed each time that it is read"
                    " (kRereads)");
    case FusionRule::kCombinesWindows:
      return StrCat(op,
                    " combines windows that overlap"
                    " (kReduction and kRereads)");
    case FusionRule::kCombinesBesideReread:
      return StrCat(op,
                    " combines elements, and what follows reads some again"
                    " (kRereads)");
  }
  return "";
}

namespace {

// Whether each result is an element of an operand: moved, or as a wider float,
// which a product's kernel reads in the narrow form.
bool KeepsElements(const Graph& graph, NodeId node) {
  const OpInfo& info = graph.info(node);
  if (info.has(kMovement)) return !info.has(kRereads);
  if (info.op != Op::kCast) return false;
  const DType from = graph.type(graph.operands(node)[0]).dtype;
  const DType to = graph.type(graph.result(node)).dtype;
  return IsFloat(from) && IsFloat(to) && BitWidth(from) >= 16 &&
         BitWidth(from) < BitWidth(to);
}

}  // namespace

std::optional<FusionObstacle> FindObstacle(const GroupGraph& groups,
                                           const NodeList& from,
                                           const NodeList& into,
                                           const SourceOfValue& source) {
  const Graph& graph = groups.graph();
  const auto first = [&](FusionRule rule, const NodeList& nodes,
                         auto holds) -> std::optional<FusionObstacle> {
    const auto it = std::ranges::find_if(nodes, holds);
    if (it == nodes.end()) return std::nullopt;
    return FusionObstacle{rule, *it};
  };
  const auto has = [&](OpTraits trait) {
    return [&graph, trait](NodeId node) { return graph.info(node).has(trait); };
  };
  if (const auto ends = first(FusionRule::kEndsKernel, from, has(kEndsKernel)))
    return ends;
  const bool computes = Has(graph, from, kContraction);
  if (const auto fails = FindFailing(graph, from, into)) return fails;
  if (!Has(graph, into, kRereads)) {
    if (!computes) return std::nullopt;
    return first(FusionRule::kReducesContraction, into, has(kReduction));
  }
  // What comes after the rereading may be computed with it.
  if (!ReadBefore(groups, from, into, source)) {
    return first(FusionRule::kCombinesBesideReread, from, [&](NodeId node) {
      return graph.info(node).has(kContraction) ||
             graph.info(node).has(kReduction);
    });
  }
  // Before it: moved, where that is no rereading too, and not for windows.
  const auto computed = first(FusionRule::kReadsAgain, from, [&](NodeId node) {
    return !KeepsElements(graph, node);
  });
  if (computed) return computed;
  return first(FusionRule::kCombinesWindows, into, [&](NodeId node) {
    const OpInfo& info = graph.info(node);
    return info.has(kReduction) && info.has(kRereads);
  });
}

bool MayFuse(const GroupGraph& groups, const NodeList& from,
             const NodeList& into, const SourceOfValue& source) {
  return !FindObstacle(groups, from, into, source).has_value();
}

std::optional<FusionObstacle> FindObstacleBehind(const GroupGraph& groups,
                                                 const NodeList& from,
                                                 const NodeList& into,
                                                 ValueId value) {
  if (const auto fails = FindFailing(groups.graph(), from, into)) return fails;
  return FindObstacle(
      groups, from, Behind(groups, into, value), [&groups](ValueId operand) {
        return groups.graph().producer(groups.BehindViews(operand));
      });
}

bool OnlyMoves(const Graph& graph, const NodeList& nodes) {
  return std::ranges::all_of(
      nodes, [&](NodeId node) { return KeepsElements(graph, node); });
}

bool RepeatsContraction(const GroupGraph& groups, const NodeList& nodes) {
  const Graph& graph = groups.graph();
  enum class Behind : uint8_t { kNone, kContraction, kReduction };
  std::map<NodeId, Behind> behind;
  for (const NodeId node : nodes) {  // ascending: makers come first
    Behind most = Behind::kNone;
    for (const ValueId operand : graph.operands(node)) {
      const auto maker =
          behind.find(graph.producer(groups.BehindViews(operand)));
      if (maker != behind.end()) most = std::max(most, maker->second);
    }
    const OpInfo& info = graph.info(node);
    if (info.has(kContraction)) {
      if (most == Behind::kContraction) return true;
      most = Behind::kContraction;
    } else if (info.has(kReduction) && most != Behind::kNone) {
      most = Behind::kReduction;
    }
    behind.emplace(node, most);
  }
  return false;
}

bool StoresBeforeContraction(const GroupGraph& groups, const NodeList& nodes,
                             std::span<const ValueId> outputs) {
  const Graph& graph = groups.graph();
  std::set<NodeId> behind, before;
  const auto makers_of = [&](NodeId node, auto visit) {
    for (const ValueId operand : graph.operands(node)) {
      const NodeId maker = graph.producer(groups.BehindViews(operand));
      if (Contains(nodes, maker)) visit(maker);
      const NodeId view = graph.producer(operand);
      if (view != maker && Contains(nodes, view)) visit(view);
    }
  };
  for (const NodeId node : nodes) {  // ascending: makers come first
    bool is_behind = graph.info(node).has(kContraction);
    makers_of(node, [&](NodeId maker) { is_behind |= behind.contains(maker); });
    if (is_behind) behind.insert(node);
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (!graph.info(*it).has(kContraction) && !before.contains(*it)) continue;
    makers_of(*it, [&](NodeId maker) { before.insert(maker); });
  }
  return std::ranges::any_of(outputs, [&](ValueId output) {
    const NodeId maker = graph.producer(output);
    return before.contains(maker) && !behind.contains(maker);
  });
}

bool MayChain(const GroupGraph& groups, const NodeList& first,
              const NodeList& middle, const NodeList& last) {
  const Graph& graph = groups.graph();
  const auto may_fail = [&](NodeId node) {
    return MayFail(graph.op(node), graph.attributes(node));
  };
  for (const NodeList* part : {&first, &middle, &last}) {
    if (Has(graph, *part, kEndsKernel) ||
        std::ranges::any_of(*part, may_fail)) {
      return false;
    }
  }
  return Has(graph, first, kContraction) && Has(graph, last, kContraction) &&
         Has(graph, middle, kReduction) && !Has(graph, middle, kRereads);
}

bool IsMoveBeforeContraction(const GroupGraph& graph, const NodeList& from,
                             const NodeList& into,
                             const SourceOfValue& source) {
  return Has(graph.graph(), into, kContraction) &&
         ReadBefore(graph, from, into, source);
}

}  // namespace encore::backends
