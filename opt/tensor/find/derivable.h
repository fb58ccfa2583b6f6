// Which identities follow from rules.
#ifndef ENCORE_OPT_TENSOR_FIND_DERIVABLE_H_
#define ENCORE_OPT_TENSOR_FIND_DERIVABLE_H_

#include <span>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// Of outputs 2i and 2i + 1 of the graph, for each i: whether the rules, and
// those that are code (coded/coded_rules.h), show within five iterations, in an
// e-graph of at most 100,000 nodes, that they are the same. Of sums and
// products that several outputs share those that are code do not see all terms.
// REQUIRES rules that compile.
std::vector<bool> Derivable(const Graph& graph,
                            std::span<const TextRule> rules);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_DERIVABLE_H_
