// Images put together and cut: Col2Im, CenterCropPad, AffineGrid.

#include <algorithm>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/pad_by_data.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The number of elements along an axis of an image, at most.
constexpr int64_t kMaxExtent = int64_t{1} << 24;

using Values = std::vector<Value>;

// One entry per spatial dim. A window takes the elements of a block, dilations
// apart; windows are strides apart, the first begins before the image by the
// padding.
struct Blocks {
  Ints dilations, strides, pads;
  Values image, block, counts;
};

StatusOr<Blocks> ReadBlocks(NodeContext& context) {
  Blocks blocks;
  ENCORE_ASSIGN_OR_RETURN(blocks.image, ElementsOf(context, 1, "image_shape"));
  ENCORE_ASSIGN_OR_RETURN(blocks.block, ElementsOf(context, 2, "block_shape"));
  const size_t rank = blocks.image.size();
  if (rank < 1 || blocks.block.size() != rank) {
    return NodeContext::Error(StrCat("input block_shape has ",
                                     blocks.block.size(),
                                     " entries, input image_shape ", rank));
  }
  const auto read = [&](std::string_view name, Ints fallback,
                        int64_t least) -> StatusOr<Ints> {
    const size_t count = fallback.size();
    ENCORE_ASSIGN_OR_RETURN(const Ints entries, context.attributes().Ints(
                                                    name, std::move(fallback)));
    const bool fit = std::all_of(
        entries.begin(), entries.end(),
        [&](int64_t entry) { return entry >= least && entry <= kMaxExtent; });
    if (fit && entries.size() == count) return entries;
    return NodeContext::Error(StrCat("attribute ", name, " is [",
                                     StrJoin(entries, ","), "], expected ",
                                     count, " entries of at least ", least));
  };
  ENCORE_ASSIGN_OR_RETURN(blocks.dilations,
                          read("dilations", Ints(rank, 1), 1));
  ENCORE_ASSIGN_OR_RETURN(blocks.strides, read("strides", Ints(rank, 1), 1));
  ENCORE_ASSIGN_OR_RETURN(blocks.pads, read("pads", Ints(2 * rank, 0), 0));
  return blocks;
}

// How often the window fits along each axis; that it does is required.
void CountWindows(GraphBuilder& g, Blocks* blocks, SizesByData* sizes) {
  const size_t rank = blocks->image.size();
  for (size_t d = 0; d < rank; ++d) {
    sizes->Require(g.Compare(blocks->image[d], 1, Comparison::kGe));
    sizes->Require(g.Compare(blocks->block[d], 1, Comparison::kGe));
    const Value reach =
        g.Add(g.Mul(g.Sub(blocks->block[d], 1), blocks->dilations[d]), 1);
    const Value padded =
        g.Add(blocks->image[d], blocks->pads[d] + blocks->pads[rank + d]);
    const Value room = g.Sub(padded, reach);
    sizes->Require(g.Compare(room, 0, Comparison::kGe));
    blocks->counts.push_back(g.Add(g.Div(room, blocks->strides[d]), 1));
  }
}

// For each element of each window where in the image it belongs, of all its
// elements in row-major order; past the last for what is padding. [block…,
// counts…].
Value Places(NodeContext& context, const Blocks& blocks, const Dims& windows,
             const SizesByData& sizes, Value past) {
  GraphBuilder& g = context.builder();
  const size_t rank = blocks.image.size();
  const auto along = [&](size_t axis) {
    Dims column(2 * rank, 1);
    column[axis] = windows[axis];
    return context.Reshape(sizes.CountTo(windows[axis]), std::move(column));
  };
  Value place = g.Scalar(DType::kI64, int64_t{0});
  Value inside = g.Constant(Literal::Scalar(true));
  for (size_t d = 0; d < rank; ++d) {
    const Value position =
        g.Sub(g.Add(g.Mul(along(d), blocks.dilations[d]),
                    g.Mul(along(rank + d), blocks.strides[d])),
              blocks.pads[d]);
    inside = g.And(
        inside, g.And(g.Compare(position, 0, Comparison::kGe),
                      g.Compare(position, blocks.image[d], Comparison::kLt)));
    place = g.Add(g.Mul(place, blocks.image[d]), position);
  }
  return g.Select(inside, place, past);
}

// Each block added to its place in the image.
Status Col2Im(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(Blocks blocks, ReadBlocks(context));
  if (shape.rank() != 3) {
    return NodeContext::Error(
        StrCat("input is ", x.type(), ", expected [N, C * block, windows]"));
  }
  SizesByData sizes(context);
  CountWindows(g, &blocks, &sizes);
  const Value size = sizes.Product(blocks.image);
  const Value block = g.Max(sizes.Product(blocks.block), 1);
  const Value rows = DimValue(context, shape[1]);
  sizes.Require(g.Compare(g.Rem(rows, block), 0, Comparison::kEq));
  sizes.Require(g.Compare(sizes.Product(blocks.counts),
                          DimValue(context, shape[2]), Comparison::kEq));
  const Dim channels = sizes.Add(g.Div(rows, block), std::nullopt);
  Dims image = {shape[0], channels}, windows;
  for (const Value& extent : blocks.image) {
    image.push_back(sizes.Add(extent, kMaxExtent));
  }
  for (const Values& extents : {blocks.block, blocks.counts}) {
    for (const Value& extent : extents) {
      windows.push_back(sizes.Add(extent, kMaxExtent));
    }
  }
  const Dim flat = sizes.Add(size, std::nullopt);
  ENCORE_ASSIGN_OR_RETURN(
      x, sizes.Assert(x,
                      "inputs image_shape and block_shape do not match the "
                      "shape of the first input"));
  const Dim planes = shape[0] * channels;
  const Dim updates = Shape(windows).ElementCount();
  ScatterAttrs scatter;
  scatter.update_window_dims = {0};
  scatter.inserted_window_dims = {1};
  scatter.scatter_dims_to_operand_dims = {1};
  scatter.index_vector_dim = 1;
  scatter.update = Update::kAdd;
  const Value places = Places(context, blocks, windows, sizes, size);
  const Value sums =
      g.Scatter(g.Full({planes, flat}, g.Constant(Literal(x.dtype(), {}))),
                context.Reshape(places, {updates, 1}),
                context.Reshape(x, {planes, updates}), std::move(scatter));
  return context.Output(0, context.Reshape(sums, std::move(image)));
}

// The middle of each axis, or zeros around it; what is odd comes at the end.
Status CenterCropPad(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  Ints axes = AxesFrom(0, x.rank());
  ENCORE_ASSIGN_OR_RETURN(axes, context.attributes().Ints("axes", axes));
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, x.rank(), "attribute axes").status());
  bool known = IsConstant(context, 1);
  for (int64_t& axis : axes) {
    ENCORE_ASSIGN_OR_RETURN(axis,
                            context.Axis(axis, x.rank(), "attribute axes"));
    known &= x.shape()[static_cast<int>(axis)].is_constant();
  }
  if (!known) {
    ENCORE_ASSIGN_OR_RETURN(const Value y,
                            FitByData(context, x, axes, 1, "shape", true));
    return context.Output(0, y);
  }
  ENCORE_ASSIGN_OR_RETURN(const Ints wanted, context.IntsInput(1, "shape"));
  if (wanted.size() != axes.size()) {
    return NodeContext::Error(StrCat("input shape has ", wanted.size(),
                                     " entries for ", axes.size(), " axes"));
  }
  Dims low(x.rank(), 0), high(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i];
    const int64_t extent = x.shape()[static_cast<int>(axis)].constant();
    if (wanted[i] < 0 || wanted[i] > kMaxExtent) {
      return NodeContext::Error(StrCat("dim ", axis, " of ", x.type(),
                                       " cannot be cropped or padded to ",
                                       wanted[i]));
    }
    const int64_t more = wanted[i] - extent;
    low[axis] = more / 2;
    high[axis] = more - more / 2;
  }
  return context.Output(0, g.Pad(x, g.Constant(Literal(x.dtype(), {})),
                                 std::move(low), std::move(high)));
}

// Where the elements of an axis lie between -1 and 1.
Value Coordinates(GraphBuilder& g, Value number, Value extent,
                  bool align_corners) {
  number = g.Cast(number, DType::kF64);
  extent = g.Cast(extent, DType::kF64);
  const Value twice = g.Mul(number, 2.0);
  if (!align_corners) {
    return g.Sub(g.Div(g.Add(twice, 1.0), extent), 1.0);
  }
  return g.Sub(g.Div(twice, g.Max(g.Sub(extent, 1.0), 1.0)), 1.0);
}

// Source: https://onnx.ai/onnx/operators/onnx__AffineGrid.html
Status AffineGrid(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  Value theta = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool align_corners,
                          context.attributes().Bool("align_corners", false));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> size,
                          ElementsOf(context, 1, "size"));
  const int rank = static_cast<int>(size.size()) - 2;
  const Shape shape = context.shape(theta);
  if ((rank != 2 && rank != 3) || shape.rank() != 3 ||
      !(shape[1] == Dim(rank)) || !(shape[2] == Dim(rank + 1))) {
    return NodeContext::Error(StrCat("input theta is ", theta.type(),
                                     " for a size of ", size.size(),
                                     " entries"));
  }
  SizesByData sizes(context);
  sizes.Require(
      g.Compare(size[0], DimValue(context, shape[0]), Comparison::kEq));
  Dims extents;
  for (int d = 0; d < rank; ++d) {
    extents.push_back(sizes.Add(size[2 + d], kMaxExtent));
  }
  ENCORE_ASSIGN_OR_RETURN(
      theta, sizes.Assert(theta,
                          "input size does not match the batch size or "
                          "the number of spatial dims of input theta"));
  const auto column = [&](int k) {
    Dims dims(rank + 2, 1);
    dims.front() = shape[0];
    dims.back() = rank;
    return context.Reshape(g.SliceAxis(theta, 2, k, k + 1), std::move(dims));
  };
  Value grid = column(rank);
  for (int d = 0; d < rank; ++d) {
    Dims along(rank + 2, 1);
    along[1 + d] = extents[d];
    const Value at = g.Cast(
        Coordinates(g, sizes.CountTo(extents[d]), size[2 + d], align_corners),
        theta.dtype());
    // The last axis comes first.
    grid = g.Add(grid, g.Mul(column(rank - 1 - d),
                             context.Reshape(at, std::move(along))));
  }
  return context.Output(0, grid);
}

constexpr Converter kConverters[] = {
    {"AffineGrid", AffineGrid, Op::kDotGeneral},
    {"CenterCropPad", CenterCropPad, Op::kPad},
    {"Col2Im", Col2Im, Op::kScatter},
};

}  // namespace

std::span<const Converter> ImageConverters() { return kConverters; }

}  // namespace encore::onnx
