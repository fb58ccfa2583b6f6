// What Resize does beside its sizes, and its form for sizes that are data.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_H_

#include <cstdint>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// More result elements along one axis are no image.
inline constexpr int64_t kMaxResized = int64_t{1} << 24;

enum class Interpolation { kNearest, kLinear, kCubic };

// coordinate_transformation_mode.
enum class Transformation {
  kAsymmetric,
  kHalfPixel,
  kTfHalfPixelForNn,  // of opset 11 only
  kPytorchHalfPixel,
  kHalfPixelSymmetric,
  kAlignCorners,
  kTfCropAndResize,
};

enum class NearestMode {
  kRoundPreferFloor,
  kRoundPreferCeil,
  kFloor,
  kCeil,
  kFloorOrCeilIfSmaller,  // how it was before opset 11
};

// keep_aspect_ratio_policy.
enum class AspectPolicy { kStretch, kNotLarger, kNotSmaller };

struct ResizeMode {
  Interpolation interpolation = Interpolation::kNearest;
  Transformation transformation = Transformation::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  AspectPolicy policy = AspectPolicy::kStretch;
  double cubic_a = -0.75;
  double extrapolation = 0;
  bool exclude_outside = false, antialias = false;

  bool crops() const {
    return transformation == Transformation::kTfCropAndResize;
  }
};

// Integers are interpolated in f32 and rounded to the nearest.
Value ToInterpolate(NodeContext& context, const ResizeMode& mode, Value x);
Value Interpolated(NodeContext& context, Value x, DType dtype);

// Resize of `axes` of input 0, where input sizes, scales or roi or an extent is
// known only when the graph runs: positions and weights are computed then, in
// f64. What makes no sense ends the run.
Status ResizeByData(NodeContext& context, const ResizeMode& mode,
                    const Ints& axes);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_H_
