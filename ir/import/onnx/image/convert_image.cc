// Images decoded, put together and cut: ImageDecoder, Col2Im, CenterCropPad,
// AffineGrid.

#include <algorithm>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/pad_to.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The number of elements along an axis of an image, at most.
constexpr int64_t kMaxExtent = int64_t{1} << 24;

// One entry per spatial dim. A window takes the elements of a block, dilations
// apart; windows are strides apart, the first begins before the image by the
// padding.
struct Blocks {
  Ints dilations, strides, pads;
  IndexExprs image, block, counts;
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
void CountWindows(Blocks* blocks, ShapeBuilder* shapes) {
  const size_t rank = blocks->image.size();
  for (size_t d = 0; d < rank; ++d) {
    IndexExpr &image = blocks->image[d], &block = blocks->block[d];
    image = shapes->RequireWithin(image, 1, kMaxExtent);
    block = shapes->RequireWithin(block, 1, kMaxExtent);
    const IndexExpr room = image + blocks->pads[d] + blocks->pads[rank + d] -
                           (block - 1) * blocks->dilations[d] - 1;
    shapes->Require(room >= 0);
    blocks->counts.push_back(FloorDiv(Max(room, 0), blocks->strides[d]) + 1);
  }
}

// For each element of each window where in the image it belongs, of all its
// elements in row-major order; past the last for what is padding. [block…,
// counts…].
Value Places(NodeContext& context, const Blocks& blocks, const Dims& windows,
             Value past) {
  GraphBuilder& g = context.builder();
  const size_t rank = blocks.image.size();
  const auto along = [&](size_t axis) {
    Dims column(2 * rank, 1);
    column[axis] = windows[axis];
    return context.Reshape(CountTo(context, windows[axis]), std::move(column));
  };
  Value place = g.Scalar(DType::kI64, int64_t{0});
  Value inside = g.Constant(Literal::Scalar(true));
  for (size_t d = 0; d < rank; ++d) {
    const Value position =
        g.Sub(g.Add(g.Mul(along(d), blocks.dilations[d]),
                    g.Mul(along(rank + d), blocks.strides[d])),
              blocks.pads[d]);
    const Value extent = blocks.image[d].ToValue(g);
    inside = g.And(inside, g.And(g.Compare(position, 0, Comparison::kGe),
                                 g.Compare(position, extent, Comparison::kLt)));
    place = g.Add(g.Mul(place, extent), position);
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
  ShapeBuilder shapes(context);
  CountWindows(&blocks, &shapes);
  const IndexExpr size = shapes.Product(blocks.image);
  const IndexExpr block = Max(shapes.Product(blocks.block), 1);
  const IndexExpr rows = shapes.Extent(shape[1]);
  shapes.Require(Mod(rows, block) == 0);
  shapes.Require(shapes.Product(blocks.counts) == shapes.Extent(shape[2]));
  const Dim channels = shapes.Define(FloorDiv(rows, block));
  Dims image = {shape[0], channels}, windows;
  for (const IndexExpr& extent : blocks.image) {
    image.push_back(shapes.Define(extent));
  }
  for (const IndexExprs& extents : {blocks.block, blocks.counts}) {
    for (const IndexExpr& extent : extents) {
      windows.push_back(shapes.Define(extent, kMaxExtent));
    }
  }
  const Dim flat = shapes.Define(size);
  ENCORE_ASSIGN_OR_RETURN(
      x, shapes.Assert(x,
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
  const Value places = Places(context, blocks, windows, size.ToValue(g));
  const Value sums =
      g.Scatter(g.Full({planes, flat}, g.Constant(Literal(x.dtype(), {}))),
                context.Reshape(places, {updates, 1}),
                context.Reshape(x, {planes, updates}), std::move(scatter));
  return context.Output(0, context.Reshape(sums, std::move(image)));
}

// The middle of each axis, or zeros around it; what is odd comes at the end.
Status CenterCropPad(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  Ints axes = AxesFrom(0, shape.rank());
  ENCORE_ASSIGN_OR_RETURN(axes, context.attributes().Ints("axes", axes));
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, shape.rank(), "attribute axes").status());
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs wanted,
                          ElementsOf(context, 1, "shape", axes.size(), "axes"));
  ShapeBuilder shapes(context);
  IndexExprs lows(shape.rank(), 0), to;
  for (int d = 0; d < shape.rank(); ++d) to.push_back(shapes.Extent(shape[d]));
  for (size_t i = 0; i < axes.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(
        const int64_t axis,
        context.Axis(axes[i], shape.rank(), "attribute axes"));
    const IndexExpr size = shapes.RequireWithin(wanted[i], 0, kMaxExtent);
    const IndexExpr more = size - to[axis], less = to[axis] - size;
    lows[axis] = FloorDiv(Max(more, 0), 2) - FloorDiv(Max(less, 0), 2);
    to[axis] = size;
  }
  ENCORE_ASSIGN_OR_RETURN(
      x, PadTo(context, x, lows, to,
               context.builder().Constant(Literal(x.dtype(), {})),
               StrCat("input shape has an entry that is negative or larger "
                      "than ",
                      kMaxExtent),
               &shapes));
  return context.Output(0, x);
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
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs size,
                          ElementsOf(context, 1, "size"));
  const int rank = static_cast<int>(size.size()) - 2;
  const Shape shape = context.shape(theta);
  if ((rank != 2 && rank != 3) || shape.rank() != 3 ||
      !(shape[1] == Dim(rank)) || !(shape[2] == Dim(rank + 1))) {
    return NodeContext::Error(StrCat("input theta is ", theta.type(),
                                     " for a size of ", size.size(),
                                     " entries"));
  }
  ShapeBuilder shapes(context);
  shapes.RequireEqual(size[0], shapes.Extent(shape[0]));
  Dims extents;
  for (int d = 0; d < rank; ++d) {
    extents.push_back(shapes.Define(size[2 + d], kMaxExtent));
  }
  ENCORE_ASSIGN_OR_RETURN(
      theta, shapes.Assert(theta,
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
    const Value at = g.Cast(Coordinates(g, CountTo(context, extents[d]),
                                        size[2 + d].ToValue(g), align_corners),
                            theta.dtype());
    // The last axis comes first.
    grid = g.Add(grid, g.Mul(column(rank - 1 - d),
                             context.Reshape(at, std::move(along))));
  }
  return context.Output(0, grid);
}

// The size is known only by the call, even of a constant file: a graph that is
// kept must not depend on what decodes images on this machine.
Status ImageDecoder(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(0, "encoded_stream"));
  DecodeImageAttrs attrs;
  ENCORE_ASSIGN_OR_RETURN(
      attrs.format,
      context.attributes().Word<PixelFormat>(
          "pixel_format", {{"RGB", PixelFormat::kRgb},
                           {"BGR", PixelFormat::kBgr},
                           {"Grayscale", PixelFormat::kGrayscale}}));
  GraphBuilder& g = context.builder();
  attrs.size = {RunTimeSize(g), RunTimeSize(g)};
  return context.Output(
      0, context.Emit(Op::kDecodeImage, {context.Input(0)}, std::move(attrs)));
}

constexpr Converter kConverters[] = {
    {"AffineGrid", AffineGrid, Op::kDotGeneral},
    {"CenterCropPad", CenterCropPad, Op::kPad},
    {"Col2Im", Col2Im, Op::kScatter},
    {"ImageDecoder", ImageDecoder, Op::kDecodeImage},
};

}  // namespace

std::span<const Converter> ImageConverters() { return kConverters; }

}  // namespace encore::onnx
