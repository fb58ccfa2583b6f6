// Resize's modes and its arithmetic, once for constants and for what is known
// at run time only (interpolation.h says how: T is double or GraphNumber).
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_FORMULAS_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_RESIZE_FORMULAS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/import/onnx/image/interpolation.h"
#include "encore/ir/support/check.h"

namespace encore::onnx {

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

// The element, or the first or last where it lies outside.
template <typename T>
T Clamped(const ResizedAxis<T>& axis, const T& element) {
  return arithmetic::Max(arithmetic::Min(element, axis.from - 1.0), T(0.0));
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

// By how much the kernel is wider against aliasing: it becomes as wide as what
// an element of the result stands for; 1 where there are none.
template <typename T>
T ShrinkOf(const ResizeMode& mode, const ResizedAxis<T>& axis) {
  if (!mode.antialias) return 1.0;
  return arithmetic::Select(axis.scale > 0.0,
                            arithmetic::Min(axis.scale, T(1.0)), T(1.0));
}

// The weight of element `at`, or 0 where elements outside count nothing.
template <typename T>
T Counted(const ResizeMode& mode, const ResizedAxis<T>& axis, const T& at,
          const T& weight) {
  if (!mode.exclude_outside) return weight;
  return arithmetic::Select(arithmetic::And(at >= 0.0, at < axis.from), weight,
                            T(0.0));
}

// What an element of the result is made of: elements, which may lie outside,
// and what they weigh.
template <typename T>
struct Taps {
  std::vector<T> at, weights;
};

// The taps of element x of the result; as many for every element.
template <typename T>
Taps<T> TapsOf(const ResizeMode& mode, const ResizedAxis<T>& axis,
               double shrink, const T& x) {
  const T position = SourcePosition<T>(mode.transformation, axis, x);
  const T floor = arithmetic::Floor(position);
  const T t = position - floor;
  const auto first = static_cast<int64_t>(FirstTap<double>(mode, shrink));
  // The pieces of the plain cubic kernel need no comparisons.
  std::vector<T> cubic;
  if (mode.interpolation == Interpolation::kCubic && shrink == 1) {
    cubic = CubicWeights<T>(t, mode.cubic_a);
  }
  Taps<T> taps;
  for (int64_t k = first; k <= 1 - first; ++k) {
    const auto offset = static_cast<double>(k);
    taps.at.push_back(floor + offset);
    const T weight = cubic.empty() ? WeightAt<T>(mode, shrink * (offset - t))
                                   : cubic[k - first];
    taps.weights.push_back(Counted<T>(mode, axis, taps.at.back(), weight));
  }
  if (!mode.exclude_outside && !mode.antialias) return taps;
  T total = taps.weights[0];
  for (size_t k = 1; k < taps.weights.size(); ++k) {
    total = total + taps.weights[k];
  }
  for (T& weight : taps.weights) weight = weight / total;
  return taps;
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
