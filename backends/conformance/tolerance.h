// How far a backend's result of one op may be from the evaluator's.
#ifndef ENCORE_BACKENDS_CONFORMANCE_TOLERANCE_H_
#define ENCORE_BACKENDS_CONFORMANCE_TOLERANCE_H_

#include <optional>
#include <string>

#include "encore/ir/graph.h"
#include "encore/ir/literal.h"
#include "encore/ir/op.h"

namespace encore::backends {

// |actual - expected| <= units * epsilon(dtype) * max(|expected|, scale), where
// epsilon is the distance from 1 to the next element. Integers and bool are
// always exact.
struct Tolerance {
  double units = 0;
  // Results near 0 of sums of larger terms; 0: relative to the result alone.
  double scale = 0;
};

// From the table in tolerance.cc, with the reason beside each row.
Tolerance ToleranceOf(Op op);
// Of graphs of many ops.
Tolerance GraphTolerance(const Graph& graph);

// What differs, or nothing. NaN equals NaN.
std::optional<std::string> Difference(const Literal& actual,
                                      const Literal& expected,
                                      const Tolerance& tolerance);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_TOLERANCE_H_
