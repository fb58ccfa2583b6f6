#include "encore/ir/graph/symbol_definitions.h"

#include <algorithm>
#include <type_traits>

#include "encore/ir/types/dim_symbols.h"

namespace encore {
namespace {

// Every symbol that the types of the results and the attributes mention.
template <typename Visit>
void ForEachOwnSymbol(const Graph& graph, NodeId node, const Visit& visit) {
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
}

// And those of its bodies, which nest at most kMaxBodyDepth deep.
template <typename Visit>
void ForEachSymbol(const Graph& graph, NodeId node, const Visit& visit) {
  ForEachOwnSymbol(graph, node, visit);
  for (const Graph& body : graph.bodies(node)) {
    for (const NodeId inner : Nodes(body)) ForEachSymbol(body, inner, visit);
  }
}

template <typename T>
void SortUnique(std::vector<T>* list) {
  std::ranges::sort(*list);
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

}  // namespace

SymbolDefinitions::SymbolDefinitions(const Graph& graph) : graph_(graph) {
  const std::span<const Symbol> symbols = graph.symbols();
  if (std::ranges::none_of(symbols, &Symbol::at_run_time)) return;
  nodes_.resize(symbols.size());
  for (const NodeId node : Nodes(graph)) {
    if (!graph.info(node).has(kDefinesSymbols)) continue;
    for (const Dim& dim : DefiningDims(graph, node)) {
      const auto symbol = dim.symbol();
      if (!symbol || !symbols[*symbol].at_run_time) continue;
      if (!nodes_[*symbol].valid()) nodes_[*symbol] = node;
    }
  }
}

bool SymbolDefinitions::Defines(NodeId node, const Dim& dim) const {
  bool defines = false;
  ForEachSymbol(dim, [&](uint32_t symbol) { defines |= Of(symbol) == node; });
  return defines;
}

std::vector<NodeId> SymbolDefinitions::NeededBy(NodeId node) const {
  std::vector<NodeId> needed;
  if (empty()) return needed;
  ForEachSymbol(graph_, node, [&](uint32_t symbol) {
    const NodeId definition = Of(symbol);
    if (definition.valid() && definition < node) needed.push_back(definition);
  });
  SortUnique(&needed);
  return needed;
}

Dims DefiningDims(const Graph& graph, NodeId node) {
  if (graph.op(node) == Op::kDefineSymbols) {
    return graph.attrs<DefineSymbolsAttrs>(node).dims;
  }
  Dims dims;
  for (int i = 0; i < graph.result_count(node); ++i) {
    const Dims& result = graph.shape(graph.result(node, i)).dims();
    dims.insert(dims.end(), result.begin(), result.end());
  }
  return dims;
}

std::vector<uint32_t> SymbolsOf(const Graph& graph, NodeId node) {
  std::vector<uint32_t> symbols;
  ForEachOwnSymbol(graph, node,
                   [&](uint32_t symbol) { symbols.push_back(symbol); });
  SortUnique(&symbols);
  return symbols;
}

}  // namespace encore
