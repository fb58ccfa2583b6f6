// Movement: the element is another element of an operand.
#include <algorithm>

#include "encore/backends/region/tracer.h"
#include "encore/ir/support/check.h"

namespace encore::backends {
namespace {

bool Contains(const Ints& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Tracer::Result Tracer::Movement(NodeId node, const Indices& indices) {
  const Op op = graph_.op(node);
  const bool reads_all = op == Op::kBroadcast || op == Op::kReshape ||
                         op == Op::kTranspose || op == Op::kReverse;
  // An index that nobody reads is out of range all the same.
  if (partial_ > 0 && MayFail(op, graph_.attributes(node))) {
    return std::nullopt;
  }
  partial_ += reads_all ? 0 : 1;
  const Result result = Moved(node, indices);
  partial_ -= reads_all ? 0 : 1;
  return result;
}

Tracer::Result Tracer::Moved(NodeId node, const Indices& indices) {
  switch (graph_.op(node)) {
    case Op::kBroadcast:
      return Broadcast(node, indices);
    case Op::kReshape:
      return Reshape(node, indices);
    case Op::kTranspose: {
      const Ints& permutation = graph_.attrs<TransposeAttrs>(node).permutation;
      Indices from(indices.size());
      for (size_t i = 0; i < indices.size(); ++i) {
        from[permutation[i]] = indices[i];
      }
      return ValueAt(graph_.operand(node, 0), from);
    }
    case Op::kReverse: {
      Indices from = indices;
      for (const int64_t axis : graph_.attrs<AxesAttrs>(node).axes) {
        if (from[axis].indirect.valid()) return std::nullopt;
        const Dim last = graph_.shape(graph_.result(node))[axis] - 1;
        from[axis] = Plus(Multiple(from[axis], -1), last);
      }
      return ValueAt(graph_.operand(node, 0), from);
    }
    case Op::kSlice:
      return Slice(node, indices);
    case Op::kDynamicSlice:
      return DynamicSlice(node, indices);
    case Op::kDynamicUpdateSlice:
      return DynamicUpdateSlice(node, indices);
    case Op::kPad:
      return Pad(node, indices);
    case Op::kConcat:
      return Concat(node, indices);
    case Op::kGather:
      return Gather(node, indices);
    default:
      return std::nullopt;
  }
}

Tracer::Result Tracer::Broadcast(NodeId node, const Indices& indices) {
  const Ints& axes = graph_.attrs<BroadcastAttrs>(node).axes;
  const Shape& shape = graph_.shape(graph_.operand(node, 0));
  Indices from;
  for (int i = 0; i < shape.rank(); ++i) {
    from.push_back(shape[i] == Dim(1) ? Index{} : indices[axes[i]]);
  }
  return ValueAt(graph_.operand(node, 0), from);
}

std::optional<Indices> Tracer::Delinearize(const Index& index,
                                           std::span<const Dim> extents) {
  Indices parts;
  Index rest = index;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == Dim(1)) {
      parts.push_back({});
      continue;
    }
    Dim stride(1);
    for (size_t k = i + 1; k < extents.size(); ++k)
      stride = stride * extents[k];
    const Division division = Divide(rest, stride, region_.extents);
    if (division.parts.has_value()) {
      parts.push_back(division.parts->first);
      rest = division.parts->second;
      continue;
    }
    if (division.split.has_value() && !better_splits_.has_value()) {
      const auto& [key, part] = variable_keys_[division.split->variable];
      Splits better = splits_;
      std::vector<int64_t>& extents_of = better[key];
      const int64_t extent =
          region_.extents[division.split->variable].constant();
      if (extents_of.empty()) extents_of.push_back(extent);
      const int64_t inner = division.split->inner;
      extents_of[part] = extent / inner;
      extents_of.insert(extents_of.begin() + part + 1, inner);
      better_splits_ = std::move(better);
      return std::nullopt;
    }
    // Not affine: by arithmetic on the value, which is not negative where it is
    // used.
    const ExprId value = OfIndex(rest), by = OfDim(stride);
    Index quotient, remainder;
    quotient.indirect = OfOp(Op::kDiv, DType::kI64, {value, by});
    remainder.indirect = OfOp(Op::kRem, DType::kI64, {value, by});
    parts.push_back(quotient);
    rest = remainder;
  }
  return parts;
}

Index Tracer::Linear(const Indices& indices, std::span<const Dim> dims) {
  Index linear;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Index& index = indices[d];
    if (linear.indirect.valid()) {  // as a value, to be a multiple
      Index value;
      value.indirect =
          OfOp(Op::kMul, DType::kI64, {OfIndex(linear), OfDim(dims[d])});
      linear = value;
    } else {
      linear = Multiple(linear, dims[d]);
    }
    linear = index.indirect.valid() && linear.indirect.valid()
                 ? AddIndirect(linear, OfIndex(index))
                 : Sum(linear, index);
  }
  return linear;
}

std::optional<Indices> Tracer::ReshapeIndices(std::span<const Dim> from,
                                              std::span<const Dim> to,
                                              const Indices& indices) {
  auto groups = ReshapeGroups(from, to);
  if (!groups.has_value()) {
    groups = {
        {0, static_cast<int>(from.size()), 0, static_cast<int>(to.size())}};
  }
  Indices result;
  for (const ReshapeGroup& group : *groups) {
    const Indices within(indices.begin() + group.to_begin,
                         indices.begin() + group.to_end);
    const Index linear =
        Linear(within, to.subspan(group.to_begin, within.size()));
    auto parts = Delinearize(
        linear,
        from.subspan(group.from_begin, group.from_end - group.from_begin));
    if (!parts.has_value()) return std::nullopt;
    result.insert(result.end(), parts->begin(), parts->end());
  }
  return result;
}

Tracer::Result Tracer::Reshape(NodeId node, const Indices& indices) {
  const ValueId operand = graph_.operand(node, 0);
  const auto from =
      ReshapeIndices(graph_.shape(operand).dims(),
                     graph_.shape(graph_.result(node)).dims(), indices);
  return from.has_value() ? ValueAt(operand, *from) : std::nullopt;
}

Tracer::Result Tracer::Slice(NodeId node, const Indices& indices) {
  const SliceAttrs& attrs = graph_.attrs<SliceAttrs>(node);
  Indices from;
  for (size_t d = 0; d < indices.size(); ++d) {
    Index index = indices[d];
    if (attrs.strides[d] != 1) {
      if (index.indirect.valid()) {
        Index value;
        value.indirect = OfOp(Op::kMul, DType::kI64,
                              {OfIndex(index), Int(attrs.strides[d])});
        index = value;
      } else {
        index = Multiple(index, attrs.strides[d]);
      }
    }
    from.push_back(Plus(index, attrs.starts[d]));
  }
  return ValueAt(graph_.operand(node, 0), from);
}

Index Tracer::AddIndirect(const Index& index, ExprId start) {
  Index sum = index;
  sum.indirect = index.indirect.valid()
                     ? OfOp(Op::kAdd, DType::kI64, {index.indirect, start})
                     : start;
  return sum;
}

Tracer::Result Tracer::Start(ValueId vector, const Indices& at,
                             const Dim& limit) {
  const Result value = ValueAt(vector, at);
  if (!value.has_value()) return std::nullopt;
  const ExprId start = Cast(DType::kI64, *value);
  return OfOp(Op::kMax, DType::kI64,
              {OfOp(Op::kMin, DType::kI64, {start, OfDim(limit)}), Int(0)});
}

Tracer::Result Tracer::CheckedStart(const StartCheck& of, const Indices& at,
                                    uint32_t component, int64_t axis,
                                    const Dim& size) {
  const Result value = ValueAt(graph_.operand(of.node, 1), at);
  if (!value.has_value()) return std::nullopt;
  std::vector<Dim> dims = graph_.shape(graph_.operand(of.node, 1)).dims();
  if (of.vector_dim < static_cast<int64_t>(dims.size())) {
    dims.erase(dims.begin() + of.vector_dim);
  }
  IndexCheck check{.op = graph_.op(of.node),
                   .component = component,
                   .axis = static_cast<uint32_t>(axis)};
  for (const NodeId node : nodes_) {
    if (node == of.node) break;
    check.node += MayFail(graph_.op(node), graph_.attributes(node)) ? 1 : 0;
  }
  check.extent =
      graph_.shape(graph_.operand(of.node, 0))[static_cast<int>(axis)];
  check.count = check.extent - size + 1;
  check.position = Linear(of.batch, dims);
  Expr expr{.kind = Expr::Kind::kChecked, .dtype = DType::kI64};
  expr.operands[0] = Cast(DType::kI64, *value);
  expr.number = static_cast<uint32_t>(region_.checks.size());
  region_.checks.push_back(std::move(check));
  return AddExpr(&region_, std::move(expr));
}

Tracer::Result Tracer::DynamicSlice(NodeId node, const Indices& indices) {
  const ValueId operand = graph_.operand(node, 0);
  Indices from;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Dim limit = graph_.shape(operand)[d] -
                      graph_.attrs<DynamicSliceAttrs>(node).sizes[d];
    if (limit == Dim(0)) {
      from.push_back(indices[d]);
      continue;
    }
    const Result start = Start(graph_.operand(node, 1),
                               {Plus({}, static_cast<int64_t>(d))}, limit);
    if (!start.has_value()) return std::nullopt;
    from.push_back(AddIndirect(indices[d], *start));
  }
  return ValueAt(operand, from);
}

Tracer::Result Tracer::DynamicUpdateSlice(NodeId node, const Indices& indices) {
  const ValueId update = graph_.operand(node, 1);
  Indices from;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Dim limit =
        graph_.shape(graph_.operand(node, 0))[d] - graph_.shape(update)[d];
    if (limit == Dim(0)) {
      from.push_back(indices[d]);
      continue;
    }
    const Result start = Start(graph_.operand(node, 2),
                               {Plus({}, static_cast<int64_t>(d))}, limit);
    if (!start.has_value()) return std::nullopt;
    from.push_back(
        AddIndirect(indices[d], OfOp(Op::kNeg, DType::kI64, {*start})));
  }
  const Result old = ValueAt(graph_.operand(node, 0), indices);
  if (!old.has_value()) return std::nullopt;
  return ValueAtOr(update, from, *old);
}

Tracer::Result Tracer::Pad(NodeId node, const Indices& indices) {
  const PadAttrs& attrs = graph_.attrs<PadAttrs>(node);
  const Result fill = ValueAt(graph_.operand(node, 1), {});
  if (!fill.has_value()) return std::nullopt;
  Indices from;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].divisor != 1) return std::nullopt;
    Index index = Plus(indices[d], Dim(0) - attrs.low[d]);
    index.divisor = attrs.interior[d] + 1;
    from.push_back(std::move(index));
  }
  return ValueAtOr(graph_.operand(node, 0), from, *fill);
}

// Operand by operand, the last first: each where it is, else the next.
Tracer::Result Tracer::Concat(NodeId node, const Indices& indices) {
  const int64_t axis = graph_.attrs<AxisAttrs>(node).axis;
  Dim end = graph_.shape(graph_.result(node))[axis];
  Result value;
  for (size_t i = graph_.operands(node).size(); i-- > 0;) {
    const ValueId operand = graph_.operand(node, static_cast<int>(i));
    end = end - graph_.shape(operand)[axis];
    Indices from = indices;
    from[axis] = Plus(from[axis], Dim(0) - end);
    if (!value.has_value()) {
      const ExprId zero = Constant(graph_.dtype(operand), 0);
      value = ValueAtOr(operand, from, zero);
    } else {
      value = ValueAtOr(operand, from, *value);
    }
    if (!value.has_value()) return std::nullopt;
  }
  return value;
}

Tracer::Result Tracer::Gather(NodeId node, const Indices& indices) {
  const GatherAttrs& attrs = graph_.attrs<GatherAttrs>(node);
  const ValueId operand = graph_.operand(node, 0);
  const ValueId starts = graph_.operand(node, 1);
  Indices batch, offsets;
  for (size_t d = 0; d < indices.size(); ++d) {
    (Contains(attrs.offset_dims, static_cast<int64_t>(d)) ? offsets : batch)
        .push_back(indices[d]);
  }
  const int rank = graph_.shape(operand).rank();
  Indices from(rank);
  for (int d = 0, next = 0; d < rank; ++d) {
    if (Contains(attrs.collapsed_slice_dims, d) ||
        Contains(attrs.operand_batching_dims, d)) {
      continue;
    }
    from[d] = offsets[next++];
  }
  for (size_t i = 0; i < attrs.operand_batching_dims.size(); ++i) {
    const int64_t dim = attrs.start_indices_batching_dims[i];
    from[attrs.operand_batching_dims[i]] =
        batch[dim - (attrs.index_vector_dim < dim ? 1 : 0)];
  }
  const bool checks = attrs.out_of_range == OutOfRange::kError;
  bool may_be_empty = false;
  const bool has_vector = attrs.index_vector_dim < graph_.shape(starts).rank();
  for (size_t i = 0; i < attrs.start_index_map.size(); ++i) {
    const int64_t d = attrs.start_index_map[i];
    Indices at = batch;
    if (has_vector) {
      at.insert(at.begin() + attrs.index_vector_dim,
                Plus({}, static_cast<int64_t>(i)));
    }
    const Result start =
        checks ? CheckedStart({node, batch, attrs.index_vector_dim}, at,
                              static_cast<uint32_t>(i), d, attrs.slice_sizes[d])
               : Start(starts, at,
                       graph_.shape(operand)[d] - attrs.slice_sizes[d]);
    if (!start.has_value()) return std::nullopt;
    from[d] = AddIndirect(from[d], *start);
    may_be_empty |= checks && !graph_.shape(operand)[d].is_constant();
  }
  // Without elements there is none to read in place of one out of range.
  return may_be_empty
             ? ValueAtOr(operand, from, Constant(graph_.dtype(operand), 0))
             : ValueAt(operand, from);
}

bool Tracer::TraceCopy(ValueId result, ValueId operand) {
  region_.outputs.push_back(
      {graph_.dtype(operand), graph_.shape(operand).dims(), {}});
  const Indices all = RootIndices(result);
  const Result old = ValueAt(operand, all);
  if (!old.has_value()) return false;
  Stage copy;
  for (uint32_t v = 0; v < region_.extents.size(); ++v) copy.loops.push_back(v);
  copy.stores.push_back({.output = 0, .value = *old, .indices = all});
  region_.stages.push_back(std::move(copy));
  return true;
}

// Loops over the updates of a scatter, and where they stand in them.
Indices Tracer::LoopOverUpdates(NodeId node, Stage* write) {
  const Shape& shape = graph_.shape(graph_.operand(node, 2));
  Indices at(shape.rank());
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == Dim(1)) continue;
    write->loops.push_back(NewVariable(shape[d], {2 * node.value() + 1, d}, 0));
    at[d] = VariableIndex(write->loops.back());
  }
  return at;
}

bool Tracer::TraceScatter(NodeId node) {
  const ScatterAttrs& attrs = graph_.attrs<ScatterAttrs>(node);
  const ValueId operand = graph_.operand(node, 0);
  const ValueId starts = graph_.operand(node, 1);
  const ValueId updates = graph_.operand(node, 2);
  if (!TraceCopy(graph_.result(node), operand)) return false;
  Stage write;
  const Indices at = LoopOverUpdates(node, &write);
  Indices batch, window;
  const Shape& shape = graph_.shape(updates);
  for (int d = 0; d < shape.rank(); ++d) {
    (Contains(attrs.update_window_dims, d) ? window : batch).push_back(at[d]);
  }
  const int rank = graph_.shape(operand).rank();
  Indices to(rank);
  std::vector<Dim> sizes(rank, 1);
  for (int d = 0, next = 0; d < rank; ++d) {
    if (Contains(attrs.inserted_window_dims, d) ||
        Contains(attrs.operand_batching_dims, d)) {
      continue;
    }
    sizes[d] = shape[static_cast<int>(attrs.update_window_dims[next])];
    to[d] = window[next++];
  }
  for (size_t i = 0; i < attrs.operand_batching_dims.size(); ++i) {
    const int64_t dim = attrs.scatter_indices_batching_dims[i];
    to[attrs.operand_batching_dims[i]] =
        batch[dim - (attrs.index_vector_dim < dim ? 1 : 0)];
  }
  // What is checked stays within an operand that has elements.
  const bool checks = attrs.out_of_range == OutOfRange::kError;
  bool may_leave = false;
  const bool has_vector = attrs.index_vector_dim < graph_.shape(starts).rank();
  for (size_t i = 0; i < attrs.scatter_dims_to_operand_dims.size(); ++i) {
    const int64_t d = attrs.scatter_dims_to_operand_dims[i];
    Indices position = batch;
    if (has_vector) {
      position.insert(position.begin() + attrs.index_vector_dim,
                      Plus({}, static_cast<int64_t>(i)));
    }
    const Result start =
        checks ? CheckedStart({node, batch, attrs.index_vector_dim}, position,
                              static_cast<uint32_t>(i), d, sizes[d])
               : ValueAt(starts, position);
    if (!start.has_value()) return false;
    to[d] = AddIndirect(to[d], Cast(DType::kI64, *start));
    may_leave |= !checks || !graph_.shape(operand)[d].is_constant();
  }
  const Result value = ValueAt(updates, at);
  if (!value.has_value()) return false;
  write.stores.push_back({.output = 0,
                          .value = *value,
                          .indices = to,
                          .checked = may_leave,
                          .update = attrs.update});
  region_.stages.push_back(std::move(write));
  return true;
}

}  // namespace encore::backends
