// Scalars of any dtype, and what the elementwise primitives do to them: the
// meaning of a region's expressions, one element at a time.
//
// Floats are held as f64 rounded to their dtype, bool and integers as i64 (u64
// by its bits).
#ifndef ENCORE_BACKENDS_REGION_SCALAR_H_
#define ENCORE_BACKENDS_REGION_SCALAR_H_

#include <cstdint>
#include <span>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends {

union Scalar {
  int64_t i = 0;
  double f;
};

// `value` as an element of `dtype` holds it.
Scalar OfInt(DType dtype, int64_t value);
Scalar OfDouble(DType dtype, double value);

// The element whose bits are `bits`, and back.
Scalar FromBits(DType dtype, uint64_t bits);
uint64_t ToBits(DType dtype, Scalar value);

// Element `index` of dense elements at `data`, 4-bit ones packed.
Scalar LoadElement(DType dtype, const void* data, int64_t index);
void StoreElement(DType dtype, void* data, int64_t index, Scalar value);

Scalar CastScalar(DType from, DType to, Scalar value, bool saturate);

// `op`, an elementwise primitive other than cast, on `operands` of `dtype`
// (compare's result and select's first operand are bool).
Scalar ApplyOp(Op op, DType dtype, std::span<const Scalar> operands,
               Comparison comparison = Comparison::kEq);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_SCALAR_H_
