#include <algorithm>
#include <cmath>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/by_data.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// -1 once for "what is left", 0 for the input's own dim unless allowzero.
Status Reshape(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(1, "shape"));
  ENCORE_ASSIGN_OR_RETURN(const bool allow_zero,
                          context.attributes().Bool("allowzero", false));
  if (!IsKnown(context, 1)) return ReshapeByData(context, allow_zero);
  ENCORE_ASSIGN_OR_RETURN(Dims dims, context.DimsInput(1, "shape"));
  const Value x = context.Input(0);
  const Shape from = context.shape(x);
  int inferred = -1;
  Dim known = 1;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (!allow_zero && dims[i] == Dim(0)) {
      if (i >= from.rank()) {
        return NodeContext::Error(
            StrCat("input shape keeps dim ", i, " of a rank of ", from.rank()));
      }
      dims[i] = from[i];
    }
    if (dims[i] == Dim(-1)) {
      if (inferred >= 0)
        return NodeContext::Error("input shape has more than one entry of -1");
      inferred = i;
      continue;
    }
    if (dims[i].is_constant() && dims[i].constant() < 0) {
      return NodeContext::Error(
          StrCat("input shape has the entry ", dims[i].constant()));
    }
    known = known * dims[i];
  }
  if (inferred >= 0) {
    if (known == Dim(0)) {
      return NodeContext::Error(
          "input shape has both an entry of -1 and one of 0: the extent for -1 "
          "is not determined");
    }
    const Dim rest = FloorDiv(from.ElementCount(), known);
    if (IsFoundOut(context, known) && !rest.is_constant()) {
      return ReshapeByData(context, allow_zero);
    }
    dims[inferred] = rest;
  }
  return context.Output(0, context.Reshape(x, std::move(dims)));
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
  GraphBuilder& g = context.builder();
  const std::span<const Symbol> symbols = g.graph().symbols();
  const Shape shape = context.shape(x);
  SizesByData sizes(context);
  bool certain = true;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == Dim(1)) axes->push_back(i);
    if (!IsFoundOut(context, shape[i]) || shape[i].LowerBound(symbols) > 1) {
      continue;
    }
    certain = false;
    sizes.Require(g.Compare(DimValue(context, shape[i]), 1, Comparison::kNe));
  }
  if (certain) return x;
  return sizes.Assert(
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
  if (!IsKnown(context, 1)) return ExpandByData(context);
  ENCORE_ASSIGN_OR_RETURN(Dims dims, context.DimsInput(1, "shape"));
  const Value x = context.Input(0);
  const Shape from = context.shape(x);
  while (static_cast<int>(dims.size()) < from.rank())
    dims.insert(dims.begin(), 1);
  const int offset = static_cast<int>(dims.size()) - from.rank();
  for (int i = 0; i < from.rank(); ++i) {
    if (dims[offset + i] == Dim(1)) dims[offset + i] = from[i];
  }
  return context.Output(
      0, context.builder().BroadcastTo(x, Shape(std::move(dims))));
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

Status Split(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(0, shape.rank()));
  const auto outputs = static_cast<int64_t>(context.node().outputs.size());
  Dims sizes;
  if (context.HasInput(1)) {
    context.attributes().Ignore("num_outputs");
    if (!IsKnown(context, 1)) return SplitByData(context, axis);
    ENCORE_ASSIGN_OR_RETURN(sizes, context.DimsInput(1, "split"));
    if (static_cast<int64_t>(sizes.size()) != outputs) {
      return NodeContext::Error(StrCat("input split has ", sizes.size(),
                                       " parts for ", outputs, " outputs"));
    }
  } else {
    ENCORE_ASSIGN_OR_RETURN(const int64_t parts,
                            context.attributes().Int("num_outputs", outputs));
    if (parts != outputs || parts < 1) {
      return NodeContext::Error(StrCat("attribute num_outputs is ", parts,
                                       " for ", outputs, " outputs"));
    }
    ENCORE_ASSIGN_OR_RETURN(const bool even,
                            context.attributes().Bool("encore.even", false));
    const Dim& extent = shape[axis];
    if (even && extent.is_constant() && extent.constant() % parts != 0) {
      return context.ShapeMismatch(StrCat("dim ", axis, " of the input is ",
                                          extent, ", which ", parts,
                                          " outputs cannot share evenly"));
    }
    // Equal parts; where they cannot be, the last one is smaller.
    const Dim part = FloorDiv(shape[axis] + (parts - 1), parts);
    sizes.assign(parts, part);
    sizes.back() = shape[axis] - part * (parts - 1);
  }
  Dim start = 0;
  for (int64_t i = 0; i < outputs; ++i) {
    SliceAttrs slice{Dims(shape.rank(), 0), shape.dims(),
                     Ints(shape.rank(), 1)};
    slice.starts[axis] = start;
    start = start + sizes[i];
    slice.limits[axis] = start;
    ENCORE_RETURN_IF_ERROR(context.Output(
        static_cast<int>(i), context.Emit(Op::kSlice, {x}, std::move(slice))));
  }
  if (start != shape[axis]) {
    return context.ShapeMismatch(StrCat("input split adds up to ", start,
                                        ", not to ", shape[axis],
                                        ", the extent of dim ", axis));
  }
  return OkStatus();
}

Status Tile(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  if (!IsKnown(context, 1)) return TileByData(context);
  ENCORE_ASSIGN_OR_RETURN(const Dims repeats, context.DimsInput(1, "repeats"));
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  if (static_cast<int>(repeats.size()) != shape.rank()) {
    return NodeContext::Error(StrCat("input repeats has ", repeats.size(),
                                     " entries for a rank of ", shape.rank()));
  }
  // Each dim becomes (repeat, extent), the first of which is broadcast.
  Dims wide, flat;
  Ints axes;
  for (int i = 0; i < shape.rank(); ++i) {
    wide.push_back(repeats[i]);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(shape[i]);
    flat.push_back(repeats[i] * shape[i]);
  }
  const Value spread = context.Emit(
      Op::kBroadcast, {x}, BroadcastAttrs{std::move(wide), std::move(axes)});
  return context.Output(0, context.Reshape(spread, std::move(flat)));
}

// How many steps there are where the bounds are extents and the step is known.
std::optional<Dim> KnownSteps(NodeContext& context) {
  std::optional<Dim> bounds[3];
  for (int i = 0; i < 3; ++i) {
    const auto elements = ElementsOf(context, i, "bound");
    if (!elements.ok() || elements->size() != 1) return std::nullopt;
    bounds[i] = KnownDim(context, (*elements)[0]);
    if (!bounds[i]) return std::nullopt;
  }
  const Dim& delta = *bounds[2];
  if (!delta.is_constant() || delta.constant() == 0) return std::nullopt;
  const Dim span =
      delta.constant() > 0 ? *bounds[1] - *bounds[0] : *bounds[0] - *bounds[1];
  const int64_t step = std::abs(delta.constant());
  const Dim steps = FloorDiv(span + (step - 1), step);
  if (!steps.valid()) return std::nullopt;
  const auto symbols = context.builder().graph().symbols();
  return steps.LowerBound(symbols) >= 0 ? steps : Max(steps, 0);
}

// A range whose bounds are data has a run-time size.
Status RangeOfData(NodeContext& context) {
  GraphBuilder& g = context.builder();
  const auto scalar = [&](int i) {
    return context.Reshape(context.Input(i), {});
  };
  Value start = scalar(0);
  const Value limit = scalar(1), delta = scalar(2);
  SizesByData sizes(context);
  Dim size;
  if (const auto known = KnownSteps(context)) {
    size = *known;
  } else if (IsFloat(start.dtype())) {
    const auto wide = [&](Value x) { return g.Cast(x, DType::kF64); };
    const Value steps =
        g.Ceil(g.Div(g.Sub(wide(limit), wide(start)), wide(delta)));
    sizes.Require(g.Not(g.IsNan(steps)));
    size = sizes.Add(g.Cast(g.Max(steps, 0.0), DType::kI64), std::nullopt);
  } else {
    const auto wide = [&](Value x) { return g.Cast(x, DType::kI64); };
    sizes.Require(g.Compare(delta, 0, Comparison::kNe));
    const Value step = wide(delta), down = g.Compare(step, 0, Comparison::kLt);
    const Value up = g.Sub(wide(limit), wide(start));
    const Value span = g.Select(down, g.Neg(up), up);
    const Value steps = g.Add(g.Div(g.Sub(span, 1), g.Max(g.Abs(step), 1)), 1);
    size = sizes.Add(g.Select(g.Compare(span, 0, Comparison::kGt), steps, 0),
                     std::nullopt);
  }
  ENCORE_ASSIGN_OR_RETURN(
      start,
      sizes.Assert(start,
                   "input delta is 0, or the range from start to limit has "
                   "too many elements"));
  const Value index = g.Cast(sizes.CountTo(size), start.dtype());
  return context.Output(0, g.Add(g.Mul(index, delta), start));
}

Status Range(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  for (int i = 0; i < 3; ++i) {
    if (!IsConstant(context, i)) return RangeOfData(context);
  }
  double bounds[3];
  DType dtype = DType::kF32;
  for (int i = 0; i < 3; ++i) {
    constexpr std::string_view kNames[] = {"start", "limit", "delta"};
    ENCORE_ASSIGN_OR_RETURN(const Literal literal,
                            context.ConstantInput(i, kNames[i]));
    if (literal.element_count() != 1) {
      return NodeContext::Error(
          StrCat("input ", kNames[i], " is not a scalar"));
    }
    bounds[i] = literal.AsDouble(0);
    dtype = literal.dtype();
  }
  const auto [start, limit, delta] = bounds;
  const double steps = std::ceil((limit - start) / delta);
  if (delta == 0 || !(steps < 1e15)) {
    return NodeContext::Error(
        "input delta is 0, or the range from start to limit has "
        "too many elements");
  }
  const auto count = static_cast<int64_t>(std::max(steps, 0.0));
  const Value index = context.Emit(Op::kIota, {}, IotaAttrs{dtype, {count}, 0});
  const Shape shape = {count};
  const Value scaled = context.Emit(
      Op::kMul, {index, context.Fill(context.Scalar(dtype, delta), shape)});
  return context.Output(
      0, context.Emit(
             Op::kAdd,
             {scaled, context.Fill(context.Scalar(dtype, start), shape)}));
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
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  if (shape.rank() != 4 || block < 1 || block > INT16_MAX) {
    return NodeContext::Error(
        "the input must have rank 4, and attribute blocksize must be positive");
  }
  const Dim height = FloorDiv(shape[2], block),
            width = FloorDiv(shape[3], block);
  const Value split =
      context.Reshape(x, {shape[0], shape[1], height, block, width, block});
  const Value moved =
      context.Emit(Op::kTranspose, {split}, TransposeAttrs{{0, 3, 5, 1, 2, 4}});
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
