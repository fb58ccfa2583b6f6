// Staging: a factor of a sum, computed once per block of points into scratch
// memory.
//
// In y[m, p] = sum over k of w[m, k] * x[k, p] the factor x may be anything
// that does not depend on m: the windows of a convolution with their range
// checks and strides, a transposed operand, an elementwise chain. A kernel that
// has many rows m computes x[., block of p] once, k after k in the order in
// which the rows read it, and then multiplies plain panels. The points p are
// those of all the outer variables that x alone depends on, where what follows
// the sum lets them be one variable: images of 7 x 7 fill vectors like larger
// ones.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_STAGING_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_STAGING_H_

#include <cstdint>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct Staging {
  ExprId value;      // of the original region
  size_t stage = 0;  // the sum that it is a factor of
  // The original region with the staged value as its last input, [others…,
  // reduced…, points…]: `others` are what else it depends on, fixed for a
  // block. Variables have the same numbers.
  Region region;
  uint32_t vector_variable = 0;  // in Flatten(region): all points
  int64_t points = 1;
  int64_t reduced_points = 1;
};

// What the original flat region has in place of `variable` of the other one,
// outermost first: the other one merges at least as much.
std::vector<uint32_t> OriginalVariables(const FlatRegion& original,
                                        const FlatRegion& other,
                                        uint32_t variable);

// Which expressions `value` needs that depend on `variable`.
bool DependsOn(const FlatRegion& flat, ExprId value, uint32_t variable);

// By expression: whether it is computed for each point of the loops of a stage,
// those that it reduces over among them, and not once before them. All are
// where it has none.
std::vector<bool> MovingIn(const FlatRegion& flat, size_t stage);

// What the stage evaluates: its value, and values and places of its stores.
std::vector<ExprId> RootsOf(const Stage& stage);

// All factors of `flat` that can be staged and that some other outer variable
// reads more than once.
std::vector<Staging> MakeStagings(const FlatRegion& flat);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_STAGING_H_
