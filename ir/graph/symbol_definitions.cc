#include "encore/ir/graph/symbol_definitions.h"

#include <algorithm>
#include <type_traits>

#include "encore/ir/types/dim_symbols.h"

namespace encore {
namespace {

// Every symbol that the results, attributes and bodies of a node mention.
// Bodies nest at most kMaxBodyDepth deep.
template <typename Visit>
void ForEachSymbol(const Graph& graph, NodeId node, const Visit& visit) {
  for (int i = 0; i < graph.result_count(node); ++i) {
    for (const Dim& dim : graph.shape(graph.result(node, i)).dims()) {
      ForEachSymbol(dim, visit);
    }
  }
  VisitFields(graph.attributes(node), [&](std::string_view, const auto& field,
                                          const auto&) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dims>) {
      for (const Dim& dim : field) ForEachSymbol(dim, visit);
    }
  });
  for (const Graph& body : graph.bodies(node)) {
    for (const NodeId inner : Nodes(body)) ForEachSymbol(body, inner, visit);
  }
}

}  // namespace

SymbolDefinitions::SymbolDefinitions(const Graph& graph) : graph_(graph) {
  const std::span<const Symbol> symbols = graph.symbols();
  if (std::ranges::none_of(symbols, &Symbol::at_run_time)) return;
  finders_.resize(symbols.size());
  for (const NodeId node : Nodes(graph)) {
    if (!graph.info(node).has(kDefinesSymbols)) continue;
    for (int i = 0; i < graph.result_count(node); ++i) {
      for (const Dim& dim : graph.shape(graph.result(node, i)).dims()) {
        const auto symbol = dim.symbol();
        if (!symbol || !symbols[*symbol].at_run_time) continue;
        if (!finders_[*symbol].valid()) finders_[*symbol] = node;
      }
    }
  }
}

bool SymbolDefinitions::Finds(NodeId node, const Dim& dim) const {
  bool finds = false;
  ForEachSymbol(dim, [&](uint32_t symbol) { finds |= Of(symbol) == node; });
  return finds;
}

std::vector<NodeId> SymbolDefinitions::NeededBy(NodeId node) const {
  std::vector<NodeId> needed;
  if (empty()) return needed;
  ForEachSymbol(graph_, node, [&](uint32_t symbol) {
    const NodeId finder = Of(symbol);
    if (finder.valid() && finder < node) needed.push_back(finder);
  });
  std::ranges::sort(needed);
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  return needed;
}

}  // namespace encore
