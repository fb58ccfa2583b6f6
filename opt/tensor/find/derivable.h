// Which identities follow from rules.
#ifndef ENCORE_OPT_TENSOR_FIND_DERIVABLE_H_
#define ENCORE_OPT_TENSOR_FIND_DERIVABLE_H_

#include <span>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// Of outputs 2i and 2i + 1 of the graph, for each i: whether the rules show
// within five iterations, in an e-graph of at most 100,000 nodes, that they are
// the same. REQUIRES rules that compile.
std::vector<bool> Derivable(const Graph& graph,
                            std::span<const TextRule> rules);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_DERIVABLE_H_
