#include "encore/ir/import/onnx/image/resize_axis.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Elements of the matrix of an interpolation, at most.
constexpr int64_t kMaxMatrix = int64_t{1} << 24;

// A number for each element of the result along an axis.
struct Line {
  std::vector<double> constants;  // of a plan that is known
  Value value;                    // else f64, or bool for conditions
};

ResizedAxis<double> Constants(const AxisPlan& plan) {
  const auto& [from, to, scale, start, end] = plan.numbers;
  return {from.number(), to.number(), scale.number(), start.number(),
          end.number()};
}

// The lines of the numbers that `compute`, a function of the axis and of the
// position of an element of the result, gives.
template <typename Compute>
std::vector<Line> LinesOf(NodeContext& context, const AxisPlan& plan,
                          Compute compute) {
  std::vector<Line> lines;
  if (plan.known()) {
    const ResizedAxis<double> axis = Constants(plan);
    lines.resize(compute(axis, 0.0).size());
    for (int64_t i = 0; i < *plan.to.constant(); ++i) {
      const auto numbers = compute(axis, static_cast<double>(i));
      for (size_t k = 0; k < lines.size(); ++k) {
        lines[k].constants.push_back(numbers[k]);
      }
    }
    return lines;
  }
  GraphBuilder& g = context.builder();
  const GraphNumber i(g, g.Cast(CountTo(context, plan.size), DType::kF64));
  for (const GraphNumber& number : compute(plan.numbers, i)) {
    // Some are the same for all.
    lines.push_back({{}, g.BroadcastTo(number.ToValue(g), {plan.size})});
  }
  return lines;
}

// Element i of a result is element i * step / divisor, rounded down.
struct Ratio {
  int64_t step = 1, divisor = 1;
};

// Divisors, at most, of ratios with steps.
constexpr int64_t kMostDivisor = 8;

// What the positions are, if it is such a ratio.
std::optional<Ratio> RatioOf(const std::vector<int64_t>& positions,
                             int64_t from) {
  const auto to = static_cast<int64_t>(positions.size());
  const auto is = [&](const Ratio& ratio) {
    for (int64_t i = 0; i < to; ++i) {
      if (positions[i] != i * ratio.step / ratio.divisor) return false;
    }
    return true;
  };
  const Ratio whole{1, to / from};
  if (to % from == 0 && is(whole)) return whole;
  if (to > 0 && positions.back() == 0) {  // the first element, of several
    return to == 1 ? std::optional(Ratio{1, 1}) : std::nullopt;
  }
  if (to > 1 && positions[1] > 0 && is({positions[1], 1})) {
    return Ratio{positions[1], 1};
  }
  for (int64_t divisor = 2; divisor <= kMostDivisor; ++divisor) {
    for (int64_t step = 2; step < divisor; ++step) {
      if (is({step, divisor})) return Ratio{step, divisor};
    }
  }
  return std::nullopt;
}

// The elements of `x` along the axis at positions within it.
Value TakeAt(NodeContext& context, Value x, const AxisPlan& plan,
             const Line& line) {
  GraphBuilder& g = context.builder();
  if (!plan.known()) {
    return g.Take(x, g.Cast(line.value, DType::kI64), plan.axis);
  }
  const std::vector<int64_t> positions(line.constants.begin(),
                                       line.constants.end());
  const int64_t from = *plan.from.constant();
  const std::optional<Ratio> ratio = RatioOf(positions, from);
  if (!ratio) {
    return g.Take(x, g.Constant(Literal::Vector<int64_t>(positions)),
                  plan.axis);
  }
  // Each element repeated equally often is a broadcast, of which a slice takes
  // one in `step`.
  if (ratio->divisor != 1) {
    Dims wide = context.shape(x).dims(), flat = wide;
    Ints axes;
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d + (d > plan.axis));
    wide.insert(wide.begin() + plan.axis + 1, ratio->divisor);
    flat[plan.axis] = from * ratio->divisor;
    x = context.Reshape(
        context.Emit(Op::kBroadcast, {x}, BroadcastAttrs{wide, axes}), flat);
    if (ratio->step == 1) return x;
  }
  const auto last = static_cast<int64_t>(positions.size()) - 1;
  return g.SliceAxis(x, plan.axis, 0, last * ratio->step + 1, ratio->step);
}

// A line along its axis in the shape of `x`, as `dtype`.
Value Along(NodeContext& context, Value x, const AxisPlan& plan,
            const Line& line, DType dtype) {
  GraphBuilder& g = context.builder();
  Value vector = line.value;
  if (plan.known()) {
    Literal literal(dtype, {*plan.to.constant()});
    for (size_t i = 0; i < line.constants.size(); ++i) {
      literal.SetDouble(static_cast<int64_t>(i), line.constants[i]);
    }
    vector = g.Constant(std::move(literal));
  } else if (vector.dtype() != dtype) {
    vector = g.Cast(vector, dtype);
  }
  return context.Emit(Op::kBroadcast, {vector},
                      BroadcastAttrs{context.shape(x).dims(), {plan.axis}});
}

// Against aliasing: a product with a matrix of constants.
StatusOr<Value> InterpolateByMatrix(NodeContext& context, Value x,
                                    const AxisPlan& plan,
                                    const ResizeMode& mode) {
  const ResizedAxis<double> axis = Constants(plan);
  const int64_t from = *plan.from.constant(), to = *plan.to.constant();
  if (to > kMaxMatrix / from) {
    return UnimplementedError(StrCat("attribute antialias is 1 for ", x.type(),
                                     ", whose axis ", plan.axis, " becomes ",
                                     to, ": such a matrix is too large"));
  }
  Literal matrix(x.dtype(), {from, to});
  for (int64_t i = 0; i < to; ++i) {
    const Taps<double> taps = TapsOf<double>(mode, axis, ShrinkOf(mode, axis),
                                             static_cast<double>(i));
    std::map<int64_t, double> weights;
    for (size_t tap = 0; tap < taps.at.size(); ++tap) {
      const double at = Clamped(axis, taps.at[tap]);
      weights[static_cast<int64_t>(at)] += taps.weights[tap];
    }
    for (const auto& [at, weight] : weights) {
      matrix.SetDouble(at * to + i, weight);
    }
  }
  GraphBuilder& g = context.builder();
  Ints back;
  for (int d = 0; d < x.rank(); ++d) {
    back.push_back(d < plan.axis ? d : d == plan.axis ? x.rank() - 1 : d - 1);
  }
  return g.Transpose(
      g.DotGeneral(x, g.Constant(std::move(matrix)), {{plan.axis}, {0}}),
      std::move(back));
}

// The same where the plan is not known: a sum over a table [size, taps].
Value InterpolateByTable(NodeContext& context, Value x, const AxisPlan& plan,
                         const ResizeMode& mode) {
  GraphBuilder& g = context.builder();
  const GraphNumber shrink = ShrinkOf(mode, plan.numbers);
  const Line line =
      LinesOf(context, plan, [&](const auto& axis, const auto& i) {
        return std::vector{SourcePosition(mode.transformation, axis, i)};
      })[0];
  const GraphNumber position(g, g.Unsqueeze(line.value, {1}));
  const GraphNumber floor = arithmetic::Floor(position);
  const Value taps = g.Cast(CountTo(context, plan.taps), DType::kF64);
  const GraphNumber offset =
      GraphNumber(g, g.Unsqueeze(taps, {0})) + FirstTap(mode, shrink);
  const GraphNumber at = floor + offset;
  const GraphNumber away = (offset - (position - floor)) * shrink;
  const GraphNumber weight = WeightAt(mode, away);
  Value weights = Counted(mode, plan.numbers, at, weight).value();
  weights = g.Div(weights, g.Sum(weights, {1}, true));
  const Value parts = g.Take(
      x, g.Cast(Clamped(plan.numbers, at).value(), DType::kI64), plan.axis);
  const Value factors = context.Emit(
      Op::kBroadcast, {g.Cast(weights, x.dtype())},
      BroadcastAttrs{parts.shape().dims(), {plan.axis, plan.axis + 1}});
  return g.Sum(g.Mul(parts, factors), {plan.axis + 1});
}

// A weighted sum of as many elements as the kernel is wide.
StatusOr<Value> Interpolate(NodeContext& context, Value x, const AxisPlan& plan,
                            const ResizeMode& mode) {
  if (plan.widens(mode)) {
    if (plan.known()) return InterpolateByMatrix(context, x, plan, mode);
    return InterpolateByTable(context, x, plan, mode);
  }
  const std::vector<Line> positions =
      LinesOf(context, plan, [&](const auto& axis, const auto& i) {
        auto at = TapsOf(mode, axis, 1, i).at;
        for (auto& element : at) element = Clamped(axis, element);
        return at;
      });
  const std::vector<Line> weights =
      LinesOf(context, plan, [&](const auto& axis, const auto& i) {
        return TapsOf(mode, axis, 1, i).weights;
      });
  GraphBuilder& g = context.builder();
  Value sum;
  for (size_t tap = 0; tap < positions.size(); ++tap) {
    const Value part = TakeAt(context, x, plan, positions[tap]);
    const Value term =
        g.Mul(part, Along(context, part, plan, weights[tap], part.dtype()));
    sum = tap == 0 ? term : g.Add(sum, term);
  }
  return sum;
}

}  // namespace

StatusOr<Value> ResizeAxis(NodeContext& context, Value x, const AxisPlan& plan,
                           const ResizeMode& mode) {
  if (mode.interpolation != Interpolation::kNearest) {
    return Interpolate(context, x, plan, mode);
  }
  const std::vector<Line> lines =
      LinesOf(context, plan, [&](const auto& axis, const auto& i) {
        return std::vector{Clamped(
            axis,
            NearestElement(mode.nearest, axis,
                           SourcePosition(mode.transformation, axis, i)))};
      });
  return TakeAt(context, x, plan, lines[0]);
}

Value Extrapolate(NodeContext& context, Value x, const AxisPlan& plan,
                  const ResizeMode& mode) {
  const std::vector<Line> lines =
      LinesOf(context, plan, [&](const auto& axis, const auto& i) {
        return std::vector{
            IsInside(axis, SourcePosition(mode.transformation, axis, i))};
      });
  const Value inside = Along(context, x, plan, lines[0], DType::kBool);
  return context.builder().Select(
      inside, x, context.Scalar(x.dtype(), mode.extrapolation));
}

}  // namespace encore::onnx
