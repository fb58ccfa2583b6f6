#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/data_axes.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/index_range.h"
#include "encore/ir/import/onnx/shapes/pad_to.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Indices that count from the end made to count from the start: i < 0 ? i +
// extent : i.
Value FromStart(NodeContext& context, Value indices, const Dim& extent) {
  GraphBuilder& g = context.builder();
  const DType dtype = indices.dtype();
  const Value size =
      extent.is_constant()
          ? context.Scalar(dtype, static_cast<double>(extent.constant()))
          : g.Cast(DimValue(context, extent), dtype);
  return g.Select(g.Compare(indices, 0, Comparison::kLt), g.Add(indices, size),
                  indices);
}

Status Gather(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  const Value data = context.Input(0);
  const Shape shape = context.shape(data);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(0, shape.rank()));
  GatherAttrs gather;
  ENCORE_ASSIGN_OR_RETURN(gather.out_of_range,
                          RuleForIndices(context, context.Input(1), shape[axis],
                                         OutOfRange::kClamp));
  const Value indices = FromStart(context, context.Input(1), shape[axis]);
  const int index_rank = context.rank(indices);
  for (int i = 0; i < shape.rank(); ++i) {
    gather.slice_sizes.push_back(i == axis ? Dim(1) : shape[i]);
    if (i != axis)
      gather.offset_dims.push_back(i < axis ? i : i - 1 + index_rank);
  }
  gather.collapsed_slice_dims = {axis};
  gather.start_index_map = {axis};
  gather.index_vector_dim = index_rank;
  return context.Output(
      0, context.Emit(Op::kGather, {data, indices}, std::move(gather)));
}

// Every dim but `axis` takes its index from the position: a gather with those
// dims as batch, or an index vector where the extents differ.
Status GatherElements(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  Value data = context.Input(0);
  const Value raw_indices = context.Input(1);
  const Shape shape = context.shape(data), wanted = context.shape(raw_indices);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(0, shape.rank()));
  if (wanted.rank() != shape.rank()) {
    return NodeContext::Error(StrCat("the inputs have ranks ", shape.rank(),
                                     " and ", wanted.rank(),
                                     ", expected the same rank"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const OutOfRange rule,
      RuleForIndices(context, raw_indices, shape[axis], OutOfRange::kClamp));
  // The part of the data that the indices' positions reach.
  SliceAttrs part{Dims(shape.rank(), 0), wanted.dims(), Ints(shape.rank(), 1)};
  part.limits[axis] = shape[axis];
  data = context.Emit(Op::kSlice, {data}, std::move(part));
  const Value indices = FromStart(context, raw_indices, shape[axis]);
  return context.Output(0, context.TakeAlong(data, indices, axis, rule));
}

// Adds the entries of index vectors for an axis of `extent` to `columns`;
// `rule` is that of those before, and becomes that of all.
Status AddColumn(NodeContext& context, Value column, const Dim& extent,
                 std::vector<Value>* columns, OutOfRange* rule) {
  ENCORE_ASSIGN_OR_RETURN(const OutOfRange own,
                          RuleForIndices(context, column, extent, *rule));
  *rule = own;
  columns->push_back(FromStart(context, column, extent));
  return OkStatus();
}

Status GatherND(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_ASSIGN_OR_RETURN(const int64_t batch,
                          context.attributes().Int("batch_dims", 0));
  const Value data = context.Input(0);
  Value indices = context.Input(1);
  const Shape shape = context.shape(data), index_shape = context.shape(indices);
  const int last = index_shape.rank() - 1;
  if (last < 0 || !index_shape[last].is_constant() || batch < 0 ||
      batch > last || batch + index_shape[last].constant() > shape.rank()) {
    return NodeContext::Error(
        "the shape of input indices does not match input data and attribute "
        "batch_dims");
  }
  const auto depth = static_cast<int>(index_shape[last].constant());
  GatherAttrs gather;
  std::vector<Value> columns;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < batch) {
      gather.operand_batching_dims.push_back(i);
      gather.start_indices_batching_dims.push_back(i);
      gather.slice_sizes.push_back(1);
    } else if (i < batch + depth) {
      gather.collapsed_slice_dims.push_back(i);
      gather.start_index_map.push_back(i);
      gather.slice_sizes.push_back(1);
      SliceAttrs column{Dims(last + 1, 0), index_shape.dims(),
                        Ints(last + 1, 1)};
      column.starts[last] = i - batch;
      column.limits[last] = i - batch + 1;
      ENCORE_RETURN_IF_ERROR(
          AddColumn(context, context.Emit(Op::kSlice, {indices}, column),
                    shape[i], &columns, &gather.out_of_range));
    } else {
      gather.slice_sizes.push_back(shape[i]);
      gather.offset_dims.push_back(last + i - batch - depth);
    }
  }
  gather.index_vector_dim = last;
  if (!columns.empty())
    indices = context.Emit(Op::kConcat, columns, AxisAttrs{last});
  return context.Output(
      0, context.Emit(Op::kGather, {data, indices}, std::move(gather)));
}

StatusOr<Update> Reduction(NodeContext& context) {
  return context.attributes().Word<Update>("reduction",
                                           {{"none", Update::kSet},
                                            {"add", Update::kAdd},
                                            {"mul", Update::kMul},
                                            {"max", Update::kMax},
                                            {"min", Update::kMin}});
}

Status ScatterND(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  ENCORE_ASSIGN_OR_RETURN(const Update update, Reduction(context));
  Value data = context.Input(0), indices = context.Input(1);
  Value updates = context.Input(2);
  for (int i = 0; i < std::min(indices.rank() - 1, updates.rank()); ++i) {
    UnifyDims(context, &indices, i, &updates, i);
  }
  const Shape shape = context.shape(data), index_shape = context.shape(indices);
  const int last = index_shape.rank() - 1;
  if (last < 0 || !index_shape[last].is_constant() ||
      index_shape[last].constant() > shape.rank()) {
    return NodeContext::Error(
        "the last extent of input indices is larger than the rank of input "
        "data");
  }
  const auto depth = static_cast<int>(index_shape[last].constant());
  for (int i = depth; i < shape.rank() && last + i - depth < updates.rank();
       ++i) {
    UnifyDims(context, &data, i, &updates, last + i - depth);
  }
  ScatterAttrs scatter;
  scatter.update = update;
  std::vector<Value> columns;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i >= depth) {
      scatter.update_window_dims.push_back(last + i - depth);
      continue;
    }
    scatter.inserted_window_dims.push_back(i);
    scatter.scatter_dims_to_operand_dims.push_back(i);
    SliceAttrs column{Dims(last + 1, 0), index_shape.dims(), Ints(last + 1, 1)};
    column.starts[last] = i;
    column.limits[last] = i + 1;
    ENCORE_RETURN_IF_ERROR(
        AddColumn(context, context.Emit(Op::kSlice, {indices}, column),
                  shape[i], &columns, &scatter.out_of_range));
  }
  scatter.index_vector_dim = last;
  if (!columns.empty())
    indices = context.Emit(Op::kConcat, columns, AxisAttrs{last});
  return context.Output(0, context.Emit(Op::kScatter, {data, indices, updates},
                                        std::move(scatter)));
}

Status ScatterElements(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  ENCORE_ASSIGN_OR_RETURN(const Update update, Reduction(context));
  const Value data = context.Input(0);
  const Shape shape = context.shape(data);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(0, shape.rank()));
  std::vector<Value> both = {context.Input(1), context.Input(2)};
  UnifyDimsExcept(context, -1, &both);
  const Value along = FromStart(context, both[0], shape[axis]);
  const Shape where = context.shape(along);
  if (where.rank() != shape.rank()) {
    return NodeContext::Error("inputs data and indices have different ranks");
  }
  // Full index vectors: the position on every dim but `axis`.
  ScatterAttrs scatter;
  scatter.update = update;
  ENCORE_ASSIGN_OR_RETURN(
      scatter.out_of_range,
      RuleForIndices(context, both[0], shape[axis], OutOfRange::kDrop));
  std::vector<Value> columns;
  for (int i = 0; i < shape.rank(); ++i) {
    scatter.inserted_window_dims.push_back(i);
    scatter.scatter_dims_to_operand_dims.push_back(i);
    if (i != axis && !NeverAbove(context, where[i], shape[i])) {
      scatter.out_of_range = OutOfRange::kError;
    }
    const Value column =
        i == axis
            ? along
            : context.Emit(Op::kIota, {},
                           IotaAttrs{context.dtype(along), where.dims(), i});
    columns.push_back(context.Unsqueeze(column, {where.rank()}));
  }
  scatter.index_vector_dim = where.rank();
  const Value indices =
      context.Emit(Op::kConcat, columns, AxisAttrs{where.rank()});
  return context.Output(0, context.Emit(Op::kScatter, {data, indices, both[1]},
                                        std::move(scatter)));
}

// Where a bound of an ONNX Slice lies, which may count from the end: from `low`
// to `high`.
IndexExpr PlaceOf(NodeContext& context, const IndexExpr& at,
                  const IndexExpr& extent, const IndexExpr& low,
                  const IndexExpr& high) {
  if (at.constant() && extent.constant()) {
    const int64_t size = *extent.constant();
    const IndexExpr from_end = std::max(*at.constant(), -size - 1) + size;
    return Max(Min(*at.constant() < 0 ? from_end : at, high), low);
  }
  if (!at.known() || !low.known()) {
    const IndexExpr near = Max(Min(at, kFar), -kFar);
    return Max(Min(FromStart(near, extent), high), low);
  }
  if (at.constant() && *at.constant() >= extent.UpperBound()) return high;
  // An expression counts from the start.
  const IndexExpr value =
      at.constant() && *at.constant() < 0 ? at + extent : at;
  if (value.LowerBound() >= low.LowerBound() &&
      (high - value).LowerBound() >= 0) {
    return value;
  }
  return {context.builder(), Max(low.dim(), Min(value.dim(), high.dim()))};
}

// Part of an axis: `size` elements from `start` on, `step` apart.
struct AxisRange {
  int axis = 0;
  IndexExpr start, size, step = 1;
};

// The range of an axis that an ONNX Slice with a constant step takes; where the
// step is negative, of the axis reversed: an end may lie before the first
// element then, a start that does is the first.
AxisRange RangeOf(NodeContext& context, int axis, const IndexExpr& extent,
                  const IndexExpr& start, const IndexExpr& end, bool back) {
  const IndexExpr low = back ? -1 : 0, high = back ? extent - 1 : extent;
  const IndexExpr from = PlaceOf(context, start, extent, Min(high, 0), high);
  const IndexExpr to = PlaceOf(context, end, extent, low, high);
  IndexExpr size = back ? from - to : to - from;
  // The graph checks expressions.
  if (!size.known() || size.constant()) size = Max(size, 0);
  return {axis, back ? extent - 1 - from : from, size};
}

// The same where data say the step, in the order of the axis itself.
AxisRange RangeByData(NodeContext& context, int axis, const IndexExpr& extent,
                      const IndexExpr& start, const IndexExpr& end,
                      const IndexExpr& by, ShapeBuilder* shapes) {
  const IndexExpr step = Max(Min(by, kFar), -kFar);
  shapes->Require(step != 0);
  const Condition back = step < 0;
  // Backward an end may lie before the first element, a start may not.
  const IndexExpr low = Select(back, -1, 0);
  const IndexExpr high = Select(back, extent - 1, extent);
  const IndexExpr from = PlaceOf(context, start, extent, Min(high, 0), high);
  const IndexExpr to = PlaceOf(context, end, extent, low, high);
  const IndexExpr span = Select(back, from - to, to - from);
  return {axis, from, CeilDiv(span, Max(Select(back, 0 - step, step), 1)),
          step};
}

Status Slice(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 5));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  const int rank = shape.rank();
  ENCORE_ASSIGN_OR_RETURN(IndexExprs starts, ElementsOf(context, 1, "starts"));
  ENCORE_ASSIGN_OR_RETURN(IndexExprs ends, ElementsOf(context, 2, "ends"));
  IndexExprs steps(starts.size(), 1);
  if (context.HasInput(4)) {
    ENCORE_ASSIGN_OR_RETURN(steps, ElementsOf(context, 4, "steps"));
  }
  if (ends.size() != starts.size() || steps.size() != starts.size()) {
    return NodeContext::Error(
        "inputs starts, ends, axes and steps have different lengths");
  }
  ShapeBuilder shapes(context);
  const auto per_dim = [&](const IndexExprs& values, int64_t otherwise) {
    return PerDim(context, values, 3, rank, otherwise, &shapes);
  };
  ENCORE_ASSIGN_OR_RETURN(starts, per_dim(starts, 0));
  ENCORE_ASSIGN_OR_RETURN(ends, per_dim(ends, INT64_MAX));
  ENCORE_ASSIGN_OR_RETURN(steps, per_dim(steps, 1));
  SliceAttrs slice{Dims(rank, 0), shape.dims(), Ints(rank, 1)};
  Ints reversed;
  std::vector<std::pair<AxisRange, Dim>> gathered;
  for (int d = 0; d < rank; ++d) {
    if (starts[d].Is(0) && ends[d].Is(INT64_MAX) && steps[d].Is(1)) continue;
    const IndexExpr extent = shapes.Extent(shape[d]);
    const std::optional<int64_t> step = steps[d].constant();
    if (!step) {
      const AxisRange range = RangeByData(context, d, extent, starts[d],
                                          ends[d], steps[d], &shapes);
      gathered.emplace_back(range, shapes.Define(range.size, shape[d]));
      continue;
    }
    shapes.Require(*step != 0, "input steps has an entry of 0");
    const AxisRange range =
        RangeOf(context, d, extent, starts[d], ends[d], *step < 0);
    slice.starts[d] = shapes.Define(range.start, shape[d]);
    slice.limits[d] = slice.starts[d] + shapes.Define(range.size, shape[d]);
    slice.strides[d] = std::abs(std::max<int64_t>(*step, -INT64_MAX));
    if (*step < 0) reversed.push_back(d);
  }
  ENCORE_ASSIGN_OR_RETURN(
      x, shapes.Assert(x,
                       "input steps has an entry of 0, or input axes an entry "
                       "that is not an axis of input data"));
  if (!reversed.empty()) x = g.Reverse(x, std::move(reversed));
  x = context.Emit(Op::kSlice, {x}, std::move(slice));
  for (const auto& [range, size] : gathered) {
    const Value at = g.Add(g.Mul(CountTo(context, size), range.step.ToValue(g)),
                           range.start.ToValue(g));
    x = g.Take(x, at, range.axis);
  }
  return context.Output(0, x);
}

// Whether positions may be tabulated for a dim of this extent, or padded by so
// much.
bool FitsATable(const IndexExpr& number) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const std::optional<int64_t> constant = number.constant();
  return constant && *constant >= -kMost && *constant <= kMost;
}

int64_t Min(int64_t a, int64_t b) { return std::min(a, b); }
int64_t Max(int64_t a, int64_t b) { return std::max(a, b); }
int64_t Mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// Which of `extent` elements, one at least, a mode repeats at a position within
// or outside of them: the edge, the mirror image, or the other end. Of numbers
// (int64_t) or of what the run computes (IndexExpr).
template <typename Index>
Index Repeated(std::string_view mode, const Index& at, const Index& extent) {
  const Index last = extent - 1;
  if (mode == "edge") return Max(Min(at, last), 0);
  if (mode == "wrap") return Mod(at, Max(extent, 1));
  const Index folded = Mod(at, Max(last * 2, 1));
  return Min(folded, last * 2 - folded);
}

// Dims padded by repeating what the data holds. Where positions are computed by
// the run, the extent is its to say too.
StatusOr<Value> PadByRepeating(NodeContext& context, Value x,
                               const IndexExprs& lows, const IndexExprs& to,
                               std::string_view mode, std::string_view message,
                               ShapeBuilder* shapes) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(x);
  struct Padded {
    int axis;
    bool tabled;
    Dim size;
  };
  std::vector<Padded> padded;
  for (int d = 0; d < shape.rank(); ++d) {
    const IndexExpr extent = shapes->Extent(shape[d]), more = to[d] - extent;
    if (lows[d].Is(0) && more.Is(0)) continue;
    shapes->Require(extent > 0,
                    StrCat("mode ", mode, " is not possible for dim ", d,
                           ", whose extent is 0"));
    const bool tabled =
        FitsATable(lows[d]) && FitsATable(extent) && FitsATable(more);
    const IndexExpr size =
        tabled ? to[d]
               : IndexExpr(g, g.Add(extent.ToValue(g), more.ToValue(g)));
    padded.push_back({d, tabled, shapes->Define(size, kMaxSize)});
  }
  ENCORE_ASSIGN_OR_RETURN(x, shapes->Assert(x, message));
  for (const auto& [d, tabled, size] : padded) {
    const IndexExpr extent = shapes->Extent(shape[d]);
    Value positions;
    if (tabled) {
      const int64_t low = *lows[d].constant(), count = *extent.constant();
      std::vector<int64_t> table;
      for (int64_t i = 0; i < size.constant(); ++i) {
        table.push_back(Repeated(mode, i - low, count));
      }
      positions = g.Constant(Literal::Vector<int64_t>(table));
    } else {
      const IndexExpr at(g, g.Sub(CountTo(context, size), lows[d].ToValue(g)));
      positions = Repeated(mode, at, extent).ToValue(g);
    }
    x = g.Take(x, positions, d);
  }
  return x;
}

Status Pad(NodeContext& context) {
  constexpr std::string_view kWrong =
      "input pads leads to a negative extent, or pads an empty axis by "
      "repeating its elements";
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  ENCORE_ASSIGN_OR_RETURN(const std::string mode,
                          context.attributes().String("mode", "constant"));
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      mode != "wrap") {
    return NodeContext::Error(
        StrCat("attribute mode is ", Quote(mode),
               ", expected constant, reflect, edge or wrap"));
  }
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs pads,
                          ElementsOf(context, 1, "pads"));
  const auto half = pads.begin() + static_cast<int64_t>(pads.size() / 2);
  if (pads.size() % 2 != 0 ||
      (!context.HasInput(3) &&
       pads.size() != 2 * static_cast<size_t>(shape.rank()))) {
    return NodeContext::Error(StrCat("input pads has ", pads.size(),
                                     " entries for ", shape.rank(), " axes"));
  }
  ShapeBuilder shapes(context);
  ENCORE_ASSIGN_OR_RETURN(IndexExprs lows,
                          PerDim(context, IndexExprs(pads.begin(), half), 3,
                                 shape.rank(), 0, &shapes));
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs highs,
                          PerDim(context, IndexExprs(half, pads.end()), 3,
                                 shape.rank(), 0, &shapes));
  IndexExprs to;
  // Longer pads would make extents beyond what 64 bits hold.
  const auto pad = [&](const IndexExpr& by) {
    return by.known() ? by : shapes.RequireWithin(by, -kFar, kFar);
  };
  for (int d = 0; d < shape.rank(); ++d) {
    lows[d] = pad(lows[d]);
    to.push_back(shapes.Extent(shape[d]) + lows[d] + pad(highs[d]));
  }
  if (mode != "constant") {
    ENCORE_ASSIGN_OR_RETURN(
        x, PadByRepeating(context, x, lows, to, mode, kWrong, &shapes));
    return context.Output(0, x);
  }
  Value fill = context.HasInput(2) ? context.Reshape(context.Input(2), {})
                                   : context.Scalar(x.dtype(), 0);
  // What was an attribute is f32.
  if (fill.dtype() != x.dtype()) fill = context.builder().Cast(fill, x.dtype());
  ENCORE_ASSIGN_OR_RETURN(x,
                          PadTo(context, x, lows, to, fill, kWrong, &shapes));
  return context.Output(0, x);
}

constexpr Converter kConverters[] = {
    {"Gather", Gather, Op::kGather},
    {"GatherElements", GatherElements, Op::kGather},
    {"GatherND", GatherND, Op::kGather},
    {"Pad", Pad, Op::kPad},
    {"ScatterElements", ScatterElements, Op::kScatter},
    {"Scatter", ScatterElements, Op::kScatter},
    {"ScatterND", ScatterND, Op::kScatter},
    {"Slice", Slice, Op::kSlice},
};

}  // namespace

std::span<const Converter> IndexingConverters() { return kConverters; }

}  // namespace encore::onnx
