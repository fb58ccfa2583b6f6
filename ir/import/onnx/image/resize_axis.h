// One axis of an image resized.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_AXIS_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_AXIS_H_

#include "encore/ir/import/onnx/image/interpolation.h"
#include "encore/ir/import/onnx/image/resize_formulas.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/shapes/index_expr.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::onnx {

// An axis and how it is resized; numbers of the graph are f64 scalars.
struct AxisPlan {
  int axis = 0;
  IndexExpr from, to;  // extents before and after
  ResizedAxis<GraphNumber> numbers = {.scale = 1.0, .crop_end = 1.0};
  Dim size;  // `to`
  Dim taps;  // how many elements weigh, where the kernel widens

  // Whether all numbers are constants.
  bool known() const {
    return numbers.from.known() && numbers.to.known() &&
           numbers.scale.known() && numbers.crop_start.known() &&
           numbers.crop_end.known();
  }
  // Whether the kernel is wider against aliasing, or may be.
  bool widens(const ResizeMode& mode) const {
    return mode.antialias && mode.interpolation != Interpolation::kNearest &&
           !(numbers.scale.known() && numbers.scale.number() >= 1);
  }
};

// `x` with the axis resized. Positions and weights are constants where all
// numbers of the plan are, else computed in f64. Unimplemented where constant
// weights against aliasing would be too large a matrix.
StatusOr<Value> ResizeAxis(NodeContext& context, Value x, const AxisPlan& plan,
                           const ResizeMode& mode);

// `x`, which is resized, with the extrapolation value where a crop looks
// outside of the axis.
Value Extrapolate(NodeContext& context, Value x, const AxisPlan& plan,
                  const ResizeMode& mode);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_AXIS_H_
