// SymbolDefinitions: which nodes define the symbols that others use.
//
// A symbol that is known at run time only gets its value when a node of trait
// kDefinesSymbols has run: the first in whose result it stands alone as a dim.
// A node whose results, attributes or bodies mention the symbol needs that node
// as it needs its operands.
#ifndef ENCORE_IR_GRAPH_SYMBOL_DEFINITIONS_H_
#define ENCORE_IR_GRAPH_SYMBOL_DEFINITIONS_H_

#include <cstdint>
#include <vector>

#include "encore/ir/graph/graph.h"

namespace encore {

class SymbolDefinitions {
 public:
  // `graph` outlives this. Linear in the graph; nothing where no symbol is
  // known at run time only.
  explicit SymbolDefinitions(const Graph& graph);

  bool empty() const { return finders_.empty(); }
  // The node that defines the symbol; invalid where this graph has none.
  NodeId Of(uint32_t symbol) const {
    return symbol < finders_.size() ? finders_[symbol] : NodeId();
  }
  // Whether `dim` has a symbol that `node` defines.
  bool Finds(NodeId node, const Dim& dim) const;
  // The finders, all before `node`, of symbols that it uses; ascending.
  std::vector<NodeId> NeededBy(NodeId node) const;

 private:
  const Graph& graph_;
  std::vector<NodeId> finders_;  // by symbol
};

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_SYMBOL_DEFINITIONS_H_
