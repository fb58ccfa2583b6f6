// What Resize does beside its sizes, and its form for sizes that are data.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_H_

#include <cstdint>
#include <string>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// More result elements along one axis are no image.
inline constexpr int64_t kMaxResized = int64_t{1} << 24;

struct ResizeMode {
  // "nearest", "linear" or "cubic"; the others as the attributes have them, or
  // "floor_or_ceil_if_smaller", which was how before opset 11.
  std::string interpolation, transformation, nearest;
  double cubic_a = -0.75;
  double extrapolation = 0;
  bool exclude_outside = false, antialias = false;

  bool crops() const { return transformation == "tf_crop_and_resize"; }
};

// Integers are interpolated in f32 and rounded to the nearest.
Value ToInterpolate(NodeContext& context, const ResizeMode& mode, Value x);
Value Interpolated(NodeContext& context, Value x, DType dtype);

// Resize of `axes` of input 0, where input sizes, scales or roi or an extent is
// known only when the graph runs: positions and weights are computed then, in
// f64. `policy` is keep_aspect_ratio_policy. What makes no sense ends the run.
Status ResizeByData(NodeContext& context, const ResizeMode& mode,
                    const Ints& axes, const std::string& policy);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_H_
