#include <algorithm>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/data_axes.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The extent that an entry of -1 stands for, where the others have the product
// `known`: an expression, or data where the product is.
IndexExpr ExtentLeft(NodeContext& context, const Dim& total,
                     const IndexExpr& known) {
  GraphBuilder& g = context.builder();
  if (known.known()) {
    const IndexExpr rest = FloorDiv(IndexExpr(g, total), known);
    if (rest.constant() || !IsFoundOut(context, known.dim())) return rest;
  }
  return {g, g.Div(DimValue(context, total), Max(known, 1).ToValue(g))};
}

// -1 once for "what is left", 0 for the input's own dim unless allowzero.
Status Reshape(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(1, "shape"));
  ENCORE_ASSIGN_OR_RETURN(const bool allow_zero,
                          context.attributes().Bool("allowzero", false));
  ENCORE_ASSIGN_OR_RETURN(IndexExprs dims, ElementsOf(context, 1, "shape"));
  const Value x = context.Input(0);
  const Shape from = context.shape(x);
  ShapeBuilder shapes(context);
  // An expression is an extent, whatever it may come to.
  const auto is = [](const IndexExpr& dim, int64_t number) {
    return dim.known() ? Condition(dim.Is(number)) : dim == number;
  };
  bool by_data = false;
  IndexExpr known = 1, inferred = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Condition zero = allow_zero ? Condition(false) : is(dims[i], 0);
    if (static_cast<int>(i) < from.rank()) {
      dims[i] = Select(zero, shapes.Extent(from[static_cast<int>(i)]), dims[i]);
    } else {
      shapes.Require(Not(zero), StrCat("input shape keeps dim ", i,
                                       " of a rank of ", from.rank()));
    }
    const Condition open = is(dims[i], -1);
    if (dims[i].constant()) {
      shapes.Require(*dims[i].constant() >= -1,
                     StrCat("input shape has the entry ", *dims[i].constant()));
    }
    inferred = inferred + Select(open, 1, 0);
    known = known * Select(open, 1, dims[i]);
    by_data = by_data || !dims[i].known();
  }
  shapes.Require(inferred <= 1, "input shape has more than one entry of -1");
  shapes.Require(!inferred.Is(1) || !known.Is(0),
                 "input shape has both an entry of -1 and one of 0: the extent "
                 "for -1 is not determined");
  const IndexExpr rest = ExtentLeft(context, from.ElementCount(), known);
  Dims shape;
  for (IndexExpr& dim : dims) {
    dim = Select(is(dim, -1), rest, dim);
    by_data = by_data || !dim.known();
    shape.push_back(shapes.Define(dim));
  }
  if (by_data) {
    shapes.RequireEqual(shapes.Product(dims),
                        shapes.Extent(from.ElementCount()));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      shapes.Assert(
          x,
          "input shape has another number of elements than input data, "
          "or an entry below -1 or more than one -1"));
  return context.Output(0, context.Reshape(checked, std::move(shape)));
}

Status Flatten(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(int64_t axis, context.attributes().Int("axis", 1));
  if (axis != shape.rank()) {
    ENCORE_ASSIGN_OR_RETURN(axis,
                            context.Axis(axis, shape.rank(), "attribute axis"));
  }
  Dim rows = 1, columns = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? rows : columns) = (i < axis ? rows : columns) * shape[i];
  }
  return context.Output(0, context.Reshape(x, {rows, columns}));
}

// Where `x` has extents of 1. The rank of what is left must be known, so that
// none that data say may be 1 in a call: an assertion says so.
StatusOr<Value> FindOnes(NodeContext& context, Value x, Ints* axes) {
  const Shape shape = context.shape(x);
  ShapeBuilder shapes(context);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == Dim(1)) axes->push_back(i);
    if (IsFoundOut(context, shape[i])) {
      shapes.Require(shapes.Extent(shape[i]) != 1);
    }
  }
  return shapes.Assert(
      x,
      "input axes is left out, and an extent that is known only "
      "at run time is 1: the rank of the result would change");
}

Status Squeeze(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  Ints axes;
  if (context.HasInput(1) && !IsConstant(context, 1)) {
    ENCORE_ASSIGN_OR_RETURN(const Value moved,
                            MoveOnesByData(context, x, /*drops=*/true));
    return context.Output(0, moved);
  }
  if (context.HasInput(1)) {
    ENCORE_ASSIGN_OR_RETURN(axes, context.IntsInput(1, "axes"));
    ENCORE_ASSIGN_OR_RETURN(axes,
                            context.AxesList(axes, shape.rank(), "input axes"));
  } else {
    ENCORE_ASSIGN_OR_RETURN(x, FindOnes(context, x, &axes));
  }
  Dims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back(shape[i]);
    } else if (shape[i] != Dim(1) && !IsFoundOut(context, shape[i])) {
      return context.ShapeMismatch(StrCat("input axes names dim ", i,
                                          ", whose extent is ", shape[i],
                                          ", not 1"));
    }
  }
  return context.Output(0, context.Reshape(x, std::move(dims)));
}

Status Unsqueeze(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  const Value x = context.Input(0);
  if (!IsConstant(context, 1)) {
    ENCORE_ASSIGN_OR_RETURN(const Value moved,
                            MoveOnesByData(context, x, /*drops=*/false));
    return context.Output(0, moved);
  }
  ENCORE_ASSIGN_OR_RETURN(Ints axes, context.IntsInput(1, "axes"));
  ENCORE_ASSIGN_OR_RETURN(
      axes, context.AxesList(
                axes, context.rank(x) + static_cast<int64_t>(axes.size()),
                "input axes"));
  return context.Output(0, context.Unsqueeze(x, axes));
}

Status Transpose(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Value x = context.Input(0);
  Ints permutation;
  for (int i = context.rank(x); i-- > 0;) permutation.push_back(i);
  ENCORE_ASSIGN_OR_RETURN(permutation,
                          context.attributes().Ints("perm", permutation));
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool fits = static_cast<int>(sorted.size()) == x.rank();
  for (size_t i = 0; fits && i < sorted.size(); ++i) {
    fits = sorted[i] == static_cast<int64_t>(i);
  }
  if (!fits) {
    return NodeContext::Error(
        StrCat("attribute perm is [", StrJoin(permutation, ","),
               "], expected each axis of a rank of ", x.rank(), " once"));
  }
  return context.Output(0,
                        context.Emit(Op::kTranspose, {x},
                                     TransposeAttrs{std::move(permutation)}));
}

// Spreads both ways: an extent of 1 in `shape` keeps the input's.
Status Expand(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(1, "shape"));
  ENCORE_ASSIGN_OR_RETURN(IndexExprs dims, ElementsOf(context, 1, "shape"));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape from = context.shape(x);
  while (static_cast<int>(dims.size()) < from.rank())
    dims.insert(dims.begin(), 1);
  const int offset = static_cast<int>(dims.size()) - from.rank();
  ShapeBuilder shapes(context);
  Dims shape;
  // Axes that may be repeated or not: which, data say.
  std::vector<std::pair<int, Dim>> open;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    const IndexExpr& dim = dims[i];
    const Dim extent = i < offset ? Dim(1) : from[i - offset];
    const IndexExpr own = shapes.Extent(extent);
    if (dim.Is(1)) {
      shape.push_back(extent);
      continue;
    }
    // What is known and does not go together is the broadcast's error.
    if (extent == Dim(1) || (dim.known() && (dim.dim() == extent ||
                                             !IsFoundOut(context, extent)))) {
      shape.push_back(shapes.Define(dim));
      continue;
    }
    shapes.Require(Or(own == 1, Or(dim == 1, dim == own)));
    shape.push_back(shapes.Define(Select(own == 1, dim, own)));
    if (shape.back() != extent) open.emplace_back(i - offset, shape.back());
  }
  ENCORE_ASSIGN_OR_RETURN(
      x, shapes.Assert(x,
                       "input shape does not broadcast with the shape of the "
                       "first input"));
  for (const auto& [axis, size] : open) {
    const Value last = g.Sub(DimValue(context, from[axis]), 1);
    x = g.Take(x, g.Min(CountTo(context, size), last), axis);
  }
  return context.Output(0, g.BroadcastTo(x, Shape(std::move(shape))));
}

Status Concat(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  std::vector<Value> inputs = context.Inputs();
  ENCORE_ASSIGN_OR_RETURN(const int64_t raw,
                          context.attributes().RequiredInt("axis"));
  ENCORE_ASSIGN_OR_RETURN(
      const int64_t axis,
      context.Axis(raw, context.rank(inputs[0]), "attribute axis"));
  UnifyDimsExcept(context, static_cast<int>(axis), &inputs);
  return context.Output(0, context.Emit(Op::kConcat, inputs, AxisAttrs{axis}));
}

// The extents of the parts that no input says: equal ones; where they cannot
// be, the last one is smaller.
StatusOr<Dims> EvenParts(NodeContext& context, int64_t axis,
                         const Dim& extent) {
  const auto outputs = static_cast<int64_t>(context.node().outputs.size());
  ENCORE_ASSIGN_OR_RETURN(const int64_t parts,
                          context.attributes().Int("num_outputs", outputs));
  if (parts != outputs || parts < 1) {
    return NodeContext::Error(StrCat("attribute num_outputs is ", parts,
                                     " for ", outputs, " outputs"));
  }
  ENCORE_ASSIGN_OR_RETURN(const bool even,
                          context.attributes().Bool("encore.even", false));
  if (even && extent.is_constant() && extent.constant() % parts != 0) {
    return context.ShapeMismatch(StrCat("dim ", axis, " of the input is ",
                                        extent, ", which ", parts,
                                        " outputs cannot share evenly"));
  }
  const Dim part = FloorDiv(extent + (parts - 1), parts);
  Dims sizes(parts, part);
  sizes.back() = extent - part * (parts - 1);
  return sizes;
}

// The extents that input split says. The last one that data say is what the
// others leave.
Dims GivenParts(const IndexExprs& parts, const Dim& extent,
                ShapeBuilder* shapes) {
  Dims sizes;
  std::optional<size_t> last;
  IndexExpr total = 0;
  Dim sum = 0;
  for (const IndexExpr& part : parts) {
    if (!part.known()) last = sizes.size();
    sizes.push_back(shapes->Define(part, extent));
    total = total + part;
    sum = sum + sizes.back();
  }
  if (!last) return sizes;
  shapes->Require(total == shapes->Extent(extent));
  sizes[*last] = extent - (sum - sizes[*last]);
  return sizes;
}

Status Split(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(0, shape.rank()));
  const Dim& extent = shape[static_cast<int>(axis)];
  Dims sizes;
  if (context.HasInput(1)) {
    context.attributes().Ignore("num_outputs");
    ShapeBuilder shapes(context);
    ENCORE_ASSIGN_OR_RETURN(
        const IndexExprs parts,
        ElementsOf(context, 1, "split", context.node().outputs.size(),
                   "outputs"));
    sizes = GivenParts(parts, extent, &shapes);
    ENCORE_ASSIGN_OR_RETURN(
        x, shapes.Assert(x,
                         "input split has a negative entry, or its sum is not "
                         "the extent of the axis"));
  } else {
    ENCORE_ASSIGN_OR_RETURN(sizes, EvenParts(context, axis, extent));
  }
  Dim start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Dim end = start + sizes[i];
    SliceAttrs slice{Dims(shape.rank(), 0), shape.dims(),
                     Ints(shape.rank(), 1)};
    slice.starts[axis] = std::exchange(start, end);
    slice.limits[axis] = end;
    ENCORE_RETURN_IF_ERROR(context.Output(
        static_cast<int>(i), context.Emit(Op::kSlice, {x}, std::move(slice))));
  }
  if (start != extent) {
    return context.ShapeMismatch(StrCat("input split adds up to ", start,
                                        ", not to ", extent,
                                        ", the extent of dim ", axis));
  }
  return OkStatus();
}

Status Tile(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs repeats,
                          ElementsOf(context, 1, "repeats", shape.rank(),
                                     "dims of the first input"));
  // Each dim becomes (repeat, extent), the first of which is broadcast.
  ShapeBuilder shapes(context);
  Dims wide, flat;
  Ints axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const Dim repeat = shapes.Define(repeats[i]);
    wide.push_back(repeat);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(shape[i]);
    flat.push_back(repeat * shape[i]);
  }
  ENCORE_ASSIGN_OR_RETURN(
      x, shapes.Assert(x, "input repeats has an entry that is negative"));
  const Value spread = context.Emit(
      Op::kBroadcast, {x}, BroadcastAttrs{std::move(wide), std::move(axes)});
  return context.Output(0, context.Reshape(spread, std::move(flat)));
}

// How many integers lie from start below limit, delta apart.
StatusOr<IndexExpr> IntegerSteps(NodeContext& context, ShapeBuilder* shapes) {
  ENCORE_ASSIGN_OR_RETURN(const IndexExpr start,
                          ElementOf(context, 0, "start"));
  ENCORE_ASSIGN_OR_RETURN(const IndexExpr limit,
                          ElementOf(context, 1, "limit"));
  ENCORE_ASSIGN_OR_RETURN(const IndexExpr delta,
                          ElementOf(context, 2, "delta"));
  shapes->Require(delta != 0);
  const Condition down = delta < 0;
  const IndexExpr span = Select(down, start - limit, limit - start);
  const IndexExpr step = Max(Select(down, 0 - delta, delta), 1);
  return Max(CeilDiv(span, step), 0);
}

// The same of floats.
IndexExpr FloatSteps(NodeContext& context, ShapeBuilder* shapes) {
  GraphBuilder& g = context.builder();
  const auto number = [&](int i) {
    return g.Cast(context.Reshape(context.Input(i), {}), DType::kF64);
  };
  const Value steps = g.Ceil(g.Div(g.Sub(number(1), number(0)), number(2)));
  shapes->Require({g, g.Not(g.IsNan(steps))});
  return {g, g.Cast(g.Max(steps, 0.0), DType::kI64)};
}

Status Range(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  GraphBuilder& g = context.builder();
  const auto scalar = [&](int i) {
    return context.Reshape(context.Input(i), {});
  };
  Value start = scalar(0), delta = scalar(2);
  ENCORE_RETURN_IF_ERROR(g.status());
  context.attributes().Ignore("stash_type");
  // Of narrow floats in f32, as everybody has it.
  const DType dtype = start.dtype();
  const bool narrow = IsFloat(dtype) && BitWidth(dtype) < 32;
  if (narrow) start = g.Cast(start, DType::kF32);
  if (narrow) delta = g.Cast(delta, DType::kF32);
  ShapeBuilder shapes(context);
  IndexExpr steps;
  if (IsFloat(start.dtype())) {
    steps = FloatSteps(context, &shapes);
  } else {
    ENCORE_ASSIGN_OR_RETURN(steps, IntegerSteps(context, &shapes));
  }
  const Dim size = shapes.Define(steps, kMaxSize);
  ENCORE_ASSIGN_OR_RETURN(
      start,
      shapes.Assert(start,
                    "input delta is 0, or the range from start to limit has "
                    "too many elements"));
  const Value index = g.Iota(start.dtype(), {size}, 0);
  const Value range = g.Add(g.Mul(index, delta), start);
  return context.Output(0, narrow ? g.Cast(range, dtype) : range);
}

Status DepthToSpace(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t block,
                          context.attributes().RequiredInt("blocksize"));
  ENCORE_ASSIGN_OR_RETURN(const std::string mode,
                          context.attributes().String("mode", "DCR"));
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  if (shape.rank() != 4 || block < 1 || block > INT16_MAX ||
      (mode != "DCR" && mode != "CRD")) {
    return NodeContext::Error(
        "the input must have rank 4, attribute blocksize must be positive, and "
        "attribute mode DCR or CRD");
  }
  const Dim channels = FloorDiv(shape[1], block * block);
  const bool depth_first = mode == "DCR";
  const Dims split =
      depth_first ? Dims{shape[0], block, block, channels, shape[2], shape[3]}
                  : Dims{shape[0], channels, block, block, shape[2], shape[3]};
  const Ints order =
      depth_first ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3};
  const Value moved = context.Emit(Op::kTranspose, {context.Reshape(x, split)},
                                   TransposeAttrs{order});
  return context.Output(
      0, context.Reshape(
             moved, {shape[0], channels, shape[2] * block, shape[3] * block}));
}

Status SpaceToDepth(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t block,
                          context.attributes().RequiredInt("blocksize"));
  ENCORE_ASSIGN_OR_RETURN(const std::string mode,
                          context.attributes().String("mode", "DCR"));
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  if (shape.rank() != 4 || block < 1 || block > INT16_MAX) {
    return NodeContext::Error(
        "the input must have rank 4, and attribute blocksize must be positive");
  }
  const Ints order =
      mode == "CRD" ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4};
  const Dim height = FloorDiv(shape[2], block),
            width = FloorDiv(shape[3], block);
  const Value split =
      context.Reshape(x, {shape[0], shape[1], height, block, width, block});
  const Value moved =
      context.Emit(Op::kTranspose, {split}, TransposeAttrs{order});
  return context.Output(
      0, context.Reshape(
             moved, {shape[0], shape[1] * (block * block), height, width}));
}

constexpr Converter kConverters[] = {
    {"Concat", Concat, Op::kConcat},
    {"DepthToSpace", DepthToSpace, Op::kTranspose},
    {"Expand", Expand, Op::kBroadcast},
    {"Flatten", Flatten, Op::kReshape},
    {"Range", Range, Op::kIota},
    {"Reshape", Reshape, Op::kReshape},
    {"SpaceToDepth", SpaceToDepth, Op::kTranspose},
    {"Split", Split, Op::kSlice},
    {"Squeeze", Squeeze, Op::kReshape},
    {"Tile", Tile, Op::kBroadcast},
    {"Transpose", Transpose, Op::kTranspose},
    {"Unsqueeze", Unsqueeze, Op::kReshape},
};

}  // namespace

std::span<const Converter> ShapeConverters() { return kConverters; }

}  // namespace encore::onnx
