#include <algorithm>

#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {
namespace {

// A start is a vector with an entry per dim of operand 0.
Status CheckStart(const InferContext& context, int operand) {
  return CheckShape(context, operand, Shape({Dim(context.shape(0).rank())}));
}

// `sizes` fit into the dims of operand 0, if any of `slices` slices is taken.
Status CheckSliceSizes(const InferContext& context, std::string_view name,
                       std::span<const Dim> sizes, const Dim& slices) {
  const Shape& shape = context.shape(0);
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, name, sizes.size(), shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) {
    Dim room = shape[i] - sizes[i];
    if (room.LowerBound(context.symbols) < 0) room = Max(room, Dim(0) - slices);
    if (!AlwaysLess(context, sizes[i], 0) && !AlwaysLess(context, room, 0)) {
      continue;
    }
    return context.Error(
        StrCat(name, " is ", sizes[i].ToString(context.symbols), " in dim ", i,
               ", expected at most ", shape[i].ToString(context.symbols)));
  }
  return OkStatus();
}

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Ints Joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The fields that gather and scatter share, under gather's names.
struct IndexFields {
  const Ints& offset_dims;
  const Ints& collapsed;
  const Ints& operand_batching;
  const Ints& index_batching;
  const Ints& index_map;
  int64_t index_vector_dim;
  // What the attributes are called in this op.
  std::string_view offset_name, collapsed_name, index_batching_name, map_name;
};

Status CheckBatching(const InferContext& context, const IndexFields& fields) {
  const Shape &operand = context.shape(0), &indices = context.shape(1);
  ENCORE_RETURN_IF_ERROR(CheckLength(context, fields.index_batching_name,
                                     fields.index_batching.size(),
                                     fields.operand_batching.size()));
  ENCORE_RETURN_IF_ERROR(CheckDistinctAxes(context, fields.index_batching_name,
                                           fields.index_batching,
                                           indices.rank()));
  if (Contains(fields.index_batching, fields.index_vector_dim)) {
    return context.Error(StrCat("attribute ", fields.index_batching_name,
                                " names index_vector_dim"));
  }
  for (size_t i = 0; i < fields.index_batching.size(); ++i) {
    const Dim& a = operand[static_cast<int>(fields.operand_batching[i])];
    const Dim& b = indices[static_cast<int>(fields.index_batching[i])];
    if (a != b) {
      return context.Error(StrCat("batching dims have the extents ",
                                  a.ToString(context.symbols), " and ",
                                  b.ToString(context.symbols)));
    }
  }
  return OkStatus();
}

Status CheckIndexFields(const InferContext& context,
                        const IndexFields& fields) {
  const Shape &operand = context.shape(0), &indices = context.shape(1);
  const int rank = operand.rank();
  if (fields.index_vector_dim < 0 || fields.index_vector_dim > indices.rank()) {
    return context.Error(StrCat("attribute index_vector_dim is ",
                                fields.index_vector_dim, ", expected [0, ",
                                indices.rank(), "]"));
  }
  ENCORE_RETURN_IF_ERROR(CheckAscendingAxes(context, fields.collapsed_name,
                                            fields.collapsed, rank));
  ENCORE_RETURN_IF_ERROR(CheckAscendingAxes(context, "operand_batching_dims",
                                            fields.operand_batching, rank));
  ENCORE_RETURN_IF_ERROR(CheckDistinctAxes(
      context, "operand_batching_dims",
      Joined(fields.operand_batching, fields.collapsed), rank));
  ENCORE_RETURN_IF_ERROR(CheckDistinctAxes(
      context, fields.map_name,
      Joined(fields.index_map, fields.operand_batching), rank));
  ENCORE_RETURN_IF_ERROR(CheckLength(
      context, fields.offset_name, fields.offset_dims.size(),
      rank - fields.collapsed.size() - fields.operand_batching.size()));
  const Dim vector = fields.index_vector_dim < indices.rank()
                         ? indices[static_cast<int>(fields.index_vector_dim)]
                         : Dim(1);
  if (vector != Dim(static_cast<int64_t>(fields.index_map.size()))) {
    return context.Error(StrCat("attribute ", fields.map_name, " has ",
                                fields.index_map.size(), " entries, expected ",
                                vector.ToString(context.symbols),
                                ", the extent of index_vector_dim"));
  }
  return CheckBatching(context, fields);
}

// What becomes of what is out of range is an error, or the op's own choice.
Status CheckOutOfRange(const InferContext& context, OutOfRange given,
                       OutOfRange own) {
  if (given == own || given == OutOfRange::kError) return OkStatus();
  return context.Error(StrCat("attribute out_of_range is ", EnumText(given),
                              ", expected ", EnumText(own), " or ",
                              EnumText(OutOfRange::kError)));
}

// Dims of the indices but for the index vector.
std::vector<Dim> IndexDims(const InferContext& context, int64_t vector_dim) {
  return WithoutAxes(context.shape(1), {&vector_dim, 1}).dims();
}

// Puts `window` at the positions `window_dims` and `batch` in order elsewhere.
StatusOr<Shape> Interleave(const InferContext& context, std::string_view name,
                           const Ints& window_dims, std::span<const Dim> window,
                           std::span<const Dim> batch) {
  const int rank = static_cast<int>(window.size() + batch.size());
  ENCORE_RETURN_IF_ERROR(CheckAscendingAxes(context, name, window_dims, rank));
  std::vector<Dim> dims;
  size_t next_window = 0, next_batch = 0;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(Contains(window_dims, i) ? window[next_window++]
                                            : batch[next_batch++]);
  }
  return Shape(std::move(dims));
}

}  // namespace

Types InferDynamicSlice(const InferContext& context) {
  const Dims& sizes = context.attrs<DynamicSliceAttrs>().sizes;
  ENCORE_RETURN_IF_ERROR(CheckStart(context, 1));
  ENCORE_RETURN_IF_ERROR(CheckSliceSizes(context, "attribute sizes", sizes, 1));
  return Like(context, Shape(sizes));
}

Types InferDynamicUpdateSlice(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckStart(context, 2));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, context.shape(0).rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckSliceSizes(context, "operand 1", context.shape(1).dims(), 1));
  return SameAsOperand(context);
}

Types InferGather(const InferContext& context) {
  const GatherAttrs& attrs = context.attrs<GatherAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckOutOfRange(context, attrs.out_of_range, OutOfRange::kClamp));
  ENCORE_RETURN_IF_ERROR(CheckIndexFields(
      context, {attrs.offset_dims, attrs.collapsed_slice_dims,
                attrs.operand_batching_dims, attrs.start_indices_batching_dims,
                attrs.start_index_map, attrs.index_vector_dim, "offset_dims",
                "collapsed_slice_dims", "start_indices_batching_dims",
                "start_index_map"}));
  const std::vector<Dim> batch = IndexDims(context, attrs.index_vector_dim);
  ENCORE_RETURN_IF_ERROR(CheckSliceSizes(context, "attribute slice_sizes",
                                         attrs.slice_sizes,
                                         Shape(batch).ElementCount()));
  const Ints dropped =
      Joined(attrs.collapsed_slice_dims, attrs.operand_batching_dims);
  for (const int64_t axis : dropped) {
    if (attrs.slice_sizes[axis] != Dim(1)) {
      return context.Error(StrCat("attribute slice_sizes is ",
                                  attrs.slice_sizes[axis], " in dim ", axis,
                                  ", which the result drops, expected 1"));
    }
  }
  ENCORE_ASSIGN_OR_RETURN(
      Shape shape,
      Interleave(context, "offset_dims", attrs.offset_dims,
                 WithoutAxes(Shape(attrs.slice_sizes), dropped).dims(), batch));
  return Like(context, std::move(shape));
}

Types InferScatter(const InferContext& context) {
  const ScatterAttrs& attrs = context.attrs<ScatterAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckOutOfRange(context, attrs.out_of_range, OutOfRange::kDrop));
  ENCORE_RETURN_IF_ERROR(CheckIndexFields(
      context,
      {attrs.update_window_dims, attrs.inserted_window_dims,
       attrs.operand_batching_dims, attrs.scatter_indices_batching_dims,
       attrs.scatter_dims_to_operand_dims, attrs.index_vector_dim,
       "update_window_dims", "inserted_window_dims",
       "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"}));
  const DType dtype = context.dtype(0);
  if (attrs.update != Update::kSet && !IsInteger(dtype) && !IsFloat(dtype)) {
    return context.Error(StrCat("attribute update is ", EnumText(attrs.update),
                                ", which ", dtype, " does not have"));
  }
  const Shape bounds = WithoutAxes(
      context.shape(0),
      Joined(attrs.inserted_window_dims, attrs.operand_batching_dims));
  // The windows are as large as the updates say, and fit into the operand.
  const Shape& updates = context.shape(2);
  const std::vector<Dim> batch = IndexDims(context, attrs.index_vector_dim);
  ENCORE_RETURN_IF_ERROR(
      CheckRank(context, 2, bounds.rank() + static_cast<int>(batch.size())));
  ENCORE_RETURN_IF_ERROR(CheckAscendingAxes(
      context, "update_window_dims", attrs.update_window_dims, updates.rank()));
  std::vector<Dim> window;
  for (const int64_t axis : attrs.update_window_dims) {
    const Dim& size = updates[static_cast<int>(axis)];
    const Dim& bound = bounds[static_cast<int>(window.size())];
    if (AlwaysLess(context, bound, size)) {
      return context.Error(StrCat(
          "operand 2 is ", updates.ToString(context.symbols), ", in dim ", axis,
          " expected at most ", bound.ToString(context.symbols)));
    }
    window.push_back(size);
  }
  ENCORE_ASSIGN_OR_RETURN(const Shape expected,
                          Interleave(context, "update_window_dims",
                                     attrs.update_window_dims, window, batch));
  ENCORE_RETURN_IF_ERROR(CheckShape(context, 2, expected));
  return SameAsOperand(context);
}

}  // namespace encore::ops
