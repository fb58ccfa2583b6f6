// Interval: the values that rounding may leave in a tensor.
//
// A tensor of a float dtype is a pair of f64 tensors, elementwise the lowest
// and the highest value that a correct program may hold there; so are the
// tensors of a sequence or optional. Anything else is a pair of values of its
// own dtype, the same unless a comparison of inexact floats left it open.
//
// An element that is NaN at both ends is NaN. One from -infinity to infinity is
// unknown: nothing is claimed of it, and it may be NaN.
#ifndef ENCORE_BACKENDS_CONFORMANCE_INTERVAL_H_
#define ENCORE_BACKENDS_CONFORMANCE_INTERVAL_H_

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

struct Interval {
  DType dtype = DType::kF32;  // of the tensor, whatever that of the ends
  Literal low, high;
  bool exact = true;  // the ends are the same
  // Made by arithmetic, and so rounded to the dtype or kept in more precision.
  bool computed = false;
};

using Intervals = std::vector<Interval>;

// `value` and nothing else.
Interval Exactly(const Literal& value);

// The literal of x.dtype that x is; nothing where x is not exact or an element
// is not one of the dtype.
std::optional<Literal> ExactLiteral(const Interval& x);

// x as a later operation may find it: where it was computed, each element may
// have been rounded to the dtype, to nearest.
Interval MaybeRounded(const Interval& x);

// x as an output has it: each element is rounded to the dtype.
Interval Rounded(const Interval& x);

// x with `change` applied to the ends of each element, in row-major order.
// REQUIRES a float dtype.
Interval WithEnds(const Interval& x,
                  const std::function<void(double* low, double* high)>& change);

// Makes [low, high] the least interval that holds `value` too.
void Include(double value, double* low, double* high);
// The same for its ends rounded to `dtype`.
void IncludeRounded(DType dtype, double* low, double* high);

inline bool IsUnknown(double low, double high) {
  return low == -INFINITY && high == INFINITY;
}

// The dtype that elements of float type `dtype` are computed in, at least.
inline DType ComputeDType(DType dtype) {
  return dtype == DType::kF64 ? dtype : DType::kF32;
}

// The distance between the elements of float type `dtype` with x's exponent;
// the least of all for 0 and subnormals, 0 for infinities and NaN.
double UnitInTheLastPlace(DType dtype, double x);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_INTERVAL_H_
