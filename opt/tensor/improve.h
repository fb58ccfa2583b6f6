// Improve: a cheaper graph by equality saturation.
//
// The graph is put into an e-graph (tensor_program.h), rules of the book add
// equals until nothing changes or a limit on work is reached, and the cheapest
// choice is taken out (opt/extract) and made a graph again. Bodies are improved
// by themselves. The result is taken only where it is cheaper as a whole and
// reads at most 1.1 times the bytes of weights; where the cheapest choice reads
// more, the cheapest one that makes no new ones is looked at.
#ifndef ENCORE_OPT_TENSOR_IMPROVE_H_
#define ENCORE_OPT_TENSOR_IMPROVE_H_

#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/improve_options.h"

namespace encore::opt {

// Nothing where the graph stays as it is. Deterministic. Errors: none but
// those of graphs that are not well-typed.
StatusOr<std::optional<Graph>> Improve(const Graph& graph,
                                       const ImproveOptions& options);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_IMPROVE_H_
