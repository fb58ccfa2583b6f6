#include <algorithm>
#include <limits>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/by_data.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/index_range.h"
#include "encore/ir/import/onnx/shapes/pad_by_data.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Indices that count from the end made to count from the start: i < 0 ? i +
// extent : i.
Value FromStart(NodeContext& context, Value indices, const Dim& extent) {
  const Shape shape = context.shape(indices);
  const DType dtype = context.dtype(indices);
  const Value zero = context.Fill(context.Scalar(dtype, 0), shape);
  Value size;
  if (extent.is_constant()) {
    size = context.Scalar(dtype, static_cast<double>(extent.constant()));
  } else {
    size = context.Reshape(context.builder().DimValues({extent}), {});
    if (dtype != DType::kI64) size = context.builder().Cast(size, dtype);
  }
  const Value wrapped =
      context.Emit(Op::kAdd, {indices, context.Fill(size, shape)});
  const Value negative = context.Emit(Op::kCompare, {indices, zero},
                                      CompareAttrs{Comparison::kLt});
  return context.Emit(Op::kSelect, {negative, wrapped, indices});
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
  ENCORE_ASSIGN_OR_RETURN(const std::string name,
                          context.attributes().String("reduction", "none"));
  if (name == "none") return Update::kSet;
  const std::optional<Update> update = EnumValue<Update>(name);
  if (update && *update != Update::kSet) return *update;
  return NodeContext::Error(StrCat("attribute reduction is ", Quote(name),
                                   ", expected none, add, mul, max or min"));
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

// The range of one axis of an ONNX Slice, which clamps, counts from the end and
// may run backward, as the slice of an axis reversed before where it does.
struct AxisRange {
  Dim start, limit;
  int64_t stride = 1;
  bool reversed = false;
};

StatusOr<AxisRange> RangeOf(NodeContext& context, const Dim& extent,
                            const Dim& start, const Dim& end, int64_t step) {
  if (step == 0) return NodeContext::Error("input steps has an entry of 0");
  if (step == std::numeric_limits<int64_t>::min()) ++step;
  const auto symbols = context.builder().graph().symbols();
  // Where a symbolic bound lies is decided by its bounds; constants are clamped
  // as is.
  const auto place = [&](const Dim& at, int64_t low, const Dim& high) -> Dim {
    if (at.is_constant() && extent.is_constant()) {
      const int64_t size = extent.constant();
      int64_t value = at.constant();
      if (value < 0) value = std::max(value, -size - 1) + size;
      return std::clamp(value, low, std::max(low, high.constant()));
    }
    if (at.is_constant() && at.constant() >= extent.UpperBound(symbols)) {
      return high;
    }
    const Dim value = at.is_constant() && at.constant() < 0 ? at + extent : at;
    if (value.LowerBound(symbols) >= low &&
        (high - value).LowerBound(symbols) >= 0) {
      return value;
    }
    return Max(Dim(low), Min(value, high));
  };
  if (step > 0) {
    const Dim from = place(start, 0, extent), to = place(end, 0, extent);
    const bool empty = from.is_constant() && to.is_constant() &&
                       to.constant() < from.constant();
    return AxisRange{from, empty ? from : to, step, false};
  }
  // start, start + step, … above end: positions extent - 1 - i of the reversed
  // axis.
  const Dim from = place(start, -1, extent - 1),
            to = place(end, -1, extent - 1);
  const Dim first = extent - 1 - from, limit = extent - 1 - to;
  const bool empty = first.is_constant() && limit.is_constant() &&
                     limit.constant() < first.constant();
  return AxisRange{first, empty ? first : limit, -step, true};
}

Status Slice(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 5));
  for (int i = 1; i < context.input_count(); ++i) {
    if (!context.HasInput(i)) continue;
    if (i < 3 ? !IsKnown(context, i) : !IsConstant(context, i)) {
      return SliceByData(context);
    }
  }
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const Dims starts, context.DimsInput(1, "starts"));
  ENCORE_ASSIGN_OR_RETURN(const Dims ends, context.DimsInput(2, "ends"));
  Ints axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(axes, context.IntsInput(3, "axes"));
  }
  if (context.HasInput(4)) {
    ENCORE_ASSIGN_OR_RETURN(steps, context.IntsInput(4, "steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return NodeContext::Error(
        "inputs starts, ends, axes and steps have different lengths");
  }
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, shape.rank(), "input axes").status());
  SliceAttrs slice{Dims(shape.rank(), 0), shape.dims(), Ints(shape.rank(), 1)};
  Ints reversed;
  for (size_t i = 0; i < starts.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(axes[i], shape.rank(), "input axes"));
    ENCORE_ASSIGN_OR_RETURN(
        const AxisRange range,
        RangeOf(context, shape[axis], starts[i], ends[i], steps[i]));
    slice.starts[axis] = range.start;
    slice.limits[axis] = range.limit;
    slice.strides[axis] = range.stride;
    if (range.reversed) reversed.push_back(axis);
  }
  if (!reversed.empty()) {
    std::sort(reversed.begin(), reversed.end());
    x = context.Emit(Op::kReverse, {x}, AxesAttrs{std::move(reversed)});
  }
  return context.Output(0, context.Emit(Op::kSlice, {x}, std::move(slice)));
}

// Whether positions may be tabulated for a dim of this extent, or padded by so
// much.
bool FitsATable(const Dim& extent) {
  constexpr int64_t kMost = int64_t{1} << 20;
  return extent.is_constant() && extent.constant() >= -kMost &&
         extent.constant() <= kMost;
}

// One dim padded by repeating what the data holds: the edge, its mirror image,
// or the other end.
StatusOr<Value> PadByGather(NodeContext& context, Value x, int axis,
                            int64_t low, int64_t high, std::string_view mode) {
  const Shape shape = context.shape(x);
  if (shape[axis].constant() < 1) {
    return NodeContext::Error(StrCat("mode ", mode, " is not possible for dim ",
                                     axis, ", whose extent is 0"));
  }
  const int64_t size = shape[axis].constant();
  std::vector<int64_t> indices;
  for (int64_t i = -low; i < size + high; ++i) {
    int64_t at = i;
    if (mode == "edge") {
      at = std::clamp<int64_t>(i, 0, size - 1);
    } else if (mode == "wrap") {
      at = ((i % size) + size) % size;
    } else if (size > 1) {
      const int64_t period = 2 * (size - 1);
      at = ((i % period) + period) % period;
      at = std::min(at, period - at);
    } else {
      at = 0;
    }
    indices.push_back(at);
  }
  GatherAttrs gather;
  for (int i = 0; i < shape.rank(); ++i) {
    gather.slice_sizes.push_back(i == axis ? Dim(1) : shape[i]);
    if (i != axis) gather.offset_dims.push_back(i);
  }
  gather.collapsed_slice_dims = {axis};
  gather.start_index_map = {axis};
  gather.index_vector_dim = 1;
  return context.Emit(
      Op::kGather,
      {x, context.builder().Constant(Literal::Vector<int64_t>(indices))},
      std::move(gather));
}

Status Pad(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  ENCORE_ASSIGN_OR_RETURN(const std::string mode,
                          context.attributes().String("mode", "constant"));
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      mode != "wrap") {
    return NodeContext::Error(
        StrCat("attribute mode is ", Quote(mode),
               ", expected constant, reflect, edge or wrap"));
  }
  if (!IsKnown(context, 1) ||
      (context.HasInput(3) && !IsConstant(context, 3))) {
    return PadByData(context, mode);
  }
  Value x = context.Input(0);
  const int rank = context.rank(x);
  ENCORE_ASSIGN_OR_RETURN(const Dims pads, context.DimsInput(1, "pads"));
  Ints axes = AxesFrom(0, rank);
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(axes, context.IntsInput(3, "axes"));
    ENCORE_RETURN_IF_ERROR(context.AxesList(axes, rank, "input axes").status());
  }
  if (pads.size() != 2 * axes.size()) {
    return NodeContext::Error(StrCat("input pads has ", pads.size(),
                                     " entries for ", axes.size(), " axes"));
  }
  PadAttrs pad{Dims(rank, 0), Dims(rank, 0), Ints(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(axes[i], rank, "input axes"));
    pad.low[axis] = pads[i];
    pad.high[axis] = pads[axes.size() + i];
  }
  if (mode == "constant") {
    Value value = context.HasInput(2) ? context.Reshape(context.Input(2), {})
                                      : context.Scalar(context.dtype(x), 0);
    // What was an attribute is f32.
    if (value.dtype() != x.dtype()) {
      value = context.builder().Cast(value, x.dtype());
    }
    return context.Output(0,
                          context.Emit(Op::kPad, {x, value}, std::move(pad)));
  }
  for (int axis = 0; axis < rank; ++axis) {
    const Dim &low = pad.low[axis], &high = pad.high[axis];
    if (low == Dim(0) && high == Dim(0)) continue;
    if (!FitsATable(low) || !FitsATable(high) || !FitsATable(x.shape()[axis]))
      return PadByData(context, mode);
  }
  for (int axis = 0; axis < rank; ++axis) {
    const Dim &low = pad.low[axis], &high = pad.high[axis];
    if (low == Dim(0) && high == Dim(0)) continue;
    ENCORE_ASSIGN_OR_RETURN(x, PadByGather(context, x, axis, low.constant(),
                                           high.constant(), mode));
  }
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
