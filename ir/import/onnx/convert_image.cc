// Images put together and cut: Col2Im, CenterCropPad, AffineGrid.

#include <algorithm>

#include "encore/ir/import/onnx/by_data.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Elements of tables that are made at import, at most.
constexpr int64_t kMaxTable = int64_t{1} << 24;

// One entry per spatial dim.
struct Blocks {
  Ints image, block, dilations, strides, padding_low, counts;
};

StatusOr<Ints> PositiveInts(const Ints& entries, size_t count, int64_t least,
                            std::string_view name) {
  const bool fit =
      entries.size() == count &&
      std::all_of(entries.begin(), entries.end(), [&](int64_t entry) {
        return entry >= least && entry <= kMaxTable;
      });
  if (fit) return entries;
  return NodeContext::Error(StrCat(name, " is [", StrJoin(entries, ","),
                                   "], expected ", count,
                                   " entries of at least ", least));
}

StatusOr<Blocks> ReadBlocks(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  Blocks blocks;
  ENCORE_ASSIGN_OR_RETURN(blocks.image, context.IntsInput(1, "image_shape"));
  ENCORE_ASSIGN_OR_RETURN(blocks.block, context.IntsInput(2, "block_shape"));
  const size_t rank = blocks.image.size();
  const auto read = [&](std::string_view name, Ints fallback,
                        int64_t least) -> StatusOr<Ints> {
    const size_t count = fallback.size();
    ENCORE_ASSIGN_OR_RETURN(const Ints entries,
                            attributes.Ints(name, std::move(fallback)));
    return PositiveInts(entries, count, least, StrCat("attribute ", name));
  };
  ENCORE_RETURN_IF_ERROR(
      PositiveInts(blocks.image, rank, 1, "input image_shape").status());
  ENCORE_RETURN_IF_ERROR(
      PositiveInts(blocks.block, rank, 1, "input block_shape").status());
  ENCORE_ASSIGN_OR_RETURN(blocks.dilations,
                          read("dilations", Ints(rank, 1), 1));
  ENCORE_ASSIGN_OR_RETURN(blocks.strides, read("strides", Ints(rank, 1), 1));
  ENCORE_ASSIGN_OR_RETURN(const Ints pads, read("pads", Ints(2 * rank, 0), 0));
  for (size_t d = 0; d < rank; ++d) {
    blocks.padding_low.push_back(pads[d]);
    const int64_t rest = blocks.image[d] + pads[d] + pads[rank + d] -
                         blocks.dilations[d] * (blocks.block[d] - 1) - 1;
    if (rest < 0) {
      return NodeContext::Error(
          StrCat("input block_shape leaves the image in dim ", d));
    }
    blocks.counts.push_back(rest / blocks.strides[d] + 1);
  }
  return blocks;
}

// For each element of each block where in the image it belongs; past the image
// for what is padding. [elements of a block * blocks, 1].
Literal Places(const Blocks& blocks, int64_t elements, int64_t places,
               int64_t past) {
  Literal table(DType::kI64, {elements * places, 1});
  for (int64_t i = 0; i < elements * places; ++i) {
    int64_t element = i / places, place = i % places, at = 0, stride = 1;
    bool inside = true;
    for (size_t d = blocks.image.size(); d-- > 0;) {
      const int64_t position = place % blocks.counts[d] * blocks.strides[d] +
                               element % blocks.block[d] * blocks.dilations[d] -
                               blocks.padding_low[d];
      place /= blocks.counts[d];
      element /= blocks.block[d];
      inside &= position >= 0 && position < blocks.image[d];
      at += position * stride;
      stride *= blocks.image[d];
    }
    table.SetInt(i, inside ? at : past);
  }
  return table;
}

// Each block added to its place in the image.
Status Col2Im(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(context));
  const auto elements = ElementCount(blocks.block);
  const auto places = ElementCount(blocks.counts);
  const auto size = ElementCount(blocks.image);
  if (!elements || !places || !size || *size > kMaxTable ||
      *elements > kMaxTable || *places > kMaxTable / *elements) {
    return UnimplementedError(
        "inputs image_shape and block_shape are too large");
  }
  const Shape shape = context.shape(x);
  if (shape.rank() != 3 || !shape[1].is_constant() ||
      shape[1].constant() % *elements != 0 || !(shape[2] == Dim(*places))) {
    return NodeContext::Error(StrCat("input is ", x.type(),
                                     ", expected [N, C * ", *elements, ", ",
                                     *places, "]"));
  }
  const int64_t channels = shape[1].constant() / *elements;
  const Dim planes = shape[0] * channels;
  ScatterAttrs scatter;
  scatter.update_window_dims = {0};
  scatter.inserted_window_dims = {1};
  scatter.scatter_dims_to_operand_dims = {1};
  scatter.index_vector_dim = 1;
  scatter.update = Update::kAdd;
  const Value zeros =
      g.Full({planes, *size + 1}, g.Constant(Literal(x.dtype(), {})));
  const Value sums = g.Scatter(
      zeros, g.Constant(Places(blocks, *elements, *places, *size)),
      context.Reshape(x, {planes, *elements * *places}), std::move(scatter));
  Dims image = {shape[0], channels};
  image.insert(image.end(), blocks.image.begin(), blocks.image.end());
  return context.Output(
      0, context.Reshape(g.SliceAxis(sums, 1, 0, *size), std::move(image)));
}

// The middle of each axis, or zeros around it; what is odd comes at the end.
Status CenterCropPad(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  ENCORE_ASSIGN_OR_RETURN(axes, context.attributes().Ints("axes", axes));
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, x.rank(), "attribute axes").status());
  bool known = IsConstant(context, 1);
  for (int64_t& axis : axes) {
    ENCORE_ASSIGN_OR_RETURN(axis,
                            context.Axis(axis, x.rank(), "attribute axes"));
    known &= x.shape()[static_cast<int>(axis)].is_constant();
  }
  if (!known) return CenterCropPadByData(context, axes);
  ENCORE_ASSIGN_OR_RETURN(const Ints wanted, context.IntsInput(1, "shape"));
  if (wanted.size() != axes.size()) {
    return NodeContext::Error(StrCat("input shape has ", wanted.size(),
                                     " entries for ", axes.size(), " axes"));
  }
  Dims low(x.rank(), 0), high(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i];
    const int64_t extent = x.shape()[static_cast<int>(axis)].constant();
    if (wanted[i] < 0 || wanted[i] > kMaxTable) {
      return NodeContext::Error(
          StrCat("dim ", axis, " of ", x.type(), " cannot become ", wanted[i]));
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
    extents.push_back(sizes.Add(size[2 + d], kMaxTable));
  }
  ENCORE_ASSIGN_OR_RETURN(
      theta, sizes.Guard(theta, "input size does not fit input theta"));
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
