// Products that share an operand, merged.
//
//   x·a, x·b, …, x·k = the parts of x·[a b … k]
//
// for any number of them at once, which a pattern of so many nodes cannot say:
// pairs of pairs of them would be as many as there are subsets. Each element is
// the same sum in the same order, so that the bits are the same.
#ifndef ENCORE_OPT_TENSOR_CODED_MERGE_PRODUCTS_H_
#define ENCORE_OPT_TENSOR_CODED_MERGE_PRODUCTS_H_

#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

// Adds, for each class that is an operand of several dot_generals with the same
// attributes, whose other operands agree but for the extent of their last free
// dim, one product with these concatenated, and says that each is its slice.
// Linear in the number of dot_generals but for sorting. REQUIRES a rebuilt
// e-graph, and leaves one. `rule`: the number in the book of kMergeProducts
// (coded_rules.h).
void MergeProducts(TensorEGraph* tensors, RuleCount* count,
                   egraph::RuleId rule);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CODED_MERGE_PRODUCTS_H_
