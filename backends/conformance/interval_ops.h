// One operation on intervals: what an operation may give of operands that are
// each somewhere in an interval, by a kernel that rounds as it may.
//
// Every op without bodies is of one of four kinds, which follow from its traits
// and attributes. C is f32, f64 for f64.
//
//   selection  gives elements of its operands: each end of the result is the
//              op on these ends. All that neither computes nor sums: movement,
//              maxima, minima, sources, host objects.
//   IEEE 754   +, -, *, /, square root, remainder and what is exact: correctly
//              rounded. The ends are the extremes over the corners of the
//              operands' box (and its points with a 0, where even functions and
//              poles have theirs).
//   function   any other elementwise op: as before, and kFunctionUnits units in
//              the last place of C on either side.
//   sum        of n terms in C in any order, each the product of one element of
//              each float operand; or a product of n factors. With u the unit
//              roundoff of C and |terms| the sum on absolute values,
//                |computed - exact| <= gamma(k) |terms|,
//                gamma(k) = k u / (1 - k u),
//              and then one rounding to C, where k = n - 1 for sums of products
//              and n - 2 for plain sums: each term goes through at most n
//              (n - 1) roundings, and the last one is the rounding to C. n is
//              the sum on ones. To which comes what the operands' own intervals
//              do: |terms| with |x| + radius for each x, less |terms|. Products
//              that underflow add n times the least element of C.
//              Scatter combines with what the element holds: its C is the
//              result's dtype.
//
// Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
// lemma 3.1 and (3.5) for products, (4.4) for sums; the propagation is its
// section 3.3, running error analysis, in intervals.
//
// Functions with an extreme inside an interval and not at 0 (sine) reach beyond
// the ends by the square of its width, which is below the units that they have.
#ifndef ENCORE_BACKENDS_CONFORMANCE_INTERVAL_OPS_H_
#define ENCORE_BACKENDS_CONFORMANCE_INTERVAL_OPS_H_

#include <span>

#include "encore/backends/conformance/interval.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::backends {

// What a function may be off, of the result in C. README.md of backends/cpu has
// the largest of its functions: 2.
inline constexpr double kFunctionUnits = 4;

// The results, before they are rounded to `types`. REQUIRES constant dims and a
// primitive without bodies. Unimplemented where a result that is no float
// depends on inexact floats other than elementwise.
StatusOr<Intervals> EvaluateIntervals(Op op, const Attributes& attributes,
                                      std::span<const Interval> operands,
                                      std::span<const TensorType> types);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_INTERVAL_OPS_H_
