// Running error analysis (Higham, Accuracy and Stability of Numerical
// Algorithms, 3.3): beside every element that the evaluator computes, a bound
// in f64 on how far it is from the same element in real arithmetic.
//
// Two graphs that are equal in real arithmetic differ by at most the sum of
// their bounds. What the bound of a node is made of: what its operands' bounds
// become (|x|·ey + |y|·ex + ex·ey of a product, the largest change of a
// monotone function between x - ex and x + ex, …), and one rounding to its
// dtype, for that is how the evaluator computes (ir/eval/evaluator.h).
// Constants are exact where half of their digits are enough; others were
// rounded. An element has no bound (infinity) where it is infinite or NaN,
// where a jump lies within the bound of its operand, and behind operators that
// are not analysed, such as those that compute indices from inexact numbers.
#ifndef ENCORE_OPT_TENSOR_CHECK_FORWARD_ERROR_H_
#define ENCORE_OPT_TENSOR_CHECK_FORWARD_ERROR_H_

#include <span>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::opt {

struct BoundedValue {
  Literal value;              // as the evaluator computes it
  std::vector<double> error;  // per element, at least 0
};

// The outputs for these arguments, which are exact; one for each of the
// graph's. REQUIRES a graph without control flow. Errors are the evaluator's.
// Takes about four evaluations.
StatusOr<std::vector<BoundedValue>> EvaluateWithBounds(
    const Graph& graph, std::span<const Literal> arguments);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_FORWARD_ERROR_H_
