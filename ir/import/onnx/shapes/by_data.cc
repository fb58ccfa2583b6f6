#include "encore/ir/import/onnx/shapes/by_data.h"

#include <optional>
#include <vector>

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;

// Steps and positions beyond this lie past every axis; sums of two stay exact.
constexpr int64_t kFar = int64_t{1} << 61;

int64_t UpperBound(NodeContext& context, const Dim& dim) {
  return dim.UpperBound(context.builder().graph().symbols());
}

Value Number(GraphBuilder& g, int64_t number) {
  return g.Scalar(DType::kI64, number);
}

Value IsZero(GraphBuilder& g, Value x) {
  return g.Compare(x, 0, Comparison::kEq);
}

}  // namespace

StatusOr<Values> PerDim(NodeContext& context, const Values& values, int axes,
                        int rank, int64_t otherwise, SizesByData* sizes) {
  GraphBuilder& g = context.builder();
  Values given;
  if (context.HasInput(axes)) {
    ENCORE_ASSIGN_OR_RETURN(given, ElementsOf(context, axes, "axes"));
  } else {
    for (size_t k = 0; k < values.size(); ++k) {
      given.push_back(Number(g, static_cast<int64_t>(k)));
    }
  }
  if (given.size() != values.size() ||
      given.size() > static_cast<size_t>(rank)) {
    return NodeContext::Error(StrCat(values.size(), " entries for ",
                                     given.size(), " axes of ", rank));
  }
  Values all(rank, Number(g, otherwise));
  for (size_t k = 0; k < given.size(); ++k) {
    const Value axis = g.Select(g.Compare(given[k], 0, Comparison::kLt),
                                g.Add(given[k], rank), given[k]);
    sizes->Require(g.And(g.Compare(axis, 0, Comparison::kGe),
                         g.Compare(axis, rank, Comparison::kLt)));
    for (int d = 0; d < rank; ++d) {
      all[d] = g.Select(g.Compare(axis, d, Comparison::kEq), values[k], all[d]);
    }
  }
  return all;
}

Status ReshapeByData(NodeContext& context, bool allow_zero) {
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  const Shape from = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(Values dims, ElementsOf(context, 1, "shape"));
  SizesByData sizes(context);
  const Value total = DimValue(context, from.ElementCount());
  Value known = Number(g, 1), inferred = Number(g, 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!allow_zero && static_cast<int>(i) < from.rank()) {
      dims[i] = g.Select(IsZero(g, dims[i]),
                         DimValue(context, from[static_cast<int>(i)]), dims[i]);
    } else if (!allow_zero) {
      sizes.Require(g.Not(IsZero(g, dims[i])));
    }
    const Value open = g.Compare(dims[i], -1, Comparison::kEq);
    inferred = g.Add(inferred, g.Cast(open, DType::kI64));
    known = g.Mul(known, g.Select(open, 1, dims[i]));
  }
  sizes.Require(g.Compare(inferred, 1, Comparison::kLe));
  const Value rest = g.Div(total, g.Max(known, 1));
  Dims shape;
  for (Value& dim : dims) {
    dim = g.Select(g.Compare(dim, -1, Comparison::kEq), rest, dim);
    shape.push_back(sizes.Add(dim, std::nullopt));
  }
  sizes.Require(g.Compare(sizes.Product(dims), total, Comparison::kEq));
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      sizes.Assert(
          x,
          "input shape has another number of elements than input data, "
          "or an entry below -1 or more than one -1"));
  return context.Output(0, context.Reshape(checked, std::move(shape)));
}

Status ExpandByData(NodeContext& context) {
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape from = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(Values dims, ElementsOf(context, 1, "shape"));
  while (static_cast<int>(dims.size()) < from.rank()) {
    dims.insert(dims.begin(), Number(g, 1));
  }
  const int offset = static_cast<int>(dims.size()) - from.rank();
  SizesByData sizes(context);
  Dims shape;
  // Axes that may be repeated or not: which, data say.
  std::vector<std::pair<int, Dim>> open;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    const Dim extent = i < offset ? Dim(1) : from[i - offset];
    if (extent == Dim(1)) {
      shape.push_back(sizes.Add(dims[i], std::nullopt));
      continue;
    }
    const Value own = DimValue(context, extent);
    const Value is_one = g.Compare(own, 1, Comparison::kEq);
    sizes.Require(g.Or(is_one, g.Or(g.Compare(dims[i], 1, Comparison::kEq),
                                    g.Compare(dims[i], own, Comparison::kEq))));
    if (extent.is_constant()) {
      shape.push_back(extent);
      continue;
    }
    shape.push_back(sizes.Add(g.Select(is_one, dims[i], own), std::nullopt));
    open.emplace_back(i - offset, shape.back());
  }
  ENCORE_ASSIGN_OR_RETURN(
      x,
      sizes.Assert(x,
                   "input shape does not broadcast with the shape of the first "
                   "input"));
  for (const auto& [axis, size] : open) {
    const Value last = g.Sub(DimValue(context, from[axis]), 1);
    x = g.Take(x, g.Min(sizes.CountTo(size), last), axis);
  }
  return context.Output(0, g.BroadcastTo(x, Shape(std::move(shape))));
}

Status FillByData(NodeContext& context, Value scalar) {
  ENCORE_ASSIGN_OR_RETURN(const Values dims, ElementsOf(context, 0, "input"));
  SizesByData sizes(context);
  Dims shape;
  for (const Value& dim : dims) shape.push_back(sizes.Add(dim, std::nullopt));
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      sizes.Assert(
          scalar,
          "the first input, the shape of the result, has an entry that is "
          "negative or too large"));
  return context.Output(0, context.Fill(checked, Shape(std::move(shape))));
}

Status TileByData(NodeContext& context) {
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const Values repeats,
                          ElementsOf(context, 1, "repeats"));
  if (static_cast<int>(repeats.size()) != shape.rank()) {
    return NodeContext::Error(StrCat("input repeats has ", repeats.size(),
                                     " entries for a rank of ", shape.rank()));
  }
  SizesByData sizes(context);
  Dims wide, flat;
  Ints axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const Dim repeat = sizes.Add(repeats[i], std::nullopt);
    wide.push_back(repeat);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(shape[i]);
    flat.push_back(repeat * shape[i]);
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      sizes.Assert(x, "input repeats has an entry that is negative"));
  const Value spread =
      context.Emit(Op::kBroadcast, {checked},
                   BroadcastAttrs{std::move(wide), std::move(axes)});
  return context.Output(0, context.Reshape(spread, std::move(flat)));
}

Status SplitByData(NodeContext& context, int64_t axis) {
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const Values parts, ElementsOf(context, 1, "split"));
  if (parts.size() != context.node().outputs.size()) {
    return NodeContext::Error(
        StrCat("input split has ", parts.size(), " parts for ",
               context.node().outputs.size(), " outputs"));
  }
  SizesByData sizes(context);
  const int64_t most = UpperBound(context, shape[static_cast<int>(axis)]);
  Dims extents;
  Value total = Number(g, 0);
  for (const Value& part : parts) {
    extents.push_back(sizes.Add(part, most));
    total = g.Add(total, part);
  }
  sizes.Require(g.Compare(total,
                          DimValue(context, shape[static_cast<int>(axis)]),
                          Comparison::kEq));
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      sizes.Assert(
          x,
          "input split has a negative entry, or its sum is not the extent "
          "of the axis"));
  Value start = Number(g, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Value positions = g.Add(sizes.CountTo(extents[i]), start);
    ENCORE_RETURN_IF_ERROR(
        context.Output(static_cast<int>(i), g.Take(checked, positions, axis)));
    start = g.Add(start, parts[i]);
  }
  return OkStatus();
}

Status SliceByData(NodeContext& context) {
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  const int rank = shape.rank();
  SizesByData sizes(context);
  ENCORE_ASSIGN_OR_RETURN(Values starts, ElementsOf(context, 1, "starts"));
  ENCORE_ASSIGN_OR_RETURN(Values ends, ElementsOf(context, 2, "ends"));
  Values steps(starts.size(), Number(g, 1));
  if (context.HasInput(4)) {
    ENCORE_ASSIGN_OR_RETURN(steps, ElementsOf(context, 4, "steps"));
  }
  ENCORE_ASSIGN_OR_RETURN(starts, PerDim(context, starts, 3, rank, 0, &sizes));
  ENCORE_ASSIGN_OR_RETURN(ends, PerDim(context, ends, 3, rank, kFar, &sizes));
  ENCORE_ASSIGN_OR_RETURN(steps, PerDim(context, steps, 3, rank, 1, &sizes));
  struct Cut {
    int axis;
    Value from, step;
    Dim size;
  };
  std::vector<Cut> cuts;
  for (int d = 0; d < rank; ++d) {
    if (IsNumber(starts[d], 0) && IsNumber(ends[d], kFar) &&
        IsNumber(steps[d], 1)) {
      continue;
    }
    const Value extent = DimValue(context, shape[d]);
    const Value step = g.Clamp(steps[d], -kFar, kFar);
    sizes.Require(g.Not(IsZero(g, step)));
    const Value back = g.Compare(step, 0, Comparison::kLt);
    // Backward an end may lie before the first element.
    const Value low = g.Select(back, -1, Number(g, 0));
    const Value high = g.Select(back, g.Sub(extent, 1), extent);
    const auto place = [&](Value at) {
      at = g.Clamp(at, -kFar, kFar);
      at = g.Select(g.Compare(at, 0, Comparison::kLt), g.Add(at, extent), at);
      return g.Min(g.Max(at, low), high);
    };
    const Value from = place(starts[d]), to = place(ends[d]);
    const Value span = g.Select(back, g.Sub(from, to), g.Sub(to, from));
    const Value count =
        g.Select(g.Compare(span, 0, Comparison::kGt),
                 g.Add(g.Div(g.Sub(span, 1), g.Max(g.Abs(step), 1)), 1), 0);
    cuts.push_back(
        {d, from, step, sizes.Add(count, UpperBound(context, shape[d]))});
  }
  ENCORE_ASSIGN_OR_RETURN(
      x,
      sizes.Assert(x,
                   "input steps has an entry of 0, or input axes an entry that "
                   "is not an axis of input data"));
  for (const Cut& cut : cuts) {
    const Value positions =
        g.Add(g.Mul(sizes.CountTo(cut.size), cut.step), cut.from);
    x = g.Take(x, positions, cut.axis);
  }
  return context.Output(0, x);
}

// Along every axis, of which data pick one.
Status CumSumByData(NodeContext& context, bool exclusive, bool reverse) {
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const Values axes, ElementsOf(context, 1, "axis"));
  if (axes.size() != 1 || x.rank() == 0) {
    return NodeContext::Error("input axis is not an axis of input x");
  }
  const int rank = x.rank();
  const Value axis = g.Select(g.Compare(axes[0], 0, Comparison::kLt),
                              g.Add(axes[0], rank), axes[0]);
  SizesByData sizes(context);
  sizes.Require(g.And(g.Compare(axis, 0, Comparison::kGe),
                      g.Compare(axis, rank, Comparison::kLt)));
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      sizes.Assert(x, "input axis is not an axis of input x"));
  Value sum;
  for (int d = 0; d < rank; ++d) {
    const Value along =
        g.Cumulative(checked, {Combiner::kSum, d, exclusive, reverse});
    sum = d == 0 ? along
                 : g.Select(g.Compare(axis, d, Comparison::kEq), along, sum);
  }
  return context.Output(0, sum);
}

StatusOr<std::vector<Value>> MarksByData(NodeContext& context, int rank,
                                         SizesByData* sizes) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Values axes, ElementsOf(context, 1, "axes"));
  ENCORE_ASSIGN_OR_RETURN(
      Values marks,
      PerDim(context, Values(axes.size(), Number(g, 1)), 1, rank, 0, sizes));
  // As many dims as axes: none is named twice.
  Value named = Number(g, 0);
  for (const Value& mark : marks) named = g.Add(named, mark);
  sizes->Require(
      g.Compare(named, static_cast<int64_t>(axes.size()), Comparison::kEq));
  return marks;
}

StatusOr<Value> MoveOnesByData(NodeContext& context, Value x, bool drops) {
  GraphBuilder& g = context.builder();
  const Shape from = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const Values axes, ElementsOf(context, 1, "axes"));
  const auto count = static_cast<int>(axes.size());
  const int wide = drops ? from.rank() : from.rank() + count;
  if (wide < count || wide > kMaxRank) {
    return NodeContext::Error(StrCat(count, " axes for a rank of ", wide));
  }
  SizesByData sizes(context);
  // Whether each of the wider shape's dims is one of the axes.
  ENCORE_ASSIGN_OR_RETURN(const Values marks,
                          MarksByData(context, wide, &sizes));
  Values extents(drops ? wide - count : wide, Number(g, 1));
  Value before = Number(g, 0);  // dims of the narrower shape that came before
  for (int d = 0; d < wide; ++d) {
    const Value other = IsZero(g, marks[d]);
    if (drops) {
      const Value extent = DimValue(context, from[d]);
      sizes.Require(g.Or(other, g.Compare(extent, 1, Comparison::kEq)));
      for (size_t k = 0; k < extents.size(); ++k) {
        const Value here = g.And(
            other, g.Compare(before, static_cast<int64_t>(k), Comparison::kEq));
        extents[k] = g.Select(here, extent, extents[k]);
      }
    } else {
      Value extent = Number(g, 1);
      for (int k = 0; k < from.rank(); ++k) {
        extent = g.Select(g.And(other, g.Compare(before, k, Comparison::kEq)),
                          DimValue(context, from[k]), extent);
      }
      extents[d] = extent;
    }
    before = g.Add(before, g.Sub(1, marks[d]));
  }
  Dims dims;
  for (const Value& extent : extents) {
    dims.push_back(sizes.Add(
        extent,
        std::max<int64_t>(1, UpperBound(context, from.ElementCount()))));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      sizes.Assert(x,
                   "input axes has an entry twice, an entry that is not an "
                   "axis, or an axis whose extent is not 1"));
  return context.Reshape(checked, std::move(dims));
}

}  // namespace encore::onnx
