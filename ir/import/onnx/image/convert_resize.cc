#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/resize.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Elements of the matrix of an interpolation, at most.
constexpr int64_t kMaxMatrix = int64_t{1} << 24;

// The extent of an axis that is a symbol; it can be resized by 1 only.
constexpr int64_t kUnknown = -1;

// How one axis is resized: result extent, and positions in the input's
// coordinates.
struct AxisPlan {
  int axis = 0;
  int64_t from = 0, to = 0;
  double scale = 1;
  // Where tf_crop_and_resize looks; fractions of the input.
  double crop_start = 0, crop_end = 1;
};

StatusOr<double> SourcePosition(const AxisPlan& plan, const ResizeMode& mode,
                                int64_t i) {
  const auto x = static_cast<double>(i);
  const auto from = static_cast<double>(plan.from),
             to = static_cast<double>(plan.to);
  const std::string& how = mode.transformation;
  if (how == "asymmetric") return x / plan.scale;
  if (how == "half_pixel") return (x + 0.5) / plan.scale - 0.5;
  // Of opset 11 only.
  if (how == "tf_half_pixel_for_nn") return (x + 0.5) / plan.scale;
  if (how == "pytorch_half_pixel") {
    return to > 1 ? (x + 0.5) / plan.scale - 0.5 : 0.0;
  }
  if (how == "half_pixel_symmetric") {
    // Both images share their centre, whatever rounding made of the extent.
    const double adjustment = to / (plan.scale * from);
    const double offset = from / 2 * (1 - adjustment);
    return offset + (x + 0.5) / plan.scale - 0.5;
  }
  if (how == "align_corners") {
    // The resized extent counts as it is before it is rounded down.
    const double resized = plan.scale * from;
    return resized != 1 ? x * (from - 1) / (resized - 1) : 0.0;
  }
  if (how == "tf_crop_and_resize") {
    return to > 1 ? plan.crop_start * (from - 1) +
                        x * (plan.crop_end - plan.crop_start) * (from - 1) /
                            (to - 1)
                  : 0.5 * (plan.crop_start + plan.crop_end) * (from - 1);
  }
  return NodeContext::Error(
      StrCat("attribute coordinate_transformation_mode is ", Quote(how)));
}

StatusOr<int64_t> NearestIndex(double position, const AxisPlan& plan,
                               const ResizeMode& mode) {
  const std::string& how = mode.nearest;
  if (how == "round_prefer_floor") {
    return static_cast<int64_t>(std::ceil(position - 0.5));
  }
  if (how == "round_prefer_ceil") {
    return static_cast<int64_t>(std::floor(position + 0.5));
  }
  if (how == "floor") return static_cast<int64_t>(std::floor(position));
  if (how == "ceil") return static_cast<int64_t>(std::ceil(position));
  // Until opset 11.
  if (how == "floor_or_ceil_if_smaller") {
    return static_cast<int64_t>(plan.scale < 1 ? std::ceil(position)
                                               : std::floor(position));
  }
  return NodeContext::Error(StrCat("attribute nearest_mode is ", Quote(how)));
}

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

// The weight of an element that is `d` elements away.
double Weight(const ResizeMode& mode, double d) {
  d = std::abs(d);
  if (mode.interpolation == "linear") return std::max(1 - d, 0.0);
  const double a = mode.cubic_a;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// What a result element is made of: weights of `positions`, which may lie
// outside. As many for every element.
struct Taps {
  std::vector<int64_t> positions;
  std::vector<double> weights;
};

StatusOr<Taps> TapsOf(const AxisPlan& plan, const ResizeMode& mode, int64_t i) {
  ENCORE_ASSIGN_OR_RETURN(const double position, SourcePosition(plan, mode, i));
  // Against aliasing the kernel becomes as wide as what a result stands for.
  const double shrink = mode.antialias ? std::min(plan.scale, 1.0) : 1;
  const double reach = mode.interpolation == "linear" ? 1 : 2;
  const auto floor = static_cast<int64_t>(std::floor(position));
  const double t = position - std::floor(position);
  const auto first = static_cast<int64_t>(std::floor(-reach / shrink)) + 1;
  Taps taps;
  double total = 0;
  for (int64_t k = first; k <= 1 - first; ++k) {
    const int64_t at = floor + k;
    double weight = Weight(mode, shrink * (static_cast<double>(k) - t));
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
                                     ", axis ", plan.axis, " to ", plan.to));
  }
  Literal matrix(context.dtype(x), {plan.from, plan.to});
  for (int64_t i = 0; i < plan.to; ++i) {
    ENCORE_ASSIGN_OR_RETURN(const Taps taps, TapsOf(plan, mode, i));
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
  if (mode.antialias && plan.scale < 1) {
    return InterpolateByMatrix(context, x, plan, mode);
  }
  const int taps = mode.interpolation == "linear" ? 2 : 4;
  std::vector<std::vector<int64_t>> positions(taps,
                                              std::vector<int64_t>(plan.to));
  std::vector<std::vector<double>> factors(taps, std::vector<double>(plan.to));
  for (int64_t i = 0; i < plan.to; ++i) {
    ENCORE_ASSIGN_OR_RETURN(const Taps of, TapsOf(plan, mode, i));
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

StatusOr<Value> Nearest(NodeContext& context, Value x, const AxisPlan& plan,
                        const ResizeMode& mode) {
  std::vector<int64_t> positions(plan.to);
  for (int64_t i = 0; i < plan.to; ++i) {
    ENCORE_ASSIGN_OR_RETURN(const double position,
                            SourcePosition(plan, mode, i));
    ENCORE_ASSIGN_OR_RETURN(positions[i], NearestIndex(position, plan, mode));
  }
  return Take(context, x, plan, std::move(positions));
}

// Where a crop looks outside of the input, the extrapolation value stands.
StatusOr<Value> Extrapolate(NodeContext& context, Value x, const AxisPlan& plan,
                            const ResizeMode& mode) {
  Literal inside(DType::kBool, {plan.to});
  for (int64_t i = 0; i < plan.to; ++i) {
    ENCORE_ASSIGN_OR_RETURN(const double position,
                            SourcePosition(plan, mode, i));
    inside.SetInt(
        i, position >= 0 && position <= static_cast<double>(plan.from - 1));
  }
  const Shape shape = context.shape(x);
  const Value mask = context.Emit(
      Op::kBroadcast, {context.builder().Constant(std::move(inside))},
      BroadcastAttrs{shape.dims(), {plan.axis}});
  const Value outside =
      context.Fill(context.Scalar(context.dtype(x), mode.extrapolation), shape);
  return context.Emit(Op::kSelect, {mask, x, outside});
}

StatusOr<ResizeMode> ReadMode(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  ResizeMode mode;
  ENCORE_ASSIGN_OR_RETURN(mode.interpolation,
                          attributes.String("mode", "nearest"));
  ENCORE_ASSIGN_OR_RETURN(
      mode.transformation,
      attributes.String("coordinate_transformation_mode", "half_pixel"));
  ENCORE_ASSIGN_OR_RETURN(
      mode.nearest, attributes.String("nearest_mode", "round_prefer_floor"));
  ENCORE_ASSIGN_OR_RETURN(const float a,
                          attributes.Float("cubic_coeff_a", -0.75f));
  ENCORE_ASSIGN_OR_RETURN(const float outside,
                          attributes.Float("extrapolation_value", 0));
  ENCORE_ASSIGN_OR_RETURN(mode.exclude_outside,
                          attributes.Bool("exclude_outside", false));
  ENCORE_ASSIGN_OR_RETURN(mode.antialias, attributes.Bool("antialias", false));
  mode.cubic_a = a;
  mode.extrapolation = outside;
  if (mode.interpolation == "bilinear") mode.interpolation = "linear";
  if (mode.interpolation != "nearest" && mode.interpolation != "linear" &&
      mode.interpolation != "cubic") {
    return NodeContext::Error(StrCat("attribute mode is ",
                                     Quote(mode.interpolation),
                                     ", expected nearest, linear or cubic"));
  }
  return mode;
}

// The result extent of one axis from `sizes`, which may ask for the aspect to
// be kept.
Status ApplySizes(const std::vector<int64_t>& sizes, const std::string& policy,
                  std::vector<AxisPlan>* plans) {
  double common = policy == "not_larger" ? INFINITY : 0;
  for (size_t i = 0; i < plans->size(); ++i) {
    AxisPlan& plan = (*plans)[i];
    plan.to = sizes[i];
    plan.scale = static_cast<double>(plan.to) / static_cast<double>(plan.from);
    common = policy == "not_larger" ? std::min(common, plan.scale)
                                    : std::max(common, plan.scale);
  }
  if (policy == "stretch") return OkStatus();
  for (AxisPlan& plan : *plans) {
    const double extent = common * static_cast<double>(plan.from) + 0.5;
    if (!(std::abs(extent) < static_cast<double>(kMaxResized))) {
      return NodeContext::Error(StrCat("input sizes is [", StrJoin(sizes, ","),
                                       "], which no image can become"));
    }
    plan.scale = common;
    plan.to = static_cast<int64_t>(std::floor(extent));
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
    (*plans)[i].crop_start = roi[i];
    (*plans)[i].crop_end = roi[plans->size() + i];
  }
  return OkStatus();
}

StatusOr<std::vector<AxisPlan>> ReadPlans(NodeContext& context,
                                          const Shape& shape,
                                          const ResizeMode& mode,
                                          const Ints& axes,
                                          const std::string& policy) {
  std::vector<AxisPlan> plans;
  for (const int64_t raw : axes) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(raw, shape.rank(), "attribute axes"));
    AxisPlan plan;
    plan.axis = static_cast<int>(axis);
    const Dim& extent = shape[plan.axis];
    plan.from = plan.to = extent.is_constant() ? extent.constant() : kUnknown;
    plans.push_back(plan);
  }
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                            context.IntsInput(3, "sizes"));
    if (sizes.size() != plans.size()) {
      return NodeContext::Error(StrCat("input sizes has ", sizes.size(),
                                       " entries for ", plans.size(), " axes"));
    }
    ENCORE_RETURN_IF_ERROR(ApplySizes(sizes, policy, &plans));
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
      plans[i].scale = scales[i];
      plans[i].to = static_cast<int64_t>(std::floor(extent));
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
  if (mode.interpolation != "nearest" && !IsFloat(dtype) && !IsInteger(dtype)) {
    return NodeContext::Error(StrCat(
        "attribute mode is ", Quote(mode.interpolation), " for ", x.type()));
  }
  Ints axes;
  for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
  ENCORE_ASSIGN_OR_RETURN(axes, context.attributes().Ints("axes", axes));
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, shape.rank(), "attribute axes").status());
  ENCORE_ASSIGN_OR_RETURN(
      const std::string policy,
      context.attributes().String("keep_aspect_ratio_policy", "stretch"));
  ENCORE_ASSIGN_OR_RETURN(const bool known,
                          IsAllKnown(context, shape, mode, axes));
  if (!known) return ResizeByData(context, mode, axes, policy);
  x = ToInterpolate(context, mode, x);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<AxisPlan> plans,
                          ReadPlans(context, shape, mode, axes, policy));
  for (const AxisPlan& plan : plans) {
    const bool crops = mode.crops();
    const bool kept = plan.from == 0 || (plan.scale == 1 && !crops);
    if (plan.from == plan.to && kept) continue;
    if (plan.to < 0 || plan.from < 0 || plan.to > kMaxResized ||
        (plan.from == 0 && plan.to != 0)) {
      return NodeContext::Error(StrCat("dim ", plan.axis, " of extent ",
                                       plan.from, " cannot become ", plan.to));
    }
    if (mode.interpolation == "nearest") {
      ENCORE_ASSIGN_OR_RETURN(x, Nearest(context, x, plan, mode));
    } else {
      ENCORE_ASSIGN_OR_RETURN(x, Interpolate(context, x, plan, mode));
    }
  }
  if (mode.crops()) {
    for (const AxisPlan& plan : plans) {
      ENCORE_ASSIGN_OR_RETURN(x, Extrapolate(context, x, plan, mode));
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
