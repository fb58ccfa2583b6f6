#include "encore/backends/lowering/fusion_rules.h"

#include <algorithm>
#include <set>

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
}  // namespace

bool Has(const Graph& graph, const NodeList& nodes, OpTraits trait) {
  return std::ranges::any_of(
      nodes, [&](NodeId node) { return graph.info(node).has(trait); });
}

bool MayFuse(const GroupGraph& groups, const NodeList& from,
             const NodeList& into, const SourceOfValue& source) {
  const Graph& graph = groups.graph();
  if (Has(graph, from, kEndsKernel)) return false;
  const bool computes = Has(graph, from, kContraction);
  // Kernels of contractions report nothing.
  if (Has(graph, into, kContraction) &&
      std::ranges::any_of(from, [&](NodeId node) {
        return MayFail(graph.op(node), graph.attributes(node));
      })) {
    return false;
  }
  if (!Has(graph, into, kRereads))
    return !computes || !Has(graph, into, kReduction);
  // What comes after the rereading may be computed with it.
  if (!ReadBefore(groups, from, into, source))
    return !computes && !Has(graph, from, kReduction);
  // Before it: moved, where that is no rereading too, and not for windows.
  const auto combines_windows = [&](NodeId node) {
    const OpInfo& info = graph.info(node);
    return info.has(kReduction) && info.has(kRereads);
  };
  return OnlyMoves(graph, from) && std::ranges::none_of(into, combines_windows);
}

bool OnlyMoves(const Graph& graph, const NodeList& nodes) {
  return std::ranges::all_of(nodes, [&](NodeId node) {
    const OpInfo& info = graph.info(node);
    return info.has(kMovement) && !info.has(kRereads);
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
