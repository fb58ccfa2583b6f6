// Padding and cropping by numbers that are constants, dims or data.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_PAD_TO_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_PAD_TO_H_

#include <string_view>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// `x` with the extents `to`, its first element at the positions `lows`, which
// may be negative, and `fill` around it: one entry per dim of x. What data say
// and makes no sense ends the run with `message`, as what `shapes` requires.
StatusOr<Value> PadTo(NodeContext& context, Value x, const IndexExprs& lows,
                      const IndexExprs& to, Value fill,
                      std::string_view message, ShapeBuilder* shapes);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_PAD_TO_H_
