#include "encore/opt/tensor/functions/gather_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
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

constexpr AttributeFunction kFunctions[] = {
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
