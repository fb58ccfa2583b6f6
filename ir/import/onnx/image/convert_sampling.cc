// Operators that read an image between its elements: GridSample, DeformConv.

#include <algorithm>
#include <cmath>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/interpolation.h"
#include "encore/ir/import/onnx/image/sampling.h"
#include "encore/ir/import/onnx/image/window.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;

enum class Padding { kZeros, kBorder, kReflection };

struct GridMode {
  Interpolation interpolation = Interpolation::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

// The number of the last element, in a float dtype.
Value LastOf(GraphBuilder& g, const GridAxis& axis, DType dtype) {
  return g.Sub(g.Cast(axis.extent, dtype), 1.0);
}

// Mirrored at both ends until it lies between them.
Value Reflect(GraphBuilder& g, Value x, const GridAxis& axis) {
  // What has one element is clamped to it afterwards.
  const Value range =
      g.Max(g.Add(LastOf(g, axis, x.dtype()), 2 * axis.margin), 1.0);
  const Value away = g.Abs(g.Add(x, axis.margin));
  const Value turns = g.Floor(g.Div(away, range));
  const Value rest = g.Sub(away, g.Mul(turns, range));
  const Value odd =
      g.Compare(g.Sub(turns, g.Mul(g.Floor(g.Div(turns, 2.0)), 2.0)), 0.5,
                Comparison::kGt);
  return g.Sub(g.Select(odd, g.Sub(range, rest), rest), axis.margin);
}

Tap MakeTap(GraphBuilder& g, Value at, Value weight, const GridAxis& axis,
            Padding padding) {
  const Value last = LastOf(g, axis, at.dtype());
  Tap tap{{}, weight, {}};
  if (padding == Padding::kZeros) {
    tap.inside = g.And(g.Compare(at, 0.0, Comparison::kGe),
                       g.Compare(at, last, Comparison::kLe));
  } else if (padding == Padding::kReflection) {
    at = Reflect(g, at, axis);
  }
  tap.at = g.Cast(g.Min(g.Max(at, 0.0), last), DType::kI64);
  return tap;
}

// The taps along one axis at coordinates [N, P] in elements.
std::vector<Tap> TapsOf(GraphBuilder& g, Value x, const GridAxis& axis,
                        const GridMode& mode) {
  if (mode.interpolation == Interpolation::kNearest) {
    return {MakeTap(g, g.Round(x), {}, axis, mode.padding)};
  }
  const Value floor = g.Floor(x);
  const GraphNumber t = {g, g.Sub(x, floor)};
  const bool is_linear = mode.interpolation == Interpolation::kLinear;
  const std::vector<GraphNumber> weights =
      is_linear ? LinearWeights(t) : CubicWeights(t, -0.75);
  const double first = is_linear ? 0 : -1;
  std::vector<Tap> taps;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double offset = first + static_cast<double>(i);
    taps.push_back(MakeTap(g, g.Add(floor, offset), weights[i].value(), axis,
                           mode.padding));
  }
  return taps;
}

StatusOr<GridMode> ReadGridMode(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  GridMode mode;
  ENCORE_ASSIGN_OR_RETURN(mode.interpolation,
                          attributes.Word<Interpolation>(
                              "mode", {{"linear", Interpolation::kLinear},
                                       {"cubic", Interpolation::kCubic},
                                       {"nearest", Interpolation::kNearest},
                                       {"bilinear", Interpolation::kLinear},
                                       {"bicubic", Interpolation::kCubic}}));
  ENCORE_ASSIGN_OR_RETURN(
      mode.padding,
      attributes.Word<Padding>("padding_mode",
                               {{"zeros", Padding::kZeros},
                                {"border", Padding::kBorder},
                                {"reflection", Padding::kReflection}}));
  ENCORE_ASSIGN_OR_RETURN(mode.align_corners,
                          attributes.Bool("align_corners", false));
  return mode;
}

Status GridSample(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0), grid = context.Input(1);
  ENCORE_ASSIGN_OR_RETURN(const GridMode mode, ReadGridMode(context));
  const int spatial = x.rank() - 2;
  const Shape shape = context.shape(x), where = context.shape(grid);
  if (spatial < 1 || where.rank() != x.rank() ||
      !(where[spatial + 1] == Dim(spatial))) {
    return NodeContext::Error(
        StrCat("input grid is ", grid.type(), " for ", x.type()));
  }
  Dim points = 1;
  for (int i = 1; i <= spatial; ++i) points = points * where[i];
  std::vector<GridAxis> axes;
  std::vector<std::vector<Tap>> taps;
  for (int d = 0; d < spatial; ++d) {
    const GridAxis axis = {DimValue(context, shape[2 + d]),
                           mode.align_corners ? 0 : 0.5};
    const Value last = LastOf(g, axis, grid.dtype());
    // The grid counts its axes from the last one, from -1 to 1.
    const int64_t column = spatial - 1 - d;
    Value at = g.Reshape(g.SliceAxis(grid, spatial + 1, column, column + 1),
                         {where[0], points});
    at = mode.align_corners
             ? g.Mul(g.Add(at, 1.0), g.Div(last, 2.0))
             : g.Div(g.Sub(g.Mul(g.Add(at, 1.0), g.Add(last, 1.0)), 1.0), 2.0);
    ENCORE_RETURN_IF_ERROR(g.status());
    if (mode.interpolation == Interpolation::kNearest) at = g.Round(at);
    // The taps of a cubic curve are taken to the border one by one.
    if (mode.padding == Padding::kBorder &&
        mode.interpolation != Interpolation::kCubic) {
      at = g.Min(g.Max(at, 0.0), last);
    } else if (mode.padding == Padding::kReflection) {
      at = Reflect(g, at, axis);
    }
    taps.push_back(TapsOf(g, at, axis, mode));
    axes.push_back(axis);
  }
  Dims result = {shape[0], shape[1]};
  for (int i = 1; i <= spatial; ++i) result.push_back(where[i]);
  return context.Output(0, context.Reshape(Sample(g, x, axes, taps), result));
}

// What a deformable convolution reads: the taps of one axis [N * groups, K * P]
// where a window of K elements stands at P places, each moved by `offset`
// [N * groups, K, rank, P].
std::vector<Tap> DeformedTaps(NodeContext& context, Value offset,
                              const Window& window, const Shape& places, int d,
                              const GridAxis& axis) {
  GraphBuilder& g = context.builder();
  const Shape shape = offset.shape();
  Dims all(places.dims().begin() + 2, places.dims().end());
  all.insert(all.end(), window.sizes.begin(), window.sizes.end());
  const Value plain = g.TransposeMatrix(
      g.Reshape(g.BroadcastTo(PositionsAlong(context, window, places, d),
                              Shape(std::move(all))),
                {shape[3], shape[1]}));
  const Value moved = g.Squeeze(g.SliceAxis(offset, 2, d, d + 1), {2});
  const Value at =
      g.Add(g.Cast(moved, DType::kF32), g.Cast(plain, DType::kF32));
  const GridMode mode;
  return TapsOf(g, g.Reshape(at, {shape[0], shape[1] * shape[3]}), axis, mode);
}

// The shape of a convolution's result.
StatusOr<Shape> ConvolvedShape(const Shape& shape, const Dim& channels,
                               const Window& window) {
  Dims result = {shape[0], channels};
  for (size_t d = 0; d < window.sizes.size(); ++d) {
    const Dim rest = shape[static_cast<int>(d) + 2] + window.padding_low[d] +
                     window.padding_high[d] -
                     window.dilations[d] * (window.sizes[d] - 1) - 1;
    if (rest.is_constant() && rest.constant() < 0) {
      return NodeContext::Error(StrCat(
          "the kernel is larger than the padded input X in dim ", d + 2));
    }
    result.push_back(FloorDiv(rest, window.strides[d]) + 1);
  }
  return Shape(std::move(result));
}

// Whether the channels of a deformable convolution fall into groups, and into
// groups that are `moved` alike.
Status CheckGroups(Value x, Value weights, int64_t groups, int64_t moved) {
  const Shape &shape = x.shape(), &kernel = weights.shape();
  if (!shape[1].is_constant() || !kernel[0].is_constant() || groups < 1 ||
      moved < 1 || shape[1].constant() % groups != 0 ||
      shape[1].constant() % moved != 0 || kernel[0].constant() % groups != 0 ||
      !(kernel[1] == Dim(shape[1].constant() / groups))) {
    return NodeContext::Error(StrCat("inputs X and W are ", x.type(), " and ",
                                     weights.type(), " in ", groups, " and ",
                                     moved, " groups"));
  }
  return OkStatus();
}

// Source: https://onnx.ai/onnx/operators/onnx__DeformConv.html
Status DeformConv(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 5));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0), weights = context.Input(1);
  ENCORE_ASSIGN_OR_RETURN(const int64_t groups,
                          context.attributes().Int("group", 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t moved,
                          context.attributes().Int("offset_group", 1));
  const Shape shape = context.shape(x), kernel = context.shape(weights);
  const int spatial = x.rank() - 2;
  ENCORE_ASSIGN_OR_RETURN(const Ints sizes,
                          KernelSizes(context, weights, x.rank()));
  ENCORE_ASSIGN_OR_RETURN(const Window window,
                          ReadWindow(context, shape, sizes, false));
  ENCORE_ASSIGN_OR_RETURN(const Shape result,
                          ConvolvedShape(shape, kernel[0], window));
  ENCORE_RETURN_IF_ERROR(CheckGroups(x, weights, groups, moved));
  const Dim batch = shape[0] * moved;
  const Dim taps = *ElementCount(sizes);  // some of the elements of W
  Dim points = 1;
  for (int d = 0; d < spatial; ++d) points = points * result[d + 2];
  const Value offset =
      context.Reshape(context.Input(2), {batch, taps, spatial, points});
  ENCORE_RETURN_IF_ERROR(g.status());
  std::vector<GridAxis> axes;
  std::vector<std::vector<Tap>> along;
  for (int d = 0; d < spatial; ++d) {
    axes.push_back({DimValue(context, shape[d + 2])});
    along.push_back(
        DeformedTaps(context, offset, window, result, d, axes.back()));
  }
  const int64_t channels = shape[1].constant() / moved;
  Dims split = {batch, channels};
  for (int d = 0; d < spatial; ++d) split.push_back(shape[d + 2]);
  Value read = Sample(g, context.Reshape(x, split), axes, along);
  if (context.HasInput(4)) {
    const Value mask =
        context.Reshape(context.Input(4), {batch, 1, taps * points});
    read = g.Mul(read, g.BroadcastTo(mask, read.shape()));
  }
  const Dim inner = taps * (shape[1].constant() / groups);
  const int64_t outer = kernel[0].constant() / groups;
  // [groups, outer, N, points]
  Value y =
      g.DotGeneral(context.Reshape(weights, {groups, outer, inner}),
                   context.Reshape(read, {shape[0], groups, inner, points}),
                   {{2}, {2}}, {{0}, {1}});
  y = g.Transpose(y, {2, 0, 1, 3});
  y = g.Reshape(y, result);
  ENCORE_RETURN_IF_ERROR(g.status());
  if (context.HasInput(3)) {
    const Value bias = context.Input(3);
    y = g.Add(y, g.Broadcast(bias, context.shape(y), {1}));
  }
  return context.Output(0, y);
}

constexpr Converter kConverters[] = {
    {"DeformConv", DeformConv, Op::kDotGeneral},
    {"GridSample", GridSample, Op::kGather},
};

}  // namespace

std::span<const Converter> SamplingConverters() { return kConverters; }

}  // namespace encore::onnx
