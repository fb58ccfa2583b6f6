// SymbolDefinitions: which nodes define the symbols that others use.
//
// A symbol that is known at run time only gets its value when a node of trait
// kDefinesSymbols has run: the define_symbols node that names it, or the first
// node in whose result it stands alone as a dim. A node whose results,
// attributes or bodies mention the symbol needs that node as it needs its
// operands.
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

  bool empty() const { return nodes_.empty(); }
  // The node that defines the symbol; invalid where this graph has none.
  NodeId Of(uint32_t symbol) const {
    return symbol < nodes_.size() ? nodes_[symbol] : NodeId();
  }
  // Whether `dim` has a symbol that `node` defines.
  bool Defines(NodeId node, const Dim& dim) const;
  // The nodes, all before `node`, that define symbols it uses; ascending.
  std::vector<NodeId> NeededBy(NodeId node) const;

 private:
  const Graph& graph_;
  std::vector<NodeId> nodes_;  // by symbol
};

// The dims in which `node`, of trait kDefinesSymbols, defines symbols where
// they stand alone: of define_symbols its attribute, else those of its results.
Dims DefiningDims(const Graph& graph, NodeId node);

// The symbols that the types of the node's results and its attributes mention,
// not those of its bodies; ascending.
std::vector<uint32_t> SymbolsOf(const Graph& graph, NodeId node);

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_SYMBOL_DEFINITIONS_H_
