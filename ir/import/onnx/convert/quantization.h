// Arithmetic that quantized operators share.
#ifndef ENCORE_IR_IMPORT_ONNX_CONVERT_QUANTIZATION_H_
#define ENCORE_IR_IMPORT_ONNX_CONVERT_QUANTIZATION_H_

#include <cstdint>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::onnx {

// A scale or a zero point in a shape that spreads over `shape`: a scalar as it
// is, a vector along `axis`, blocks of `block` along `axis` repeated.
// InvalidArgument where it does not fit.
StatusOr<Value> SpreadParameter(NodeContext& context, Value value,
                                const Shape& shape, int64_t axis,
                                int64_t block);

// round(x) + zero point (may be absent), as near as `dtype` has it; to floats
// what is too large becomes the largest, where it saturates.
Value Quantized(GraphBuilder& g, Value scaled, Value zero_point, DType dtype,
                bool saturates = true);

// Input i less its zero point, the input of that number, as i32. A vector of
// zero points lies along `axis` of the operand, counted from its end.
Value Centered(NodeContext& context, int i, int zero_point, int axis);

// The scale, of x's dtype, and the zero point, a u8, with which the elements
// of `x` and 0 take all of u8, and 0 is exact. 1 where there are only zeros.
struct DynamicRange {
  Value scale, zero_point;
};
DynamicRange RangeOf(GraphBuilder& g, Value x);

// `x` as u8 in its own range has it, less the zero point: integers in the dtype
// of `x`, which times the scale are `x` rounded.
struct DynamicSteps {
  Value steps, scale;
};
DynamicSteps StepsOf(GraphBuilder& g, Value x);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONVERT_QUANTIZATION_H_
