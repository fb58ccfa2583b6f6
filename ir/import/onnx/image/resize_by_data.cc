#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/image/resize.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;

// An axis and its numbers: f64 scalars.
struct AxisByData {
  int axis = 0;
  Value from, to, scale;
  // Where a crop looks; fractions of the input.
  Value crop_start, crop_end;
  Dim size;
  // Against aliasing: by how much the kernel is wider, the first of its taps
  // from where a result lies, and how many there are.
  Value shrink, first;
  Dim taps;
};

// The elements of input i, a vector of `count` numbers, as f64 scalars.
StatusOr<Values> Numbers(NodeContext& context, int i, std::string_view what,
                         size_t count) {
  GraphBuilder& g = context.builder();
  const Value input = context.Input(i);
  const auto length = static_cast<int64_t>(count);
  const Shape shape = input.shape();
  if (shape.rank() == 1 && !shape[0].is_constant()) {
    return UnimplementedError(
        StrCat("input ", what, " has ", shape[0],
               " elements; how many there are must be known when the model is "
               "compiled"));
  }
  if (!IsFloat(input.dtype()) || !(shape == Shape({Dim(length)}))) {
    return NodeContext::Error(StrCat("input ", what, " is ", input.type(),
                                     ", expected ", count, " floats"));
  }
  Values numbers;
  for (int64_t k = 0; k < length; ++k) {
    const Value one = context.Reshape(g.SliceAxis(input, 0, k, k + 1), Dims());
    numbers.push_back(g.Cast(one, DType::kF64));
  }
  return numbers;
}

// Extents by input sizes.
Status ApplySizes(NodeContext& context, const std::string& policy,
                  std::vector<AxisByData>* axes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Values sizes, ElementsOf(context, 3, "sizes"));
  if (sizes.size() != axes->size()) {
    return NodeContext::Error(StrCat("input sizes has ", sizes.size(),
                                     " entries for ", axes->size(), " axes"));
  }
  Value common;
  for (size_t i = 0; i < axes->size(); ++i) {
    AxisByData& axis = (*axes)[i];
    axis.to = g.Cast(sizes[i], DType::kF64);
    axis.scale = g.Div(axis.to, axis.from);
    if (i == 0) {
      common = axis.scale;
    } else {
      common = policy == "not_larger" ? g.Min(common, axis.scale)
                                      : g.Max(common, axis.scale);
    }
  }
  if (policy == "stretch") return OkStatus();
  for (AxisByData& axis : *axes) {
    axis.scale = common;
    axis.to = g.Floor(g.Add(g.Mul(common, axis.from), 0.5));
  }
  return OkStatus();
}

Status ApplyScales(NodeContext& context, std::vector<AxisByData>* axes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Values scales,
                          Numbers(context, 2, "scales", axes->size()));
  for (size_t i = 0; i < axes->size(); ++i) {
    (*axes)[i].scale = scales[i];
    (*axes)[i].to = g.Floor(g.Mul((*axes)[i].from, scales[i]));
  }
  return OkStatus();
}

Status ApplyRoi(NodeContext& context, std::vector<AxisByData>* axes) {
  ENCORE_ASSIGN_OR_RETURN(const Values roi,
                          Numbers(context, 1, "roi", 2 * axes->size()));
  for (size_t i = 0; i < axes->size(); ++i) {
    (*axes)[i].crop_start = roi[i];
    (*axes)[i].crop_end = roi[axes->size() + i];
  }
  return OkStatus();
}

// Where element x of the result, an f64, lies in the input: the formulas of
// convert_resize.cc.
StatusOr<Value> SourcePosition(NodeContext& context, const AxisByData& plan,
                               const ResizeMode& mode, Value x) {
  GraphBuilder& g = context.builder();
  const std::string& how = mode.transformation;
  const auto half_pixel = [&] {
    return g.Sub(g.Div(g.Add(x, 0.5), plan.scale), 0.5);
  };
  const Value last = g.Sub(plan.from, 1.0);
  const Value several = g.Compare(plan.to, 1.0, Comparison::kGt);
  if (how == "asymmetric") return g.Div(x, plan.scale);
  if (how == "half_pixel") return half_pixel();
  if (how == "tf_half_pixel_for_nn") {
    return g.Div(g.Add(x, 0.5), plan.scale);
  }
  if (how == "pytorch_half_pixel") return g.Select(several, half_pixel(), 0.0);
  if (how == "half_pixel_symmetric") {
    const Value adjustment = g.Div(plan.to, g.Mul(plan.scale, plan.from));
    const Value offset = g.Mul(g.Mul(plan.from, 0.5), g.Sub(1.0, adjustment));
    return g.Add(offset, half_pixel());
  }
  if (how == "align_corners") {
    const Value resized = g.Mul(plan.scale, plan.from);
    const Value along = g.Div(g.Mul(x, last), g.Sub(resized, 1.0));
    return g.Select(g.Compare(resized, 1.0, Comparison::kNe), along, 0.0);
  }
  if (how == "tf_crop_and_resize") {
    const Value wide = g.Mul(g.Sub(plan.crop_end, plan.crop_start), last);
    const Value along = g.Add(g.Mul(plan.crop_start, last),
                              g.Div(g.Mul(x, wide), g.Sub(plan.to, 1.0)));
    const Value middle =
        g.Mul(g.Mul(g.Add(plan.crop_start, plan.crop_end), last), 0.5);
    return g.Select(several, along, middle);
  }
  return NodeContext::Error(
      StrCat("attribute coordinate_transformation_mode is ", Quote(how)));
}

StatusOr<Value> NearestIndex(NodeContext& context, Value position,
                             const AxisByData& plan, const ResizeMode& mode) {
  GraphBuilder& g = context.builder();
  const std::string& how = mode.nearest;
  if (how == "round_prefer_floor") return g.Ceil(g.Sub(position, 0.5));
  if (how == "round_prefer_ceil") return g.Floor(g.Add(position, 0.5));
  if (how == "floor") return g.Floor(position);
  if (how == "ceil") return g.Ceil(position);
  if (how == "floor_or_ceil_if_smaller") {
    return g.Select(g.Compare(plan.scale, 1.0, Comparison::kLt),
                    g.Ceil(position), g.Floor(position));
  }
  return NodeContext::Error(StrCat("attribute nearest_mode is ", Quote(how)));
}

// Slices of x along the axis at positions that are clamped to it.
Value TakeAt(NodeContext& context, Value x, const AxisByData& plan,
             Value positions) {
  GraphBuilder& g = context.builder();
  const Value within = g.Max(g.Min(positions, g.Sub(plan.from, 1.0)), 0.0);
  return g.Take(x, g.Cast(within, DType::kI64), plan.axis);
}

// A vector along the axis in the shape of x.
Value Along(NodeContext& context, Value vector, Value x,
            const AxisByData& plan) {
  return context.Emit(Op::kBroadcast, {vector},
                      BroadcastAttrs{x.shape().dims(), {plan.axis}});
}

// The cubic kernel at distances up to 1, and from 1 to 2.
Value CubicNear(GraphBuilder& g, double a, Value d) {
  const Value inner = g.Sub(g.Mul(d, a + 2), a + 3);
  return g.Add(g.Mul(g.Mul(inner, d), d), 1.0);
}
Value CubicFar(GraphBuilder& g, double a, Value d) {
  const Value inner = g.Add(g.Mul(g.Sub(g.Mul(d, a), 5 * a), d), 8 * a);
  return g.Sub(g.Mul(inner, d), 4 * a);
}

// Weights of the taps around a position whose fraction is t.
Values Weights(GraphBuilder& g, const ResizeMode& mode, Value t) {
  if (mode.interpolation == "linear") return {g.Sub(1.0, t), t};
  const double a = mode.cubic_a;
  return {CubicFar(g, a, g.Add(t, 1.0)), CubicNear(g, a, t),
          CubicNear(g, a, g.Sub(1.0, t)), CubicFar(g, a, g.Sub(2.0, t))};
}

Value Interpolate(NodeContext& context, Value x, const AxisByData& plan,
                  const ResizeMode& mode, Value position) {
  GraphBuilder& g = context.builder();
  const Value floor = g.Floor(position);
  Values weights = Weights(g, mode, g.Sub(position, floor));
  const auto taps = static_cast<int>(weights.size());
  Values at;
  Value total;
  for (int tap = 0; tap < taps; ++tap) {
    at.push_back(g.Add(floor, static_cast<double>(tap - taps / 2 + 1)));
    if (!mode.exclude_outside) continue;
    const Value inside = g.And(g.Compare(at[tap], 0.0, Comparison::kGe),
                               g.Compare(at[tap], plan.from, Comparison::kLt));
    weights[tap] = g.Select(inside, weights[tap], 0.0);
    total = tap == 0 ? weights[tap] : g.Add(total, weights[tap]);
  }
  Value sum;
  for (int tap = 0; tap < taps; ++tap) {
    const Value part = TakeAt(context, x, plan, at[tap]);
    const Value weight =
        mode.exclude_outside ? g.Div(weights[tap], total) : weights[tap];
    const Value factor = Along(context, g.Cast(weight, x.dtype()), part, plan);
    const Value term = g.Mul(part, factor);
    sum = tap == 0 ? term : g.Add(sum, term);
  }
  return sum;
}

// How many taps the kernel of an axis has, by how much it shrinks.
void AddTaps(GraphBuilder& g, const ResizeMode& mode, AxisByData* plan,
             SizesByData* sizes) {
  const double reach = mode.interpolation == "linear" ? 1 : 2;
  plan->shrink = g.Min(plan->scale, 1.0);
  plan->first = g.Add(g.Floor(g.Div(-reach, plan->shrink)), 1.0);
  const Value taps = g.Sub(2.0, g.Mul(plan->first, 2.0));
  plan->taps = sizes->Add(g.Cast(taps, DType::kI64), 8 * kMaxResized);
}

// The weight of elements that are `d` elements away: Weight of
// convert_resize.cc.
Value WeightAt(GraphBuilder& g, const ResizeMode& mode, Value d) {
  d = g.Abs(d);
  if (mode.interpolation == "linear") return g.Max(g.Sub(1.0, d), 0.0);
  const double a = mode.cubic_a;
  return g.Select(
      g.Compare(d, 1.0, Comparison::kLe), CubicNear(g, a, d),
      g.Select(g.Compare(d, 2.0, Comparison::kLt), CubicFar(g, a, d), 0.0));
}

// As Interpolate, with as many taps as the shrunk axis needs.
Value InterpolateWidely(NodeContext& context, Value x, const AxisByData& plan,
                        const ResizeMode& mode, Value position, Value taps) {
  GraphBuilder& g = context.builder();
  const Value offset =
      g.Unsqueeze(g.Add(g.Cast(taps, DType::kF64), plan.first), {0});
  const Value floor = g.Floor(position);
  const Value away = g.Sub(offset, g.Unsqueeze(g.Sub(position, floor), {1}));
  const Value at = g.Add(offset, g.Unsqueeze(floor, {1}));
  Value weights = WeightAt(g, mode, g.Mul(away, plan.shrink));
  if (mode.exclude_outside) {
    const Value inside = g.And(g.Compare(at, 0.0, Comparison::kGe),
                               g.Compare(at, plan.from, Comparison::kLt));
    weights = g.Select(inside, weights, 0.0);
  }
  weights = g.Div(weights, g.Sum(weights, {1}, true));
  // [..., size, taps, ...]
  const Value parts = TakeAt(context, x, plan, at);
  const Value factors = context.Emit(
      Op::kBroadcast, {g.Cast(weights, x.dtype())},
      BroadcastAttrs{parts.shape().dims(), {plan.axis, plan.axis + 1}});
  return g.Sum(g.Mul(parts, factors), {plan.axis + 1});
}

StatusOr<std::vector<AxisByData>> ReadAxes(NodeContext& context,
                                           const ResizeMode& mode,
                                           const Ints& axes,
                                           const std::string& policy) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(context.Input(0));
  std::vector<AxisByData> plans;
  for (const int64_t raw : axes) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(raw, shape.rank(), "attribute axes"));
    AxisByData& plan = plans.emplace_back();
    plan.axis = static_cast<int>(axis);
    plan.from = g.Cast(DimValue(context, shape[plan.axis]), DType::kF64);
  }
  if (context.HasInput(3)) {
    ENCORE_RETURN_IF_ERROR(ApplySizes(context, policy, &plans));
  } else if (context.HasInput(2)) {
    ENCORE_RETURN_IF_ERROR(ApplyScales(context, &plans));
  } else {
    return NodeContext::Error("neither input scales nor input sizes is given");
  }
  if (mode.crops()) ENCORE_RETURN_IF_ERROR(ApplyRoi(context, &plans));
  return plans;
}

// Whether the axis surely stays as it is.
bool IsKept(const AxisByData& plan) {
  const Literal* scale = plan.scale.constant();
  return scale != nullptr && scale->AsDouble(0) == 1;
}

}  // namespace

Value ToInterpolate(NodeContext& context, const ResizeMode& mode, Value x) {
  if (mode.interpolation == "nearest" || !IsInteger(x.dtype())) return x;
  return context.builder().Cast(x, DType::kF32);
}

Value Interpolated(NodeContext& context, Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return context.builder().Cast(context.builder().Round(x), dtype);
}

Status ResizeByData(NodeContext& context, const ResizeMode& mode,
                    const Ints& axes, const std::string& policy) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(std::vector<AxisByData> plans,
                          ReadAxes(context, mode, axes, policy));
  if (!mode.crops()) std::erase_if(plans, IsKept);
  SizesByData sizes(context);
  for (AxisByData& plan : plans) {
    // NaN is neither.
    const Value nothing = g.And(g.Compare(plan.from, 0.0, Comparison::kEq),
                                g.Compare(plan.to, 0.0, Comparison::kEq));
    const Value fits = g.And(g.Compare(plan.scale, 0.0, Comparison::kGt),
                             g.Compare(plan.from, 0.0, Comparison::kGt));
    sizes.Require(g.Or(nothing, fits));
    sizes.Require(
        g.Compare(plan.to, static_cast<double>(kMaxResized), Comparison::kLt));
    plan.size = sizes.Add(g.Cast(plan.to, DType::kI64), kMaxResized);
    if (mode.antialias && mode.interpolation != "nearest") {
      AddTaps(g, mode, &plan, &sizes);
    }
  }
  ENCORE_ASSIGN_OR_RETURN(
      Value x,
      sizes.Assert(context.Input(0),
                   StrCat("input ", context.HasInput(3) ? "sizes" : "scales",
                          " has an entry that no extent can become")));
  const DType dtype = x.dtype();
  x = ToInterpolate(context, mode, x);
  std::vector<Value> inside;
  for (const AxisByData& plan : plans) {
    const Value index = g.Cast(sizes.CountTo(plan.size), DType::kF64);
    ENCORE_ASSIGN_OR_RETURN(const Value position,
                            SourcePosition(context, plan, mode, index));
    inside.push_back(
        g.And(g.Compare(position, 0.0, Comparison::kGe),
              g.Compare(position, g.Sub(plan.from, 1.0), Comparison::kLe)));
    if (mode.interpolation == "nearest") {
      ENCORE_ASSIGN_OR_RETURN(const Value nearest,
                              NearestIndex(context, position, plan, mode));
      x = TakeAt(context, x, plan, nearest);
    } else if (mode.antialias) {
      x = InterpolateWidely(context, x, plan, mode, position,
                            sizes.CountTo(plan.taps));
    } else {
      x = Interpolate(context, x, plan, mode, position);
    }
  }
  for (size_t i = 0; mode.crops() && i < plans.size(); ++i) {
    x = g.Select(Along(context, inside[i], x, plans[i]), x,
                 context.Scalar(x.dtype(), mode.extrapolation));
  }
  return context.Output(0, Interpolated(context, x, dtype));
}

}  // namespace encore::onnx
