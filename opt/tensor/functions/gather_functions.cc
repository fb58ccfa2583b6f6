#include "encore/opt/tensor/functions/gather_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

// A gather of whole slices along one axis, at indices that are scalars: the
// result has the dims of the indices, and those of the operand but `axis`.
struct SliceGather {
  int64_t axis = 0;
  std::vector<int64_t> operand_dims = {};  // places in the result, by axis; -1
  std::vector<int64_t> index_dims = {};    // likewise
};

std::optional<SliceGather> AsSliceGather(const GatherAttrs* g, const Shape& x,
                                         int index_rank) {
  if (g == nullptr || g->start_index_map.size() != 1 ||
      g->collapsed_slice_dims != g->start_index_map ||
      !g->operand_batching_dims.empty() || g->index_vector_dim != index_rank ||
      g->slice_sizes.size() != static_cast<size_t>(x.rank()) ||
      !AreAxes(g->start_index_map, g->slice_sizes.size()) ||
      g->offset_dims.size() + 1 != g->slice_sizes.size()) {
    return std::nullopt;
  }
  const size_t rank = g->offset_dims.size() + static_cast<size_t>(index_rank);
  if (!AreAxes(g->offset_dims, rank)) return std::nullopt;
  SliceGather gather{.axis = g->start_index_map[0]};
  auto offset = g->offset_dims.begin();
  for (int i = 0; i < x.rank(); ++i) {
    if (i == gather.axis) {
      gather.operand_dims.push_back(-1);
      continue;
    }
    if (!(g->slice_sizes[i] == x[i])) return std::nullopt;
    gather.operand_dims.push_back(*offset++);
  }
  for (size_t at = 0; at < rank; ++at) {
    const auto place = static_cast<int64_t>(at);
    if (std::ranges::find(g->offset_dims, place) == g->offset_dims.end()) {
      gather.index_dims.push_back(place);
    }
  }
  if (gather.index_dims.size() != static_cast<size_t>(index_rank)) {
    return std::nullopt;
  }
  return gather;
}

// gather(broadcast(x) {b}, i) {g}, of b, g, i and the result, along a dim that
// x has not: the broadcast of x.
bool GatherOfRepeated(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  if (b == nullptr) return false;
  const auto gather = AsSliceGather(call.attrs<GatherAttrs>(1), Shape(b->shape),
                                    call.shape(2).rank());
  if (!gather || !AreAxes(b->axes, gather->operand_dims.size())) return false;
  BroadcastAttrs after{.shape = call.shape(3).dims()};
  for (const int64_t axis : b->axes) {
    if (axis == gather->axis) return false;
    after.axes.push_back(gather->operand_dims[axis]);
  }
  results[0] = after;
  return std::ranges::is_sorted(after.axes);
}

// gather(gather(x, i) {g}, j) {h}, of g, h, x, i, j, the second along a dim of
// i: the gather of i, and that of x.
bool GatherOfIndices(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const g = call.attrs<GatherAttrs>(0);
  const auto* const h = call.attrs<GatherAttrs>(1);
  const Shape& i = call.shape(3);
  const int j_rank = call.shape(4).rank();
  const auto inner = AsSliceGather(g, call.shape(2), i.rank());
  if (!inner) return false;
  std::vector<Dim> between(g->offset_dims.size() + i.rank());
  for (size_t k = 0; k < inner->operand_dims.size(); ++k) {
    if (inner->operand_dims[k] < 0) continue;
    between[inner->operand_dims[k]] = call.shape(2)[static_cast<int>(k)];
  }
  for (size_t k = 0; k < inner->index_dims.size(); ++k) {
    between[inner->index_dims[k]] = i[static_cast<int>(k)];
  }
  const auto outer = AsSliceGather(h, Shape(between), j_rank);
  if (!outer) return false;
  const auto at = std::ranges::find(inner->index_dims, outer->axis);
  if (at == inner->index_dims.end()) return false;
  const int64_t taken = at - inner->index_dims.begin();  // of i

  GatherAttrs of_i{.collapsed_slice_dims = {taken},
                   .start_index_map = {taken},
                   .index_vector_dim = j_rank,
                   .slice_sizes = i.dims()};
  of_i.slice_sizes[taken] = 1;
  Ints order;  // places in the result of the dims of gathered indices
  for (int k = 0; k < i.rank(); ++k) {
    if (k == taken) {
      order.insert(order.end(), outer->index_dims.begin(),
                   outer->index_dims.end());
    } else {
      of_i.offset_dims.push_back(k < taken ? k : k - 1 + j_rank);
      order.push_back(outer->operand_dims[inner->index_dims[k]]);
    }
  }
  GatherAttrs of_x = *g;
  of_x.index_vector_dim = i.rank() - 1 + j_rank;
  of_x.offset_dims.clear();
  for (const int64_t place : inner->operand_dims) {
    if (place >= 0) of_x.offset_dims.push_back(outer->operand_dims[place]);
  }
  if (!std::ranges::is_sorted(order) ||
      !std::ranges::is_sorted(of_x.offset_dims)) {
    return false;
  }
  results[0] = of_i;
  results[1] = of_x;
  return true;
}

// --- Any gather, of what stands beside what it looks at.

bool Has(const Ints& axes, int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// Of a tensor of so many dims.
bool HasRank(const GatherAttrs* g, size_t rank) {
  return g != nullptr && g->slice_sizes.size() == rank &&
         AreAxes(g->collapsed_slice_dims, rank) &&
         AreAxes(g->operand_batching_dims, rank) &&
         AreAxes(g->start_index_map, rank) &&
         g->start_indices_batching_dims.size() ==
             g->operand_batching_dims.size() &&
         g->offset_dims.size() + g->collapsed_slice_dims.size() +
                 g->operand_batching_dims.size() ==
             rank;
}

// The axes of the operand that the dims `offset_dims` of the result are.
Ints KeptAxes(const GatherAttrs& g) {
  Ints axes;
  for (int64_t axis = 0; axis < std::ssize(g.slice_sizes); ++axis) {
    if (!Has(g.collapsed_slice_dims, axis) &&
        !Has(g.operand_batching_dims, axis)) {
      axes.push_back(axis);
    }
  }
  return axes;
}

// The gather where axis i is axis axes[i] of an operand of these slice sizes;
// its offset_dims are still those of g.
GatherAttrs OnAxes(const GatherAttrs& g, const Ints& axes,
                   std::vector<Dim> slice_sizes) {
  GatherAttrs made = g;
  made.slice_sizes = std::move(slice_sizes);
  for (size_t i = 0; i < axes.size(); ++i) {
    made.slice_sizes[axes[i]] = g.slice_sizes[i];
  }
  for (int64_t& axis : made.start_index_map) axis = axes[axis];
  for (int64_t& axis : made.collapsed_slice_dims) axis = axes[axis];
  std::ranges::sort(made.collapsed_slice_dims);
  std::vector<std::pair<int64_t, int64_t>> batching;
  for (size_t i = 0; i < g.operand_batching_dims.size(); ++i) {
    batching.emplace_back(axes[g.operand_batching_dims[i]],
                          g.start_indices_batching_dims[i]);
  }
  std::ranges::sort(batching);
  for (size_t i = 0; i < batching.size(); ++i) {
    made.operand_batching_dims[i] = batching[i].first;
    made.start_indices_batching_dims[i] = batching[i].second;
  }
  return made;
}

// gather(reduce(x) {r}, i) {g}, of r, g, x and the result: the gather of x,
// which keeps what is reduced whole, and the reduction behind it.
bool GatherBeforeReduction(const FunctionCall& call,
                           std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const g = call.attrs<GatherAttrs>(1);
  const Shape& x = call.shape(2);
  const int rank = call.shape(3).rank();
  if (r == nullptr || !AreAxes(r->axes, static_cast<size_t>(x.rank())) ||
      !HasRank(g, static_cast<size_t>(x.rank()) - r->axes.size()) ||
      !AreAxes(g->offset_dims, static_cast<size_t>(rank))) {
    return false;
  }
  Ints left;  // of the axes of x
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (!Has(r->axes, axis)) left.push_back(axis);
  }
  GatherAttrs before = OnAxes(*g, left, x.dims());
  before.offset_dims.clear();
  ReduceAttrs after{.combiner = r->combiner};
  const Ints kept = KeptAxes(*g);
  int64_t at = 0, axis = 0;  // of the gather of x, and of x
  // What is reduced stands before the next axis that is kept.
  const auto put_reduced_before = [&](int64_t end) {
    for (; axis < end; ++axis) {
      if (!Has(r->axes, axis)) continue;
      after.axes.push_back(at);
      before.offset_dims.push_back(at++);
    }
  };
  for (int64_t place = 0; place < rank; ++place, ++at) {
    const auto it = std::ranges::find(g->offset_dims, place);
    if (it == g->offset_dims.end()) continue;
    put_reduced_before(left[kept[it - g->offset_dims.begin()]]);
    before.offset_dims.push_back(at);
  }
  put_reduced_before(x.rank());
  results[0] = std::move(before);
  results[1] = std::move(after);
  return true;
}

// gather(transpose(x) {p}, i) {g}, of p, g and the result: the gather of x, and
// the transpose behind it.
bool GatherBeforeTranspose(const FunctionCall& call,
                           std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const g = call.attrs<GatherAttrs>(1);
  const int rank = call.shape(2).rank();
  if (p == nullptr || !HasRank(g, p->permutation.size()) ||
      !AreAxes(p->permutation, p->permutation.size()) ||
      !AreAxes(g->offset_dims, static_cast<size_t>(rank))) {
    return false;
  }
  GatherAttrs before = OnAxes(*g, p->permutation, g->slice_sizes);
  const Ints kept = KeptAxes(*g), kept_before = KeptAxes(before);
  TransposeAttrs after{.permutation = Ints(static_cast<size_t>(rank))};
  std::iota(after.permutation.begin(), after.permutation.end(), 0);
  for (size_t k = 0; k < kept.size(); ++k) {
    const auto it = std::ranges::find(kept_before, p->permutation[kept[k]]);
    after.permutation[g->offset_dims[k]] =
        g->offset_dims[it - kept_before.begin()];
  }
  results[0] = std::move(before);
  results[1] = std::move(after);
  return true;
}

// gather(concat(x, y) {c}, i) {g}, of c, g, x, y, along other axes than c's:
// the gathers of x and y, and the concat behind them.
bool GatherBeforeConcat(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const g = call.attrs<GatherAttrs>(1);
  const Shape &x = call.shape(2), &y = call.shape(3);
  const auto rank = static_cast<size_t>(x.rank());
  if (c == nullptr || y.rank() != x.rank() || !HasRank(g, rank) ||
      !AreAxes({&c->axis, 1}, rank) || Has(g->start_index_map, c->axis)) {
    return false;
  }
  const auto axis = static_cast<int>(c->axis);
  const Ints kept = KeptAxes(*g);
  const auto at = std::ranges::find(kept, c->axis);
  if (at == kept.end() || !(g->slice_sizes[axis] == x[axis] + y[axis])) {
    return false;
  }
  GatherAttrs of_x = *g, of_y = *g;
  of_x.slice_sizes[axis] = x[axis];
  of_y.slice_sizes[axis] = y[axis];
  results[0] = std::move(of_x);
  results[1] = std::move(of_y);
  results[2] = AxisAttrs{.axis = g->offset_dims[at - kept.begin()]};
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"gather_before_reduction", "aatt", 2,
     "Of a reduction, the gather of it, what is reduced and the result: the "
     "gather of that, and the reduction behind it.",
     GatherBeforeReduction},
    {"gather_before_transpose", "aat", 2,
     "Of a transpose, the gather of it and the result: the gather before, and "
     "the transpose behind that.",
     GatherBeforeTranspose},
    {"gather_before_concat", "aatt", 3,
     "Of a concat of the tensors, and a gather that takes its axis whole: the "
     "gathers of both, and the concat behind them.",
     GatherBeforeConcat},
    {"gather_of_repeated", "aatt", 1,
     "Of a broadcast, and the gather along a dim that it repeats, at the first "
     "tensor: the broadcast to the second.",
     GatherOfRepeated},
    {"gather_of_indices", "aattt", 2,
     "Of a gather and one of slices that its indices say: the gather of the "
     "indices, and that of the first tensor.",
     GatherOfIndices},
};

}  // namespace

std::span<const AttributeFunction> GatherFunctions() { return kFunctions; }

}  // namespace encore::opt
