// Operators that pool regions of images: RoiAlign, MaxRoiPool.

#include <limits>
#include <string_view>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/place_range.h"
#include "encore/ir/import/onnx/image/sampling.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The images [N, C, H, W] that `numbers`, the node's `input`, names: [R, C, H,
// W]. A number of none ends the run.
StatusOr<Value> ImagesAt(NodeContext& context, Value images, Value numbers,
                         std::string_view input) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(images);
  GatherAttrs gather;
  ENCORE_ASSIGN_OR_RETURN(gather.out_of_range,
                          RuleForPlaces(context, numbers, shape[0], input));
  gather.slice_sizes = shape.dims();
  gather.slice_sizes[0] = 1;
  for (int64_t i = 1; i < shape.rank(); ++i) gather.offset_dims.push_back(i);
  gather.collapsed_slice_dims = {0};
  gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  const Value taken = g.Gather(images, numbers, std::move(gather));
  ENCORE_RETURN_IF_ERROR(g.status());
  return taken;
}

struct RoiMode {
  int64_t height = 1, width = 1, samples = 0;
  double scale = 1;
  bool half_pixel = true, maximum = false;
};

StatusOr<RoiMode> ReadRoiMode(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  RoiMode mode;
  ENCORE_ASSIGN_OR_RETURN(mode.height, attributes.Int("output_height", 1));
  ENCORE_ASSIGN_OR_RETURN(mode.width, attributes.Int("output_width", 1));
  ENCORE_ASSIGN_OR_RETURN(mode.samples, attributes.Int("sampling_ratio", 0));
  ENCORE_ASSIGN_OR_RETURN(const float scale,
                          attributes.Float("spatial_scale", 1));
  mode.scale = scale;
  ENCORE_ASSIGN_OR_RETURN(
      mode.half_pixel, attributes.Word<bool>("coordinate_transformation_mode",
                                             {{"half_pixel", true},
                                              {"output_half_pixel", false}}));
  ENCORE_ASSIGN_OR_RETURN(
      mode.maximum,
      attributes.Word<bool>("mode", {{"avg", false}, {"max", true}}));
  if (mode.height < 1 || mode.width < 1 || mode.height > INT16_MAX ||
      mode.width > INT16_MAX || mode.samples < 0 || mode.samples > INT16_MAX) {
    return NodeContext::Error(
        "attribute output_height, output_width or sampling_ratio is out of "
        "range");
  }
  return mode;
}

// Where regions lie along one axis: [R] each, in elements.
struct RoiSpan {
  Value low, size;
};

RoiSpan SpanOf(GraphBuilder& g, Value start, Value end, const RoiMode& mode) {
  const double offset = mode.half_pixel ? 0.5 : 0;
  const Value low = g.Sub(g.Mul(start, mode.scale), offset);
  const Value size = g.Sub(g.Sub(g.Mul(end, mode.scale), offset), low);
  return {low, mode.half_pixel ? size : g.Max(size, 1.0)};
}

// The samples of a bin along one axis.
struct RoiSamples {
  Dim most;      // of all regions
  Value counts;  // [R]: how many a region has
};

// As many samples as a bin has elements, at least in part.
RoiSamples AdaptiveSamples(GraphBuilder& g, const RoiSpan& span, int64_t bins,
                           ShapeBuilder* shapes) {
  const Value counts =
      g.Max(g.Ceil(g.Div(span.size, static_cast<double>(bins))), 0.0);
  // No regions have no largest one.
  const Value most = g.Max(g.Reduce(counts, Combiner::kMax, {0}), 0.0);
  return {shapes->Define({g, g.Cast(most, DType::kI64)}, INT16_MAX), counts};
}

RoiSamples FixedSamples(GraphBuilder& g, const RoiSpan& span, int64_t count) {
  return {Dim(count),
          g.BroadcastTo(g.Scalar(span.low.dtype(), static_cast<double>(count)),
                        span.low.shape())};
}

// Positions along one axis of all samples of all bins, [R, bins * samples], as
// two taps; outside of the image they count nothing.
std::vector<Tap> RoiTaps(GraphBuilder& g, const RoiSpan& span, int64_t bins,
                         const RoiSamples& samples, const GridAxis& axis) {
  const DType dtype = span.low.dtype();
  const Dim regions = span.low.shape()[0];
  const auto each = [&](Value value) { return g.Unsqueeze(value, {1, 2}); };
  const Value bin = g.Reshape(g.Iota(dtype, {bins}, 0), {1, bins, 1});
  const Value number =
      g.Reshape(g.Cast(g.Iota(DType::kI64, {samples.most}, 0), dtype),
                {1, 1, samples.most});
  const Value counts = each(samples.counts);
  const Value part = g.Div(g.Add(number, 0.5), g.Max(counts, 1.0));
  const Value step = each(g.Div(span.size, static_cast<double>(bins)));
  Value at = g.Add(each(span.low), g.Mul(step, g.Add(bin, part)));
  const Value extent = g.Cast(axis.extent, dtype);
  const Value last = g.Sub(extent, 1.0);
  Value inside = g.And(g.Compare(at, -1.0, Comparison::kGe),
                       g.Compare(at, extent, Comparison::kLe));
  inside = g.And(inside, g.Compare(number, counts, Comparison::kLt));
  const Shape flat = {regions, samples.most * bins};
  at = g.Reshape(at, flat);
  inside = g.Reshape(inside, flat);
  const Value kept = g.Min(g.Max(at, 0.0), last);
  const Value floor = g.Floor(kept);
  const Value t = g.Sub(kept, floor);
  const auto tap = [&](Value position, Value weight) {
    return Tap{g.Cast(g.Min(position, last), DType::kI64), weight, inside};
  };
  return {tap(floor, g.Sub(1.0, t)), tap(g.Add(floor, 1.0), t)};
}

// Whether a region has the samples, as bool [R, 1, 1, rows, 1, columns]: others
// have more.
Value CountedSamples(GraphBuilder& g, const std::vector<RoiSamples>& samples,
                     const Dim& regions) {
  Value counted;
  for (int d = 0; d < 2; ++d) {
    const RoiSamples& axis = samples[d];
    Shape along = {1, 1, 1, 1, 1, 1};
    along[3 + 2 * d] = axis.most;
    const Value number = g.Reshape(
        g.Cast(g.Iota(DType::kI64, {axis.most}, 0), axis.counts.dtype()),
        along);
    const Value count = g.Reshape(axis.counts, {regions, 1, 1, 1, 1, 1});
    const Value below = g.Compare(number, count, Comparison::kLt);
    counted = d == 0 ? below : g.And(counted, below);
  }
  return counted;
}

// The samples of each bin as one: [R, C, height, width].
Value Pooled(NodeContext& context, Value images, const RoiMode& mode,
             const std::vector<GridAxis>& axes,
             const std::vector<RoiSamples>& samples,
             std::vector<std::vector<Tap>> taps) {
  GraphBuilder& g = context.builder();
  const Dim count = images.shape()[0];
  const Dim rows = samples[0].most * mode.height,
            columns = samples[1].most * mode.width;
  // All rows with all columns: [R, rows * columns].
  const auto cross = [&](Value* value, bool is_row) {
    const Shape to = {count, rows, columns};
    *value = g.Reshape(g.Broadcast(*value, to, {0, is_row ? 1 : 2}),
                       {count, rows * columns});
  };
  for (int d = 0; d < 2; ++d) {
    for (Tap& tap : taps[d]) {
      for (Value* value : {&tap.at, &tap.weight, &tap.inside}) {
        cross(value, d == 0);
      }
    }
  }
  const Ints inner = {3, 5};
  const Shape bins = {count,           images.shape()[1], mode.height,
                      samples[0].most, mode.width,        samples[1].most};
  if (!mode.maximum) {
    const Value sum =
        g.Sum(g.Reshape(Sample(g, images, axes, taps), bins), inner);
    const Value all = g.Mul(samples[0].counts, samples[1].counts);
    return g.Div(sum, g.Unsqueeze(g.Max(all, 1.0), {1, 2, 3}));
  }
  // The largest of the weighed taps, not of their sums; of no samples 0.
  const Value counted =
      mode.samples == 0 ? CountedSamples(g, samples, count) : Value();
  const Value lowest =
      context.Scalar(images.dtype(), -std::numeric_limits<double>::infinity());
  Value best;
  for (const Tap& row : taps[0]) {
    for (const Tap& column : taps[1]) {
      Value part = g.Reshape(Sample(g, images, axes, {{row}, {column}}), bins);
      if (counted.valid()) part = g.Select(counted, part, lowest);
      const Value top = g.Reduce(part, Combiner::kMax, inner);
      best = best.valid() ? g.Max(best, top) : top;
    }
  }
  if (!counted.valid()) return best;
  const Value all = g.Mul(samples[0].counts, samples[1].counts);
  return g.Select(g.Unsqueeze(g.Compare(all, 0.0, Comparison::kGt), {1, 2, 3}),
                  best, context.Scalar(images.dtype(), 0));
}

Status RoiAlign(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const RoiMode mode, ReadRoiMode(context));
  const Value x = context.Input(0), rois = context.Input(1);
  const Shape shape = context.shape(x);
  if (x.rank() != 4 || rois.rank() != 2 || !(rois.shape()[1] == Dim(4))) {
    return NodeContext::Error(StrCat("inputs are ", x.type(), " and ",
                                     rois.type(),
                                     ", expected [N, C, H, W] and [R, 4]"));
  }
  ENCORE_RETURN_IF_ERROR(context.CheckVector(2, "batch_indices"));
  ENCORE_ASSIGN_OR_RETURN(
      Value images, ImagesAt(context, x, context.Input(2), "batch_indices"));
  const auto corner = [&](int64_t i) {
    return g.Squeeze(g.SliceAxis(rois, 1, i, i + 1), {1});
  };
  const std::vector<GridAxis> axes = {{DimValue(context, shape[2])},
                                      {DimValue(context, shape[3])}};
  const RoiSpan spans[] = {SpanOf(g, corner(1), corner(3), mode),
                           SpanOf(g, corner(0), corner(2), mode)};
  const int64_t bins[] = {mode.height, mode.width};
  std::vector<RoiSamples> samples;
  ShapeBuilder shapes(context);
  for (int d = 0; d < 2; ++d) {
    samples.push_back(mode.samples == 0
                          ? AdaptiveSamples(g, spans[d], bins[d], &shapes)
                          : FixedSamples(g, spans[d], mode.samples));
  }
  ENCORE_ASSIGN_OR_RETURN(
      images,
      shapes.Assert(images,
                    "input rois has a region with too many sampling points"));
  ENCORE_RETURN_IF_ERROR(g.status());
  std::vector<std::vector<Tap>> taps;
  for (int d = 0; d < 2; ++d) {
    taps.push_back(RoiTaps(g, spans[d], bins[d], samples[d], axes[d]));
  }
  return context.Output(0, Pooled(context, images, mode, axes, samples, taps));
}

// x rounded, half away from zero.
Value RoundAway(GraphBuilder& g, Value x) {
  const Value away = g.Floor(g.Add(g.Abs(x), 0.5));
  return g.Select(g.Compare(x, 0.0, Comparison::kLt), g.Neg(away), away);
}

// For each region and bin whether an element of an axis of `extent` is in it:
// bool [R, bins, extent].
Value InBin(GraphBuilder& g, Value start, Value end, int64_t bins,
            const Dim& extent) {
  const DType dtype = start.dtype();
  const auto each = [&](Value value) { return g.Unsqueeze(value, {1, 2}); };
  const Value size = g.Div(g.Max(g.Add(g.Sub(end, start), 1.0), 1.0),
                           static_cast<double>(bins));
  const Value bin = g.Reshape(g.Iota(dtype, {bins}, 0), {1, bins, 1});
  const Value low = g.Add(g.Floor(g.Mul(each(size), bin)), each(start));
  const Value high =
      g.Add(g.Ceil(g.Mul(each(size), g.Add(bin, 1.0))), each(start));
  const Value at = g.Reshape(g.Iota(dtype, {extent}, 0), {1, 1, extent});
  return g.And(g.Compare(at, low, Comparison::kGe),
               g.Compare(at, high, Comparison::kLt));
}

// The largest element of each bin; of an empty one 0. Source: the operator's
// page, and Fast R-CNN (https://arxiv.org/abs/1504.08083), section 2.1.
Status MaxRoiPool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  const Value x = context.Input(0), rois = context.Input(1);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const Ints bins, attributes.Ints("pooled_shape", {}));
  ENCORE_ASSIGN_OR_RETURN(const float scale,
                          attributes.Float("spatial_scale", 1));
  if (bins.size() != 2) {
    return NodeContext::Error(StrCat("attribute pooled_shape has ", bins.size(),
                                     " entries, expected 2"));
  }
  if (x.rank() != 4 || rois.rank() != 2 || !(rois.shape()[1] == Dim(5))) {
    return NodeContext::Error(StrCat("inputs are ", x.type(), " and ",
                                     rois.type(),
                                     ", expected [N, C, H, W] and [R, 5]"));
  }
  const auto column = [&](int64_t i) {
    return g.Squeeze(g.SliceAxis(rois, 1, i, i + 1), {1});
  };
  const auto corner = [&](int64_t i) {
    return RoundAway(g, g.Mul(column(i), scale));
  };
  const Value lowest =
      context.Scalar(x.dtype(), -std::numeric_limits<double>::infinity());
  ENCORE_ASSIGN_OR_RETURN(
      Value best, ImagesAt(context, x, g.Cast(column(0), DType::kI64), "rois"));
  // First the rows of each bin, [R, C, bins, H, W] to [R, C, bins, W], then the
  // columns, [R, C, bins, bins, W].
  for (int d = 0; d < 2; ++d) {
    const Value in =
        InBin(g, corner(2 - d), corner(4 - d), bins[d], shape[2 + d]);
    const Value inside = g.Unsqueeze(in, d == 0 ? Ints{1, 4} : Ints{1, 2});
    const Value spread = g.Unsqueeze(best, {2 + d});
    best = g.Reduce(g.Select(inside, spread, lowest), Combiner::kMax, {3 + d});
  }
  const Value empty = g.Compare(best, lowest, Comparison::kEq);
  return context.Output(0, g.Select(empty, context.Scalar(x.dtype(), 0), best));
}

constexpr Converter kConverters[] = {
    {"MaxRoiPool", MaxRoiPool, Op::kReduce},
    {"RoiAlign", RoiAlign, Op::kGather},
};

}  // namespace

std::span<const Converter> RoiConverters() { return kConverters; }

}  // namespace encore::onnx
