#include <algorithm>
#include <optional>

#include "encore/ir/eval/copy.h"
#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/index_fault.h"

namespace encore::eval {
namespace {

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Steps `index` to the next one in row-major order.
void Step(std::span<const int64_t> dims, std::vector<int64_t>* index) {
  for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
    if (++(*index)[d] < dims[d]) return;
    (*index)[d] = 0;
  }
}

// The fields that gather and scatter share: a "window" index into the indexed
// operand, and a "batch" index into the tensor of index vectors.
struct IndexMap {
  const Ints& window_dims;
  const Ints& dropped;
  const Ints& operand_batching;
  const Ints& index_batching;
  const Ints& index_map;
  int64_t index_vector_dim;
};

class Indexer {
 public:
  Indexer(const IndexMap& map, std::span<const int64_t> operand_dims,
          const Literal& indices)
      : map_(map), rank_(operand_dims.size()), indices_(indices) {
    strides_ = RowMajorStrides(indices.dims());
    for (size_t i = 0; i < rank_; ++i) {
      if (!Contains(map.dropped, i) && !Contains(map.operand_batching, i)) {
        window_to_operand_.push_back(static_cast<int64_t>(i));
      }
    }
  }

  // For an index into the result (updates): where in the operand its slice
  // starts, and where in the slice it is. The result is which of the index
  // vectors says so.
  int64_t Locate(std::span<const int64_t> index, std::vector<int64_t>* start,
                 std::vector<int64_t>* offset) const {
    start->assign(rank_, 0);
    offset->assign(rank_, 0);
    int64_t at = 0, position = 0;
    size_t window = 0, batch = 0;
    std::vector<int64_t> batch_index(strides_.size());
    for (size_t i = 0; i < index.size(); ++i) {
      if (Contains(map_.window_dims, i)) {
        (*offset)[window_to_operand_[window++]] = index[i];
        continue;
      }
      if (static_cast<int64_t>(batch) == map_.index_vector_dim) ++batch;
      batch_index[batch] = index[i];
      position = position * indices_.dims()[batch] + index[i];
      at += index[i] * strides_[batch++];
    }
    const bool scalar =
        map_.index_vector_dim == static_cast<int64_t>(strides_.size());
    const int64_t step = scalar ? 0 : strides_[map_.index_vector_dim];
    for (size_t k = 0; k < map_.index_map.size(); ++k) {
      (*start)[map_.index_map[k]] = indices_.AsInt(at + k * step);
    }
    for (size_t k = 0; k < map_.operand_batching.size(); ++k) {
      (*start)[map_.operand_batching[k]] = batch_index[map_.index_batching[k]];
    }
    return position;
  }

  // Extents of a window by dim of the operand, of those of the result
  // (updates).
  std::vector<int64_t> WindowSizes(std::span<const int64_t> dims) const {
    std::vector<int64_t> sizes(rank_, 1);
    for (size_t i = 0; i < map_.window_dims.size(); ++i) {
      sizes[window_to_operand_[i]] = dims[map_.window_dims[i]];
    }
    return sizes;
  }

 private:
  const IndexMap map_;
  size_t rank_;
  const Literal& indices_;
  std::vector<int64_t> strides_, window_to_operand_;
};

// The first index, in the order of the index vectors, that makes a window of
// `sizes` leave an operand of `dims`.
class FirstFault {
 public:
  FirstFault(const Ints& index_map, std::span<const int64_t> dims,
             std::span<const int64_t> sizes)
      : index_map_(index_map), dims_(dims), sizes_(sizes) {}

  void Check(std::span<const int64_t> start, int64_t position) {
    if (fault_ && fault_->position <= position) return;
    for (const int64_t axis : index_map_) {
      const int64_t last = dims_[axis] - sizes_[axis];
      if (start[axis] >= 0 && start[axis] <= last) continue;
      fault_ = {axis, start[axis], position, last + 1, dims_[axis]};
      return;
    }
  }

  Status ToStatus(Op op) const {
    return fault_ ? IndexError(Mnemonic(op), *fault_) : OkStatus();
  }

 private:
  const Ints& index_map_;
  std::span<const int64_t> dims_, sizes_;
  std::optional<IndexFault> fault_;
};

}  // namespace

Results EvaluateGather(const EvalContext& context) {
  const GatherAttrs& attrs = context.attrs<GatherAttrs>();
  const std::vector<int64_t>& dims = context.dims();
  const Indexer indexer(
      {attrs.offset_dims, attrs.collapsed_slice_dims,
       attrs.operand_batching_dims, attrs.start_indices_batching_dims,
       attrs.start_index_map, attrs.index_vector_dim},
      dims, context.operand(1));
  const std::vector<int64_t> sizes = Shape(attrs.slice_sizes).ConstantDims();
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  Literal result = context.NewResult();
  std::vector<int64_t> index(result.rank()), start, offset;
  std::vector<int64_t> sources(result.element_count());
  FirstFault fault(attrs.start_index_map, dims, sizes);
  for (int64_t& source : sources) {
    const int64_t position = indexer.Locate(index, &start, &offset);
    if (attrs.out_of_range == OutOfRange::kError) fault.Check(start, position);
    source = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t first =
          std::clamp<int64_t>(start[i], 0, dims[i] - sizes[i]);
      source += (first + offset[i]) * strides[i];
    }
    Step(result.dims(), &index);
  }
  ENCORE_RETURN_IF_ERROR(fault.ToStatus(context.op));
  CopyFrom(sources, context.operand(0), &result);
  return Literals{std::move(result)};
}

Results EvaluateScatter(const EvalContext& context) {
  const ScatterAttrs& attrs = context.attrs<ScatterAttrs>();
  const std::vector<int64_t>& dims = context.dims();
  const Indexer indexer(
      {attrs.update_window_dims, attrs.inserted_window_dims,
       attrs.operand_batching_dims, attrs.scatter_indices_batching_dims,
       attrs.scatter_dims_to_operand_dims, attrs.index_vector_dim},
      dims, context.operand(1));
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  const Literal& updates = context.operand(2);
  std::vector<int64_t> index(updates.rank()), start, offset;
  // Where each update goes; -1: outside.
  std::vector<int64_t> targets(updates.element_count());
  const std::vector<int64_t> sizes = indexer.WindowSizes(updates.dims());
  FirstFault fault(attrs.scatter_dims_to_operand_dims, dims, sizes);
  for (int64_t& target : targets) {
    const int64_t position = indexer.Locate(index, &start, &offset);
    if (attrs.out_of_range == OutOfRange::kError) fault.Check(start, position);
    target = 0;
    for (size_t i = 0; i < dims.size() && target >= 0; ++i) {
      int64_t at;
      const bool overflow = __builtin_add_overflow(start[i], offset[i], &at);
      const bool inside = !overflow && at >= 0 && at < dims[i];
      target = inside ? target + at * strides[i] : -1;
    }
    Step(updates.dims(), &index);
  }
  ENCORE_RETURN_IF_ERROR(fault.ToStatus(context.op));
  if (attrs.update == Update::kSet) {
    Literal result = context.NewResult();
    Copy({dims, strides, strides, 0, 0}, context.operand(0), &result);
    CopyTo(targets, updates, &result);
    return Literals{std::move(result)};
  }
  constexpr Combiner kCombiners[] = {Combiner::kSum, Combiner::kSum,
                                     Combiner::kProduct, Combiner::kMax,
                                     Combiner::kMin};
  const Combiner combiner = kCombiners[static_cast<int>(attrs.update)];
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    using W = decltype(wide);
    std::vector<W> values = DecodeAll<W>(context.operand(0));
    const std::vector<W> changes = DecodeAll<W>(updates);
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] < 0) continue;
      values[targets[i]] = Combine(combiner, values[targets[i]], changes[i]);
    }
    return Literals{EncodeAll(context.dtype(), dims, values)};
  });
}

}  // namespace encore::eval
