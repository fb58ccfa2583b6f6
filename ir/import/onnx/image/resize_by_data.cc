#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/image/resize.h"
#include "encore/ir/import/onnx/image/resize_formulas.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;

// An axis and its numbers: f64 scalars.
struct AxisByData {
  int axis = 0;
  ResizedAxis<GraphNumber> numbers;
  Dim size;
  // Against aliasing: by how much the kernel is wider, the first of its taps
  // from where a result lies, and how many there are.
  GraphNumber shrink, first;
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
    return context.Unknown(
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
Status ApplySizes(NodeContext& context, AspectPolicy policy,
                  std::vector<AxisByData>* axes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs sizes,
                          ElementsOf(context, 3, "sizes"));
  if (sizes.size() != axes->size()) {
    return NodeContext::Error(StrCat("input sizes has ", sizes.size(),
                                     " entries for ", axes->size(), " axes"));
  }
  std::vector<ResizedAxis<GraphNumber>> numbers;
  for (size_t i = 0; i < axes->size(); ++i) {
    numbers.push_back((*axes)[i].numbers);
    numbers[i].to = {g, g.Cast(sizes[i].ToValue(g), DType::kF64)};
  }
  ApplySizes<GraphNumber>(policy, numbers);
  for (size_t i = 0; i < axes->size(); ++i) (*axes)[i].numbers = numbers[i];
  return OkStatus();
}

Status ApplyScales(NodeContext& context, std::vector<AxisByData>* axes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Values scales,
                          Numbers(context, 2, "scales", axes->size()));
  for (size_t i = 0; i < axes->size(); ++i) {
    ResizedAxis<GraphNumber>& axis = (*axes)[i].numbers;
    axis.scale = {g, scales[i]};
    axis.to = arithmetic::Floor(axis.from * axis.scale);
  }
  return OkStatus();
}

Status ApplyRoi(NodeContext& context, std::vector<AxisByData>* axes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Values roi,
                          Numbers(context, 1, "roi", 2 * axes->size()));
  for (size_t i = 0; i < axes->size(); ++i) {
    (*axes)[i].numbers.crop_start = {g, roi[i]};
    (*axes)[i].numbers.crop_end = {g, roi[axes->size() + i]};
  }
  return OkStatus();
}

// Slices of x along the axis at positions that are clamped to it.
Value TakeAt(NodeContext& context, Value x, const AxisByData& plan,
             Value positions) {
  GraphBuilder& g = context.builder();
  const Value within =
      g.Max(g.Min(positions, (plan.numbers.from - 1.0).value()), 0.0);
  return g.Take(x, g.Cast(within, DType::kI64), plan.axis);
}

// A vector along the axis in the shape of x.
Value Along(NodeContext& context, Value vector, Value x,
            const AxisByData& plan) {
  return context.Emit(Op::kBroadcast, {vector},
                      BroadcastAttrs{x.shape().dims(), {plan.axis}});
}

Value Interpolate(NodeContext& context, Value x, const AxisByData& plan,
                  const ResizeMode& mode, Value position) {
  GraphBuilder& g = context.builder();
  const Value floor = g.Floor(position);
  const GraphNumber t = {g, g.Sub(position, floor)};
  Values weights;
  for (const GraphNumber& weight : mode.interpolation == Interpolation::kLinear
                                       ? LinearWeights(t)
                                       : CubicWeights(t, mode.cubic_a)) {
    weights.push_back(weight.value());
  }
  const auto taps = static_cast<int>(weights.size());
  Values at;
  Value total;
  for (int tap = 0; tap < taps; ++tap) {
    at.push_back(g.Add(floor, static_cast<double>(tap - taps / 2 + 1)));
    if (!mode.exclude_outside) continue;
    const Value inside =
        g.And(g.Compare(at[tap], 0.0, Comparison::kGe),
              g.Compare(at[tap], plan.numbers.from.value(), Comparison::kLt));
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
             ShapeBuilder* sizes) {
  plan->shrink = arithmetic::Min(plan->numbers.scale, 1.0);
  plan->first = FirstTap(mode, plan->shrink);
  const GraphNumber taps = 2.0 - plan->first * 2.0;
  plan->taps =
      sizes->Define({g, g.Cast(taps.value(), DType::kI64)}, 8 * kMaxResized);
}

// As Interpolate, with as many taps as the shrunk axis needs.
Value InterpolateWidely(NodeContext& context, Value x, const AxisByData& plan,
                        const ResizeMode& mode, Value position, Value taps) {
  GraphBuilder& g = context.builder();
  const Value offset =
      g.Unsqueeze(g.Add(g.Cast(taps, DType::kF64), plan.first.value()), {0});
  const Value floor = g.Floor(position);
  const GraphNumber away = {
      g, g.Sub(offset, g.Unsqueeze(g.Sub(position, floor), {1}))};
  const Value at = g.Add(offset, g.Unsqueeze(floor, {1}));
  Value weights = WeightAt<GraphNumber>(mode, away * plan.shrink).value();
  if (mode.exclude_outside) {
    const Value inside =
        g.And(g.Compare(at, 0.0, Comparison::kGe),
              g.Compare(at, plan.numbers.from.value(), Comparison::kLt));
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
                                           const Ints& axes) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(context.Input(0));
  std::vector<AxisByData> plans;
  for (const int64_t raw : axes) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(raw, shape.rank(), "attribute axes"));
    AxisByData& plan = plans.emplace_back();
    plan.axis = static_cast<int>(axis);
    plan.numbers.from = {
        g, g.Cast(DimValue(context, shape[plan.axis]), DType::kF64)};
  }
  if (context.HasInput(3)) {
    ENCORE_RETURN_IF_ERROR(ApplySizes(context, mode.policy, &plans));
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
  const Literal* scale = plan.numbers.scale.value().constant();
  return scale != nullptr && scale->AsDouble(0) == 1;
}

}  // namespace

Value ToInterpolate(NodeContext& context, const ResizeMode& mode, Value x) {
  if (mode.interpolation == Interpolation::kNearest || !IsInteger(x.dtype()))
    return x;
  return context.builder().Cast(x, DType::kF32);
}

Value Interpolated(NodeContext& context, Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return context.builder().Cast(context.builder().Round(x), dtype);
}

Status ResizeByData(NodeContext& context, const ResizeMode& mode,
                    const Ints& axes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(std::vector<AxisByData> plans,
                          ReadAxes(context, mode, axes));
  if (!mode.crops()) std::erase_if(plans, IsKept);
  ShapeBuilder sizes(context);
  for (AxisByData& plan : plans) {
    const Value from = plan.numbers.from.value(), to = plan.numbers.to.value(),
                scale = plan.numbers.scale.value();
    // NaN is neither.
    const Value nothing = g.And(g.Compare(from, 0.0, Comparison::kEq),
                                g.Compare(to, 0.0, Comparison::kEq));
    const Value fits = g.And(g.Compare(scale, 0.0, Comparison::kGt),
                             g.Compare(from, 0.0, Comparison::kGt));
    sizes.Require({g, g.Or(nothing, fits)});
    sizes.Require(
        {g, g.Compare(to, static_cast<double>(kMaxResized), Comparison::kLt)});
    plan.size = sizes.Define({g, g.Cast(to, DType::kI64)}, kMaxResized);
    if (mode.antialias && mode.interpolation != Interpolation::kNearest) {
      AddTaps(g, mode, &plan, &sizes);
    }
  }
  ENCORE_ASSIGN_OR_RETURN(
      Value x,
      sizes.Assert(
          context.Input(0),
          StrCat(
              "input ", context.HasInput(3) ? "sizes" : "scales",
              " has an entry that leads to a negative or too large extent")));
  const DType dtype = x.dtype();
  x = ToInterpolate(context, mode, x);
  std::vector<Value> inside;
  for (const AxisByData& plan : plans) {
    const GraphNumber index = {
        g, g.Cast(CountTo(context, plan.size), DType::kF64)};
    const GraphNumber at =
        SourcePosition(mode.transformation, plan.numbers, index);
    const Value position = at.value();
    if (mode.crops()) inside.push_back(IsInside(plan.numbers, at).value());
    if (mode.interpolation == Interpolation::kNearest) {
      x = TakeAt(context, x, plan,
                 NearestElement(mode.nearest, plan.numbers, at).value());
    } else if (mode.antialias) {
      x = InterpolateWidely(context, x, plan, mode, position,
                            CountTo(context, plan.taps));
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
