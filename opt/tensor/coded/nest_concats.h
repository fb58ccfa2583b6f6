// Concatenations of any number of operands, for rules, which know two.
//
//   [a b c d] = [a [b [c d]]]
//
// Elements are moved only, so that the bits are the same.
#ifndef ENCORE_OPT_TENSOR_CODED_NEST_CONCATS_H_
#define ENCORE_OPT_TENSOR_CODED_NEST_CONCATS_H_

#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

// Adds, for each concat of 3 to kMostNested operands, two at a time, by the
// rule kNestConcats (coded_rules.h), whose number in the book is `rule`.
// REQUIRES a rebuilt e-graph, and leaves one.
inline constexpr int kMostNested = 64;
void NestConcats(TensorEGraph* tensors, RuleCount* count, egraph::RuleId rule);

// The other way round, after rules: for each concat that has one of the same
// dim among its operands, one of all. As above.
void FlattenConcats(TensorEGraph* tensors, RuleCount* count,
                    egraph::RuleId rule);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CODED_NEST_CONCATS_H_
