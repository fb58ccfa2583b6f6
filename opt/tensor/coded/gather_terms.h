// Sums and products of any number of terms, in another order: what has
// something in common comes together, where rules of two terms find it.
//
//   a·x + (b + c·x) - d = (a·x + c·x) + b - d
//
// The order of n terms is no pattern's business: there are more than n! of
// them. Common are a factor of products and convolutions, attributes of
// broadcasts, reductions and cumulative operators of tensors of one type, terms
// that are there twice, and that all are weights.
#ifndef ENCORE_OPT_TENSOR_CODED_GATHER_TERMS_H_
#define ENCORE_OPT_TENSOR_CODED_GATHER_TERMS_H_

#include "encore/ir/ops/op.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

// Says of each sum (`op` kAdd, with differences) or product (kMul) of 3 to
// kMostGathered terms, of which two that do not stand beside each other have
// something in common, that it is the gathered one. Results that are used twice
// are terms. REQUIRES an e-graph in which no rule has been applied, rebuilt;
// leaves one. `rule`: the number in the book of kGatherTerms, or kGatherFactors
// (coded_rules.h).
inline constexpr size_t kMostGathered = 64;
void GatherTerms(TensorEGraph* tensors, Op op, RoundedFloats floats,
                 RuleCount* count, egraph::RuleId rule);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CODED_GATHER_TERMS_H_
