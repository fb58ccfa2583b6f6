#include "encore/opt/tensor/functions/convolution_part_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

bool AllAre(const Ints& list, int64_t value) {
  return std::ranges::all_of(list, [&](int64_t x) { return x == value; });
}

bool IsUngrouped(const ConvolutionAttrs& attrs) {
  return attrs.feature_groups == 1 && attrs.batch_groups == 1;
}

// Of an image and a kernel of so many dims.
bool HasRank(const ConvolutionAttrs* c, const Shape& x, const Shape& w) {
  return c != nullptr && x.rank() == w.rank() &&
         c->strides.size() + 2 == static_cast<size_t>(x.rank());
}

// Sees the image and nothing around it.
bool IsUnpadded(const ConvolutionAttrs& c) {
  return AllAre(c.padding_low, 0) && AllAre(c.padding_high, 0) &&
         AllAre(c.lhs_dilation, 1);
}

// At each point of the image that point alone.
bool IsPointwise(const ConvolutionAttrs& c, const Shape& w) {
  if (!IsUngrouped(c) || !IsUnpadded(c) || !AllAre(c.strides, 1)) return false;
  for (int i = 2; i < w.rank(); ++i) {
    if (!(w[i] == Dim(1))) return false;
  }
  return true;
}

SliceAttrs WholeSlice(const Shape& shape) {
  SliceAttrs slice{.limits = shape.dims()};
  slice.starts.assign(shape.rank(), Dim(0));
  slice.strides.assign(shape.rank(), 1);
  return slice;
}

Ints Range(int64_t first, int64_t count) {
  Ints range(static_cast<size_t>(count));
  std::iota(range.begin(), range.end(), first);
  return range;
}

// reduce(convolution(x, w) {c}) {r}, a sum over all places of points, of c, r,
// x, w: the matrix that the kernel is, and its product with what is left of x.
bool SumOfPoints(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(3);
  if (!HasRank(c, x, w) || !IsPointwise(*c, w) || r == nullptr ||
      r->combiner != Combiner::kSum || x.rank() < 3 ||
      r->axes != Range(2, x.rank() - 2)) {
    return false;
  }
  results[0] = ReshapeAttrs{.shape = {w[0], w[1]}};
  results[1] = DotGeneralAttrs{.contract = {.lhs = {1}, .rhs = {1}}};
  return true;
}

// convolution(transpose(x) {p}, w) {c} of points, of p, c, x, w: the matrix
// that the kernel is, the product of x and that, and its transpose.
bool PointsOfTranspose(const FunctionCall& call,
                       std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(3);
  if (p == nullptr || !HasRank(c, x, w) || !IsPointwise(*c, w) ||
      p->permutation.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  const int64_t channels = p->permutation[1];
  results[0] = ReshapeAttrs{.shape = {w[0], w[1]}};
  results[1] = DotGeneralAttrs{.contract = {.lhs = {channels}, .rhs = {1}}};
  TransposeAttrs order;
  for (const int64_t axis : p->permutation) {
    order.permutation.push_back(axis - (axis > channels ? 1 : 0));
  }
  order.permutation[1] = x.rank() - 1;
  results[2] = std::move(order);
  return true;
}

// convolution(x, w) {c}, of c, x, w and the result, of a kernel as large as the
// image: the product, and its shape.
bool ImageAsProduct(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const Shape& x = call.shape(1);
  const Shape& w = call.shape(2);
  if (!HasRank(c, x, w) || !IsUngrouped(*c) || !IsUnpadded(*c) ||
      !AllAre(c->rhs_dilation, 1) || x.rank() < 3) {
    return false;
  }
  for (int i = 1; i < x.rank(); ++i) {
    if (!(x[i] == w[i])) return false;
  }
  const Ints summed = Range(1, x.rank() - 1);
  results[0] = DotGeneralAttrs{.contract = {.lhs = summed, .rhs = summed}};
  results[1] = ReshapeAttrs{.shape = call.shape(3).dims()};
  return true;
}

// convolution(convolution(x, v) {c}, w) {d}, of c, v, w, where v looks at
// points: the matrix that v is, its product with w, and the transpose that
// makes that a kernel.
bool PointsBefore(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const Shape& v = call.shape(1);
  const Shape& w = call.shape(2);
  if (!HasRank(c, v, w) || !IsPointwise(*c, v)) return false;
  results[0] = ReshapeAttrs{.shape = {v[0], v[1]}};
  results[1] = DotGeneralAttrs{.contract = {.lhs = {1}, .rhs = {0}}};
  // The channels come last.
  Ints order = Range(-1, w.rank());
  order[0] = 0;
  order[1] = w.rank() - 1;
  for (int i = 2; i < w.rank(); ++i) order[i] = i - 1;
  results[2] = TransposeAttrs{.permutation = std::move(order)};
  return true;
}

// Whether each window has an element of the image under one of its places, as
// far as that follows from the attributes: along each dim no end of a window
// lies farther out than the kernel is long, and no image between two places.
bool WindowsMeetImage(const ConvolutionAttrs& c, const Shape& x, const Shape& w,
                      std::span<const Symbol> symbols) {
  if (!AllAre(c.lhs_dilation, 1)) return false;
  for (size_t i = 0; i < c.strides.size(); ++i) {
    const int dim = static_cast<int>(i) + 2;
    const int64_t length = (w[dim].LowerBound(symbols) - 1) * c.rhs_dilation[i];
    if (c.padding_low[i] > length || c.padding_high[i] > length ||
        x[dim].LowerBound(symbols) < c.rhs_dilation[i]) {
      return false;
    }
  }
  return true;
}

// mul(x, broadcast(s) {b}) along channels, convolved, of b, c, x, w: the
// broadcast that scales the kernel, where each window meets the image.
bool FactorOfImage(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(3);
  if (b == nullptr || b->axes != Ints{1} || !HasRank(c, x, w) ||
      c->batch_groups != 1 || !WindowsMeetImage(*c, x, w, call.symbols)) {
    return false;
  }
  // A kernel for each channel has them in its first dim.
  const bool each =
      w[1] == Dim(1) && x[1] == Dim(c->feature_groups) && w[0] == x[1];
  if (!each && c->feature_groups != 1) return false;
  results[0] = BroadcastAttrs{.shape = w.dims(), .axes = {each ? 0 : 1}};
  return true;
}

// add(x, broadcast(v) {b}) along channels, convolved without padding, of b, c,
// x, v, w and the result: the sum of the kernel over its places, that one's
// product with v, and its broadcast.
bool TermOfImage(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& v = call.shape(3);
  const Shape& w = call.shape(4);
  if (b == nullptr || b->axes != Ints{1} || !HasRank(c, x, w) ||
      !IsUngrouped(*c) || !IsUnpadded(*c) || v.rank() != 1 || !(v[0] == x[1])) {
    return false;
  }
  results[0] =
      ReduceAttrs{.combiner = Combiner::kSum, .axes = Range(2, w.rank() - 2)};
  results[1] = DotGeneralAttrs{.contract = {.lhs = {1}, .rhs = {0}}};
  results[2] = BroadcastAttrs{.shape = call.shape(5).dims(), .axes = {1}};
  return true;
}

// One spatial dim of a convolution, sliced: starts, limits, strides.
struct SlicedDim {
  int64_t start, limit, stride;
};

// The convolution that gives these places of a dim alone; false where there is
// none without negative padding.
bool SliceSpatial(const SlicedDim& slice, int64_t image, int64_t taps,
                  size_t dim, ConvolutionAttrs* c) {
  const int64_t stride = c->strides[dim] * slice.stride;
  const int64_t low = c->padding_low[dim] - slice.start * c->strides[dim];
  const int64_t count =
      (slice.limit - slice.start + slice.stride - 1) / slice.stride;
  if (count < 1 || image < 1 || low < 0) return false;
  const int64_t spread = (image - 1) * c->lhs_dilation[dim] + 1;
  const int64_t span = (taps - 1) * c->rhs_dilation[dim] + 1;
  const auto places = [&](int64_t high) {
    const int64_t room = spread + low + high - span;
    return room < 0 ? 0 : room / stride + 1;
  };
  int64_t high = c->padding_high[dim];
  if (places(high) != count) high = (count - 1) * stride + span - spread - low;
  if (high < 0 || places(high) != count) return false;
  c->strides[dim] = stride;
  c->padding_low[dim] = low;
  c->padding_high[dim] = high;
  return true;
}

// How far the kernel can move along a spatial dim, where there is an image.
Dim RoomAlong(const ConvolutionAttrs& c, const Shape& x, const Shape& w,
              int axis) {
  const size_t i = static_cast<size_t>(axis) - 2;
  return (x[axis] - 1) * c.lhs_dilation[i] + c.padding_low[i] +
         c.padding_high[i] - (w[axis] - 1) * c.rhs_dilation[i];
}

// The extent that the convolution gives the dim.
Dim SpatialExtent(const ConvolutionAttrs& c, const Shape& x, const Shape& w,
                  int axis) {
  const int64_t stride = c.strides[static_cast<size_t>(axis) - 2];
  const Dim room = RoomAlong(c, x, w, axis);
  return (stride == 1 ? room : FloorDiv(room, stride)) + 1;
}

// convolution(reverse(x) {v}, w) {c}, of v, c, x, w: the reverse of w, the
// convolution, and the reverse of its result. Strides must end where the image
// does.
bool ReverseOfImage(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const v = call.attrs<AxesAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(3);
  if (v == nullptr || !HasRank(c, x, w) || c->batch_groups != 1 ||
      std::ranges::any_of(v->axes, [&](int64_t axis) {
        return axis < 0 || axis >= x.rank();
      })) {
    return false;
  }
  AxesAttrs of_w, after;
  ConvolutionAttrs mirrored = *c;
  for (const int64_t axis : v->axes) {
    if (axis == 1 && c->feature_groups != 1) return false;
    if (axis != 1) after.axes.push_back(axis);
    if (axis != 0) of_w.axes.push_back(axis);
    if (axis < 2) continue;
    const auto i = static_cast<size_t>(axis) - 2;
    const Dim room = RoomAlong(*c, x, w, static_cast<int>(axis));
    if (c->strides[i] != 1 && (!room.is_constant() || room.constant() < 0 ||
                               room.constant() % c->strides[i] != 0)) {
      return false;
    }
    std::swap(mirrored.padding_low[i], mirrored.padding_high[i]);
  }
  results[0] = std::move(of_w);
  results[1] = std::move(mirrored);
  results[2] = std::move(after);
  return true;
}

// slice(convolution(x, w) {c}) {s}, of c, s, x, w: the slices of x and w, and
// the convolution.
bool SliceConvolution(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(3);
  if (!HasRank(c, x, w) || s == nullptr || c->batch_groups != 1 ||
      s->starts.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  const auto is_whole = [&](int axis, const Dim& extent) {
    return s->starts[axis] == Dim(0) && s->strides[axis] == 1 &&
           s->limits[axis] == extent;
  };
  if (c->feature_groups != 1 && !is_whole(1, w[0])) return false;
  SliceAttrs of_x = WholeSlice(x), of_w = WholeSlice(w);
  const auto take = [&](int from, SliceAttrs* to) {
    to->starts[0] = s->starts[from];
    to->limits[0] = s->limits[from];
    to->strides[0] = s->strides[from];
  };
  take(0, &of_x);
  take(1, &of_w);
  ConvolutionAttrs made = *c;
  for (int i = 2; i < x.rank(); ++i) {
    if (is_whole(i, SpatialExtent(*c, x, w, i))) continue;
    if (!s->starts[i].is_constant() || !s->limits[i].is_constant() ||
        !x[i].is_constant() || !w[i].is_constant() ||
        !SliceSpatial(
            {s->starts[i].constant(), s->limits[i].constant(), s->strides[i]},
            x[i].constant(), w[i].constant(), static_cast<size_t>(i) - 2,
            &made)) {
      return false;
    }
  }
  results[0] = std::move(of_x);
  results[1] = std::move(of_w);
  results[2] = std::move(made);
  return true;
}

// Slices of one tensor, the second of which goes on along the channels where
// the first ends: the slice of both.
bool JoinChannelSlices(const FunctionCall& call,
                       std::span<Attributes> results) {
  const auto* const s = call.attrs<SliceAttrs>(0);
  const auto* const t = call.attrs<SliceAttrs>(1);
  if (s == nullptr || t == nullptr || s->starts.size() < 2 ||
      s->strides != t->strides || s->strides[1] != 1 ||
      !(s->limits[1] == t->starts[1])) {
    return false;
  }
  SliceAttrs both = *s;
  both.limits[1] = t->limits[1];
  for (size_t i = 0; i < both.starts.size(); ++i) {
    if (i != 1 &&
        (!(s->starts[i] == t->starts[i]) || !(s->limits[i] == t->limits[i]))) {
      return false;
    }
  }
  results[0] = std::move(both);
  return true;
}

// concat(convolution(x, v) {c}, convolution(z, w) {d}) by channels, of c, d, v,
// w, whose groups are alike: the convolution in all these groups.
bool JoinGroups(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const auto* const d = call.attrs<ConvolutionAttrs>(1);
  const Shape& v = call.shape(2);
  const Shape& w = call.shape(3);
  if (!HasRank(c, v, w) || d == nullptr || c->batch_groups != 1) return false;
  ConvolutionAttrs both = *d;
  both.feature_groups = c->feature_groups;
  if (!(both == *c)) return false;
  // Kernels of a group, and what they look at.
  if (!(v[0] * d->feature_groups == w[0] * c->feature_groups)) return false;
  for (int i = 1; i < v.rank(); ++i) {
    if (!(v[i] == w[i])) return false;
  }
  both.feature_groups += d->feature_groups;
  results[0] = std::move(both);
  return true;
}

// convolution(concat(x, z) {axis = 1}, w) {c} of points, of c, x, w: the slices
// of w that x and z meet.
bool SplitChannels(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const Shape& x = call.shape(1);
  const Shape& w = call.shape(2);
  if (!HasRank(c, x, w) || !IsPointwise(*c, w)) return false;
  SliceAttrs of_x = WholeSlice(w), of_z = of_x;
  of_x.limits[1] = of_z.starts[1] = x[1];
  results[0] = std::move(of_x);
  results[1] = std::move(of_z);
  return true;
}

// mul(x, broadcast(s) {b}) along spatial dims, and none of channels, convolved
// of points, of b, c, x, w: the broadcast that scales the result.
bool FactorOfPlaces(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(3);
  if (b == nullptr || !HasRank(c, x, w) || !IsPointwise(*c, w) ||
      std::ranges::find(b->axes, 1) != b->axes.end() ||
      std::ranges::none_of(b->axes, [](int64_t axis) { return axis > 1; })) {
    return false;
  }
  BroadcastAttrs after = *b;
  after.shape[1] = w[0];
  results[0] = std::move(after);
  return true;
}

// convolution(gather(x, i) {g}, w) {c} of points, of g, c, x, i, w, that takes
// places along one spatial dim, or images: the gather of the convolution.
bool GatherOfPlaces(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const g = call.attrs<GatherAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const Shape& x = call.shape(2);
  const Shape& w = call.shape(4);
  if (!HasRank(c, x, w) || !IsPointwise(*c, w) || call.shape(3).rank() != 1 ||
      g == nullptr || g->start_index_map.size() != 1 ||
      g->start_index_map[0] == 1 ||
      g->collapsed_slice_dims != g->start_index_map ||
      !g->operand_batching_dims.empty() || g->index_vector_dim != 1 ||
      g->slice_sizes.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  // Each dim stays where it is.
  Ints others = Range(0, x.rank());
  std::erase(others, g->start_index_map[0]);
  if (g->offset_dims != others || !(g->slice_sizes[1] == x[1])) return false;
  GatherAttrs after = *g;
  after.slice_sizes[1] = w[0];
  results[0] = std::move(after);
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"split_channels", "att", 2,
     "A convolution of single points of a concatenation by channels, of which "
     "the first tensor is a part: the slices of the kernel that both meet.",
     SplitChannels},
    {"factor_of_places", "aatt", 1,
     "A broadcast along spatial dims of an image, and not along its channels, "
     "as one of its convolution of single points.",
     FactorOfPlaces},
    {"gather_of_places", "aattt", 1,
     "Of a gather of images or along one spatial dim, and its convolution of "
     "single points: the gather of the convolution.",
     GatherOfPlaces},
    {"sum_of_points", "aatt", 2,
     "A sum over all places of a convolution of single points: the kernel as a "
     "matrix, and its product with the sum of the image.",
     SumOfPoints},
    {"points_of_transpose", "aatt", 3,
     "Of a transpose, and its convolution of single points: the kernel as a "
     "matrix, its product with the tensor, and the transpose of that.",
     PointsOfTranspose},
    {"image_as_product", "attt", 2,
     "A convolution by a kernel as large as the image: the product, and its "
     "shape.",
     ImageAsProduct},
    {"points_before", "att", 3,
     "A kernel of points before another: as a matrix, the product of both, and "
     "the transpose to a kernel.",
     PointsBefore},
    {"factor_of_image", "aatt", 1,
     "A broadcast along the channels of an image as one of the kernel, no "
     "window of which is beside the image.",
     FactorOfImage},
    {"term_of_image", "aatttt", 3,
     "What is added along the channels of an image: the sum of the kernel over "
     "its places, the product, and its broadcast to the result.",
     TermOfImage},
    {"reverse_of_image", "aatt", 3,
     "Of a reverse, and the convolution of what is reversed: the reverse of "
     "the kernel, the convolution, and the reverse of the result.",
     ReverseOfImage},
    {"slice_convolution", "aatt", 3,
     "A slice of a convolution as slices of image and kernel, and the "
     "convolution.",
     SliceConvolution},
    {"join_channel_slices", "aa", 1,
     "Two slices of one tensor, side by side along channels, as one.",
     JoinChannelSlices},
    {"join_groups", "aatt", 1, "Two convolutions as one in the groups of both.",
     JoinGroups},
};

}  // namespace

std::span<const AttributeFunction> ConvolutionPartFunctions() {
  return kFunctions;
}

}  // namespace encore::opt
