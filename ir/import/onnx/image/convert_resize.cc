#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/resize.h"
#include "encore/ir/import/onnx/image/resize_formulas.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Elements of the matrix of an interpolation, at most.
constexpr int64_t kMaxMatrix = int64_t{1} << 24;

// The extent of an axis that is a symbol; it can be resized by 1 only.
constexpr int64_t kUnknown = -1;

// One axis that is resized by known numbers.
struct AxisPlan {
  int axis = 0;
  int64_t from = 0, to = 0;
  // The same extents, the scale, and where a crop looks.
  ResizedAxis<double> numbers = {.scale = 1, .crop_end = 1};

  void SetTo(double extent) {
    numbers.to = extent;
    to = static_cast<int64_t>(extent);
  }
  double PositionOf(const ResizeMode& mode, int64_t i) const {
    return SourcePosition(mode.transformation, numbers, static_cast<double>(i));
  }
};

// Slices of `x` along an axis at constant positions, which are clamped to it.
Value Take(NodeContext& context, Value x, const AxisPlan& plan,
           std::vector<int64_t> positions) {
  for (int64_t& at : positions) at = std::clamp<int64_t>(at, 0, plan.from - 1);
  // Each element repeated equally often is a broadcast.
  if (plan.to % plan.from == 0) {
    const int64_t repeat = plan.to / plan.from;
    bool repeats = true;
    for (int64_t i = 0; i < plan.to; ++i) repeats &= positions[i] == i / repeat;
    if (repeats) {
      Dims wide = context.shape(x).dims(), flat = wide;
      Ints axes;
      for (int i = 0; i < context.rank(x); ++i)
        axes.push_back(i + (i > plan.axis));
      wide.insert(wide.begin() + plan.axis + 1, repeat);
      flat[plan.axis] = plan.to;
      return context.Reshape(
          context.Emit(Op::kBroadcast, {x}, BroadcastAttrs{wide, axes}), flat);
    }
  }
  return context.builder().Take(
      x, context.builder().Constant(Literal::Vector<int64_t>(positions)),
      plan.axis);
}

// A factor for each result position along the axis, in x's shape.
Value Factors(NodeContext& context, const Shape& shape, DType dtype,
              const AxisPlan& plan, const std::vector<double>& factors) {
  Literal literal(dtype, {plan.to});
  for (int64_t i = 0; i < plan.to; ++i) literal.SetDouble(i, factors[i]);
  return context.Emit(Op::kBroadcast,
                      {context.builder().Constant(std::move(literal))},
                      BroadcastAttrs{shape.dims(), {plan.axis}});
}

// What a result element is made of: weights of `positions`, which may lie
// outside. As many for every element.
struct Taps {
  std::vector<int64_t> positions;
  std::vector<double> weights;
};

Taps TapsOf(const AxisPlan& plan, const ResizeMode& mode, int64_t i) {
  const double position = plan.PositionOf(mode, i);
  // Against aliasing the kernel becomes as wide as what a result stands for.
  const double shrink =
      mode.antialias ? std::min(plan.numbers.scale, 1.0) : 1.0;
  const auto floor = static_cast<int64_t>(std::floor(position));
  const double t = position - std::floor(position);
  const auto first = static_cast<int64_t>(FirstTap(mode, shrink));
  Taps taps;
  double total = 0;
  for (int64_t k = first; k <= 1 - first; ++k) {
    const int64_t at = floor + k;
    double weight = WeightAt(mode, shrink * (static_cast<double>(k) - t));
    if (mode.exclude_outside && (at < 0 || at >= plan.from)) weight = 0;
    taps.positions.push_back(at);
    taps.weights.push_back(weight);
    total += weight;
  }
  if (mode.exclude_outside || mode.antialias) {
    for (double& weight : taps.weights) weight /= total;
  }
  return taps;
}

// One axis with many taps an element: a product with a matrix.
StatusOr<Value> InterpolateByMatrix(NodeContext& context, Value x,
                                    const AxisPlan& plan,
                                    const ResizeMode& mode) {
  if (plan.to > kMaxMatrix / plan.from) {
    return UnimplementedError(StrCat("attribute antialias is 1 for ", x.type(),
                                     ", whose axis ", plan.axis, " becomes ",
                                     plan.to,
                                     ": such a matrix is "
                                     "too large"));
  }
  Literal matrix(context.dtype(x), {plan.from, plan.to});
  for (int64_t i = 0; i < plan.to; ++i) {
    const Taps taps = TapsOf(plan, mode, i);
    std::map<int64_t, double> weights;
    for (size_t tap = 0; tap < taps.weights.size(); ++tap) {
      const int64_t at =
          std::clamp<int64_t>(taps.positions[tap], 0, plan.from - 1);
      weights[at] += taps.weights[tap];
    }
    for (const auto& [at, weight] : weights) {
      matrix.SetDouble(at * plan.to + i, weight);
    }
  }
  GraphBuilder& g = context.builder();
  Ints back;
  for (int i = 0; i < context.rank(x); ++i) {
    back.push_back(i < plan.axis    ? i
                   : i == plan.axis ? context.rank(x) - 1
                                    : i - 1);
  }
  return g.Transpose(
      g.DotGeneral(x, g.Constant(std::move(matrix)), {{plan.axis}, {0}}),
      std::move(back));
}

// One axis interpolated as a weighted sum of taps.
StatusOr<Value> Interpolate(NodeContext& context, Value x, const AxisPlan& plan,
                            const ResizeMode& mode) {
  if (mode.antialias && plan.numbers.scale < 1) {
    return InterpolateByMatrix(context, x, plan, mode);
  }
  const int taps = mode.interpolation == Interpolation::kLinear ? 2 : 4;
  std::vector<std::vector<int64_t>> positions(taps,
                                              std::vector<int64_t>(plan.to));
  std::vector<std::vector<double>> factors(taps, std::vector<double>(plan.to));
  for (int64_t i = 0; i < plan.to; ++i) {
    const Taps of = TapsOf(plan, mode, i);
    for (int tap = 0; tap < taps; ++tap) {
      positions[tap][i] = of.positions[tap];
      factors[tap][i] = of.weights[tap];
    }
  }
  Value sum;
  for (int tap = 0; tap < taps; ++tap) {
    const Value part = Take(context, x, plan, positions[tap]);
    const Value factor = Factors(context, context.shape(part),
                                 context.dtype(part), plan, factors[tap]);
    const Value term = context.Emit(Op::kMul, {part, factor});
    sum = tap == 0 ? term : context.Emit(Op::kAdd, {sum, term});
  }
  return sum;
}

Value Nearest(NodeContext& context, Value x, const AxisPlan& plan,
              const ResizeMode& mode) {
  std::vector<int64_t> positions(plan.to);
  for (int64_t i = 0; i < plan.to; ++i) {
    positions[i] = static_cast<int64_t>(
        NearestElement(mode.nearest, plan.numbers, plan.PositionOf(mode, i)));
  }
  return Take(context, x, plan, std::move(positions));
}

// Where a crop looks outside of the input, the extrapolation value stands.
Value Extrapolate(NodeContext& context, Value x, const AxisPlan& plan,
                  const ResizeMode& mode) {
  Literal inside(DType::kBool, {plan.to});
  for (int64_t i = 0; i < plan.to; ++i) {
    inside.SetInt(i, IsInside(plan.numbers, plan.PositionOf(mode, i)));
  }
  const Shape shape = context.shape(x);
  const Value mask = context.Emit(
      Op::kBroadcast, {context.builder().Constant(std::move(inside))},
      BroadcastAttrs{shape.dims(), {plan.axis}});
  const Value outside =
      context.Fill(context.Scalar(context.dtype(x), mode.extrapolation), shape);
  return context.Emit(Op::kSelect, {mask, x, outside});
}

template <typename Enum>
using Words = std::initializer_list<std::pair<std::string_view, Enum>>;

// What the attribute says; the first word where it is absent.
template <typename Enum>
Status ReadWord(NodeContext& context, std::string_view attribute,
                Words<Enum> words, Enum* value) {
  ENCORE_ASSIGN_OR_RETURN(
      const std::string given,
      context.attributes().String(attribute, words.begin()->first));
  for (const auto& [word, meaning] : words) {
    if (given != word) continue;
    *value = meaning;
    return OkStatus();
  }
  return NodeContext::Error(
      StrCat("attribute ", attribute, " is ", Quote(given), ", expected ",
             StrJoin(words, ", ", [](std::string* out, const auto& word) {
               out->append(word.first);
             })));
}

Status ReadWords(NodeContext& context, ResizeMode* mode) {
  ENCORE_RETURN_IF_ERROR(
      ReadWord<Interpolation>(context, "mode",
                              {{"nearest", Interpolation::kNearest},
                               {"linear", Interpolation::kLinear},
                               {"cubic", Interpolation::kCubic},
                               {"bilinear", Interpolation::kLinear}},
                              &mode->interpolation));
  ENCORE_RETURN_IF_ERROR(ReadWord<Transformation>(
      context, "coordinate_transformation_mode",
      {{"half_pixel", Transformation::kHalfPixel},
       {"half_pixel_symmetric", Transformation::kHalfPixelSymmetric},
       {"pytorch_half_pixel", Transformation::kPytorchHalfPixel},
       {"align_corners", Transformation::kAlignCorners},
       {"asymmetric", Transformation::kAsymmetric},
       {"tf_crop_and_resize", Transformation::kTfCropAndResize},
       {"tf_half_pixel_for_nn", Transformation::kTfHalfPixelForNn}},
      &mode->transformation));
  ENCORE_RETURN_IF_ERROR(ReadWord<NearestMode>(
      context, "nearest_mode",
      {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
       {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
       {"floor", NearestMode::kFloor},
       {"ceil", NearestMode::kCeil},
       {"floor_or_ceil_if_smaller", NearestMode::kFloorOrCeilIfSmaller}},
      &mode->nearest));
  return ReadWord<AspectPolicy>(context, "keep_aspect_ratio_policy",
                                {{"stretch", AspectPolicy::kStretch},
                                 {"not_larger", AspectPolicy::kNotLarger},
                                 {"not_smaller", AspectPolicy::kNotSmaller}},
                                &mode->policy);
}

StatusOr<ResizeMode> ReadMode(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  ResizeMode mode;
  ENCORE_RETURN_IF_ERROR(ReadWords(context, &mode));
  ENCORE_ASSIGN_OR_RETURN(const float a,
                          attributes.Float("cubic_coeff_a", -0.75f));
  ENCORE_ASSIGN_OR_RETURN(const float outside,
                          attributes.Float("extrapolation_value", 0));
  ENCORE_ASSIGN_OR_RETURN(mode.exclude_outside,
                          attributes.Bool("exclude_outside", false));
  ENCORE_ASSIGN_OR_RETURN(mode.antialias, attributes.Bool("antialias", false));
  mode.cubic_a = a;
  mode.extrapolation = outside;
  return mode;
}

// The result extents from `sizes`, which may ask for the aspect to be kept.
Status ApplySizes(const std::vector<int64_t>& sizes, AspectPolicy policy,
                  std::vector<AxisPlan>* plans) {
  std::vector<ResizedAxis<double>> axes;
  for (size_t i = 0; i < plans->size(); ++i) {
    axes.push_back((*plans)[i].numbers);
    axes[i].to = static_cast<double>(sizes[i]);
  }
  ApplySizes<double>(policy, axes);
  for (size_t i = 0; i < plans->size(); ++i) {
    AxisPlan& plan = (*plans)[i];
    plan.numbers = axes[i];
    plan.to = sizes[i];
    if (policy == AspectPolicy::kStretch) continue;
    if (!(std::abs(axes[i].to) < static_cast<double>(kMaxResized))) {
      return NodeContext::Error(StrCat("input sizes is [", StrJoin(sizes, ","),
                                       "], by which axis ", plan.axis,
                                       " of extent ", plan.from,
                                       " becomes larger than ", kMaxResized));
    }
    plan.SetTo(axes[i].to);
  }
  return OkStatus();
}

Status ApplyRoi(NodeContext& context, std::vector<AxisPlan>* plans) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<double> roi,
                          context.FloatsInput(1, "roi"));
  if (roi.size() != 2 * plans->size()) {
    return NodeContext::Error(StrCat("input roi has ", roi.size(),
                                     " entries for ", plans->size(), " axes"));
  }
  for (size_t i = 0; i < plans->size(); ++i) {
    (*plans)[i].numbers.crop_start = roi[i];
    (*plans)[i].numbers.crop_end = roi[plans->size() + i];
  }
  return OkStatus();
}

StatusOr<std::vector<AxisPlan>> ReadPlans(NodeContext& context,
                                          const Shape& shape,
                                          const ResizeMode& mode,
                                          const Ints& axes) {
  std::vector<AxisPlan> plans;
  for (const int64_t raw : axes) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(raw, shape.rank(), "attribute axes"));
    AxisPlan plan;
    plan.axis = static_cast<int>(axis);
    const Dim& extent = shape[plan.axis];
    plan.from = plan.to = extent.is_constant() ? extent.constant() : kUnknown;
    plan.numbers.from = plan.numbers.to = static_cast<double>(plan.from);
    plans.push_back(plan);
  }
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                            context.IntsInput(3, "sizes"));
    if (sizes.size() != plans.size()) {
      return NodeContext::Error(StrCat("input sizes has ", sizes.size(),
                                       " entries for ", plans.size(), " axes"));
    }
    ENCORE_RETURN_IF_ERROR(ApplySizes(sizes, mode.policy, &plans));
  } else if (context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(const std::vector<double> scales,
                            context.FloatsInput(2, "scales"));
    if (scales.size() != plans.size()) {
      return NodeContext::Error(StrCat("input scales has ", scales.size(),
                                       " entries for ", plans.size(), " axes"));
    }
    for (size_t i = 0; i < plans.size(); ++i) {
      const double extent = static_cast<double>(plans[i].from) * scales[i];
      if (!(scales[i] > 0) || !(extent < static_cast<double>(kMaxResized))) {
        return NodeContext::Error(
            StrCat("input scales has an entry of ", scales[i]));
      }
      if (plans[i].from == kUnknown && scales[i] == 1) continue;
      plans[i].numbers.scale = scales[i];
      plans[i].SetTo(std::floor(extent));
    }
  } else {
    return NodeContext::Error("neither input scales nor input sizes is given");
  }
  if (mode.crops()) {
    ENCORE_RETURN_IF_ERROR(ApplyRoi(context, &plans));
  }
  return plans;
}

// Whether positions can be computed now: `axes` are resized by constants, and
// have known extents or a scale of 1.
StatusOr<bool> IsAllKnown(NodeContext& context, const Shape& shape,
                          const ResizeMode& mode, const Ints& axes) {
  for (int i = mode.crops() ? 1 : 2; i < context.input_count(); ++i) {
    if (context.HasInput(i) && !IsConstant(context, i)) return false;
  }
  std::vector<double> scales(axes.size(), 0);
  if (!context.HasInput(3) && context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(scales, context.FloatsInput(2, "scales"));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(axes[i]);
    const Dim& extent = shape[axis < 0 ? axis + shape.rank() : axis];
    const bool kept = i < scales.size() && scales[i] == 1 && !mode.crops();
    if (!extent.is_constant() && !kept) return false;
  }
  return true;
}

Status Resize(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 4));
  ENCORE_ASSIGN_OR_RETURN(const ResizeMode mode, ReadMode(context));
  Value x = context.Input(0);
  const DType dtype = x.dtype();
  const Shape shape = context.shape(x);
  if (mode.interpolation != Interpolation::kNearest && !IsFloat(dtype) &&
      !IsInteger(dtype)) {
    return NodeContext::Error(
        StrCat("input X is ", x.type(),
               ", expected floats or integers where attribute mode is linear "
               "or cubic"));
  }
  Ints axes = AxesFrom(0, shape.rank());
  ENCORE_ASSIGN_OR_RETURN(axes, context.attributes().Ints("axes", axes));
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, shape.rank(), "attribute axes").status());
  ENCORE_ASSIGN_OR_RETURN(const bool known,
                          IsAllKnown(context, shape, mode, axes));
  if (!known) return ResizeByData(context, mode, axes);
  x = ToInterpolate(context, mode, x);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<AxisPlan> plans,
                          ReadPlans(context, shape, mode, axes));
  for (const AxisPlan& plan : plans) {
    const bool crops = mode.crops();
    const bool kept = plan.from == 0 || (plan.numbers.scale == 1 && !crops);
    if (plan.from == plan.to && kept) continue;
    if (plan.to < 0 || plan.from < 0 || plan.to > kMaxResized ||
        (plan.from == 0 && plan.to != 0)) {
      return NodeContext::Error(StrCat("dim ", plan.axis, " of extent ",
                                       plan.from, " cannot be resized to ",
                                       plan.to));
    }
    if (mode.interpolation == Interpolation::kNearest) {
      x = Nearest(context, x, plan, mode);
    } else {
      ENCORE_ASSIGN_OR_RETURN(x, Interpolate(context, x, plan, mode));
    }
  }
  if (mode.crops()) {
    for (const AxisPlan& plan : plans) {
      x = Extrapolate(context, x, plan, mode);
    }
  }
  return context.Output(0, Interpolated(context, x, dtype));
}

constexpr Converter kConverters[] = {
    {"Resize", Resize, Op::kGather},
};

}  // namespace

std::span<const Converter> ResizeConverters() { return kConverters; }

}  // namespace encore::onnx
