// What a backend's results may be: the contract of the conformance suite.
//
// An element of an output of dtype T is right where it lies between
//
//   round_T(y - B)  and  round_T(y + B)
//
// y is the exact result and B a bound on what f32 arithmetic (f64 for f64) may
// lose of it, which interval_ops.h derives per operation and this file carries
// through the graph. So a kernel may differ from a correctly rounded one by one
// unit in the last place of T where B reaches across a rounding boundary, by
// more only where B itself is more than a unit of the result: where a sum
// cancels, its error is in units of its terms. Where B is 0 (integers, bool,
// movement, a correctly rounded operation on arguments) results are the
// evaluator's. NaN equals NaN, and 0 equals -0.
//
// A backend may compute composites by their decomposition, fuse or not:
// between operations a value is rounded to its dtype or kept in more precision,
// multiplications and additions may be fused, terms are summed in any order.
// What it may not do is sum in less than f32, or round twice where an operation
// rounds once (a decomposition says where: linear rounds its product).
//
// y is not taken from the graph that B is: expected results are those of the
// evaluator, by the definition of each op, and must lie within the bounds that
// come from its decomposition. A wrong decomposition fails.
#ifndef ENCORE_BACKENDS_CONFORMANCE_BOUNDS_H_
#define ENCORE_BACKENDS_CONFORMANCE_BOUNDS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/conformance/fast_convolution.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

// Of one output.
struct Bounds {
  Literal expected;  // the evaluator's
  // Elements of the output's dtype, held in f64 where it is a float.
  Literal low, high;
};

// The bounds of each output for a literal per argument. Errors: those of the
// evaluator and of EvaluateIntervals; Internal where an expected result is
// outside of its bounds. Cost: a few evaluations of the graph. `fast`: of a
// kernel that may reassociate, and computes the convolutions of f32 with one
// group that way; nothing else gets other bounds.
StatusOr<std::vector<Bounds>> EvaluateBounds(
    const Graph& graph, std::span<const Literal> arguments,
    const std::optional<FastConvolution>& fast = std::nullopt);

// The evaluator's outputs.
std::vector<Literal> Expected(std::span<const Bounds> bounds);

// What is wrong with `actual`, or nothing.
std::optional<std::string> Difference(const Literal& actual,
                                      const Bounds& bounds);

// The same of all outputs.
std::optional<std::string> Difference(std::span<const Literal> actual,
                                      std::span<const Bounds> bounds);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_BOUNDS_H_
