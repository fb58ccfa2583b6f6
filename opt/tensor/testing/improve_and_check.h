// ImproveAndCheck: what every improvement of a graph has to keep.
#ifndef ENCORE_OPT_TENSOR_TESTING_IMPROVE_AND_CHECK_H_
#define ENCORE_OPT_TENSOR_TESTING_IMPROVE_AND_CHECK_H_

#include <cstdint>

#include "encore/ir/graph/graph.h"
#include "encore/opt/tensor/improve.h"

namespace encore::opt {

// Improves the graph under random costs, so that any choice may be the cheapest
// and every rule is taken at its word. Expects no fault of a rule, a sound
// graph of the same signature and, by the evaluator, the same results: bit for
// bit at the level of exact rules. Returns whether the graph changed. Sets
// `options`' costs and report.
bool ImproveAndCheck(const Graph& graph, ImproveOptions options, uint64_t seed);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_IMPROVE_AND_CHECK_H_
