// Resize's arithmetic, once for constants and for what only the run knows
// (interpolation.h says how: T is double or GraphNumber).
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_FORMULAS_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_FORMULAS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "encore/ir/import/onnx/image/interpolation.h"
#include "encore/ir/import/onnx/image/resize.h"
#include "encore/ir/support/check.h"

namespace encore::onnx {

// How one axis is resized: extents before and after, and their ratio as the
// operator has it (it need not be to / from: `to` is rounded).
template <typename T>
struct ResizedAxis {
  T from = {}, to = {}, scale = {};
  // Where tf_crop_and_resize looks; fractions of the input.
  T crop_start = {}, crop_end = {};
};

// Where element x of the result lies, in elements of the input.
template <typename T>
T SourcePosition(Transformation transformation, const ResizedAxis<T>& axis,
                 const T& x) {
  using arithmetic::Select;
  switch (transformation) {
    case Transformation::kAsymmetric:
      return x / axis.scale;
    case Transformation::kHalfPixel:
      return (x + 0.5) / axis.scale - 0.5;
    case Transformation::kTfHalfPixelForNn:
      return (x + 0.5) / axis.scale;
    case Transformation::kPytorchHalfPixel:
      return Select(axis.to > 1.0, (x + 0.5) / axis.scale - 0.5, 0.0);
    case Transformation::kHalfPixelSymmetric: {
      // Both images share their centre, whatever rounding made of the extent.
      const T adjustment = axis.to / (axis.scale * axis.from);
      const T offset = axis.from * 0.5 * (1.0 - adjustment);
      return offset + (x + 0.5) / axis.scale - 0.5;
    }
    case Transformation::kAlignCorners: {
      // The resized extent counts as it is before it is rounded down.
      const T resized = axis.scale * axis.from;
      return Select(resized != 1.0, x * (axis.from - 1.0) / (resized - 1.0),
                    0.0);
    }
    case Transformation::kTfCropAndResize: {
      const T last = axis.from - 1.0;
      const T along =
          axis.crop_start * last +
          x * (axis.crop_end - axis.crop_start) * last / (axis.to - 1.0);
      const T middle = (axis.crop_start + axis.crop_end) * 0.5 * last;
      return Select(axis.to > 1.0, along, middle);
    }
  }
  ENCORE_CHECK(false) << "no coordinate transformation";
  return x;
}

// The element next to a position: an integer, which may lie outside.
template <typename T>
T NearestElement(NearestMode mode, const ResizedAxis<T>& axis,
                 const T& position) {
  using arithmetic::Ceil;
  using arithmetic::Floor;
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      return Ceil(position - 0.5);
    case NearestMode::kRoundPreferCeil:
      return Floor(position + 0.5);
    case NearestMode::kFloor:
      return Floor(position);
    case NearestMode::kCeil:
      return Ceil(position);
    case NearestMode::kFloorOrCeilIfSmaller:
      return arithmetic::Select(axis.scale < 1.0, Ceil(position),
                                Floor(position));
  }
  ENCORE_CHECK(false) << "no nearest mode";
  return position;
}

// Whether a position lies between the first and the last element.
template <typename T>
auto IsInside(const ResizedAxis<T>& axis, const T& position) {
  return arithmetic::And(position >= 0.0, position <= axis.from - 1.0);
}

// The weight of an element that is |d| elements away from a position. REQUIRES
// an interpolation that weighs: linear or cubic.
template <typename T>
T WeightAt(const ResizeMode& mode, const T& d) {
  return mode.interpolation == Interpolation::kLinear
             ? LinearWeight<T>(d)
             : CubicWeight<T>(d, mode.cubic_a);
}

// The first element that weighs, counted from the one before a position, where
// the kernel is 1 / shrink times as wide; the last is 1 minus it.
template <typename T>
T FirstTap(const ResizeMode& mode, const T& shrink) {
  const double reach = mode.interpolation == Interpolation::kLinear ? 1 : 2;
  return arithmetic::Floor(-reach / shrink) + 1.0;
}

// Scales and extents from input sizes: `to` of each axis is the size that was
// asked for, and becomes the one that the policy keeps the aspect ratio by.
template <typename T>
void ApplySizes(AspectPolicy policy, std::span<ResizedAxis<T>> axes) {
  for (ResizedAxis<T>& axis : axes) axis.scale = axis.to / axis.from;
  if (policy == AspectPolicy::kStretch || axes.empty()) return;
  T common = axes[0].scale;
  for (size_t i = 1; i < axes.size(); ++i) {
    common = policy == AspectPolicy::kNotLarger
                 ? arithmetic::Min(common, axes[i].scale)
                 : arithmetic::Max(common, axes[i].scale);
  }
  for (ResizedAxis<T>& axis : axes) {
    axis.scale = common;
    axis.to = arithmetic::Floor(common * axis.from + 0.5);
  }
}

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_FORMULAS_H_
