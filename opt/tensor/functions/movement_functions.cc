#include "encore/opt/tensor/functions/movement_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

bool NeverNegative(const FunctionCall& call, const Dim& dim) {
  return dim.valid() && dim.LowerBound(call.symbols) >= 0;
}

// transpose(transpose(x) {p}) {q}: the one that does both.
bool Compose(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const q = call.attrs<TransposeAttrs>(1);
  if (p == nullptr || q == nullptr ||
      !AreAxes(q->permutation, p->permutation.size())) {
    return false;
  }
  TransposeAttrs both;
  for (const int64_t axis : q->permutation) {
    both.permutation.push_back(p->permutation[axis]);
  }
  results[0] = both;
  return true;
}

// A scalar repeated to the shape of a tensor.
bool ScalarTo(const FunctionCall& call, std::span<Attributes> results) {
  results[0] = BroadcastAttrs{.shape = call.shape(0).dims()};
  return true;
}

// The first tensor in the shape of the second, which has as many elements.
bool ReshapeTo(const FunctionCall& call, std::span<Attributes> results) {
  const Dim count = call.shape(0).ElementCount();
  if (!count.valid() || !(count == call.shape(1).ElementCount())) return false;
  results[0] = ReshapeAttrs{.shape = call.shape(1).dims()};
  return true;
}

// broadcast(broadcast(x) {b}) {c}.
bool ComposeBroadcasts(const FunctionCall& call,
                       std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const c = call.attrs<BroadcastAttrs>(1);
  if (b == nullptr || c == nullptr || !AreAxes(b->axes, c->axes.size())) {
    return false;
  }
  BroadcastAttrs both{.shape = c->shape};
  for (const int64_t axis : b->axes) both.axes.push_back(c->axes[axis]);
  results[0] = both;
  return true;
}

// slice(slice(x) {s}) {t}. Only a first slice with strides of 1 has limits
// that need no division where sizes are symbols.
bool ComposeSlices(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const s = call.attrs<SliceAttrs>(0);
  const auto* const t = call.attrs<SliceAttrs>(1);
  if (s == nullptr || t == nullptr || s->starts.size() != t->starts.size()) {
    return false;
  }
  SliceAttrs both{.strides = t->strides};
  for (size_t i = 0; i < s->starts.size(); ++i) {
    if (s->strides[i] != 1) return false;
    both.starts.push_back(s->starts[i] + t->starts[i]);
    both.limits.push_back(s->starts[i] + t->limits[i]);
  }
  results[0] = both;
  return true;
}

// Of p and s, which are of one rank: axis by axis, a slice along dim `from` as
// one along dim `to`.
template <typename Move>
bool MoveSlice(const FunctionCall& call, std::span<Attributes> results,
               const Move& move) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (p == nullptr || s == nullptr ||
      p->permutation.size() != s->starts.size() ||
      !AreAxes(p->permutation, s->starts.size())) {
    return false;
  }
  SliceAttrs moved = *s;
  for (size_t i = 0; i < p->permutation.size(); ++i) {
    const auto [from, to] = move(static_cast<int64_t>(i), p->permutation[i]);
    moved.starts[to] = s->starts[from];
    moved.limits[to] = s->limits[from];
    moved.strides[to] = s->strides[from];
  }
  results[0] = moved;
  return true;
}

// slice(transpose(x) {p}) {s} = transpose(slice(x) {…}) {p}.
bool SliceBeforeTranspose(const FunctionCall& call,
                          std::span<Attributes> results) {
  return MoveSlice(call, results, [](int64_t after, int64_t before) {
    return std::pair(after, before);
  });
}

// transpose(slice(x) {s}) {p} = slice(transpose(x) {p}) {…}.
bool SliceAfterTranspose(const FunctionCall& call,
                         std::span<Attributes> results) {
  return MoveSlice(call, results, [](int64_t after, int64_t before) {
    return std::pair(before, after);
  });
}

// concat(transpose(a) {p}, transpose(b) {p}) {c}: the axis before.
bool AxisBeforeTranspose(const FunctionCall& call,
                         std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const c = call.attrs<AxisAttrs>(1);
  if (p == nullptr || c == nullptr ||
      !AreAxes({&c->axis, 1}, p->permutation.size())) {
    return false;
  }
  results[0] = AxisAttrs{.axis = p->permutation[c->axis]};
  return true;
}

// transpose(concat(a, b) {c}) {p}: the axis behind.
bool AxisAfterTranspose(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const c = call.attrs<AxisAttrs>(1);
  if (p == nullptr || c == nullptr) return false;
  const auto at = std::ranges::find(p->permutation, c->axis);
  if (at == p->permutation.end()) return false;
  results[0] = AxisAttrs{.axis = at - p->permutation.begin()};
  return true;
}

// reduce(transpose(x) {p}) {r} = transpose(reduce(x) {…}) {…}.
bool ReduceBeforeTranspose(const FunctionCall& call,
                           std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (p == nullptr || r == nullptr ||
      !AreAxes(r->axes, p->permutation.size())) {
    return false;
  }
  ReduceAttrs before{.combiner = r->combiner};
  for (const int64_t axis : r->axes) {
    before.axes.push_back(p->permutation[axis]);
  }
  std::ranges::sort(before.axes);
  Labels have, want;
  for (size_t i = 0; i < p->permutation.size(); ++i) {
    const auto here = static_cast<int64_t>(i);
    if (std::ranges::find(before.axes, here) == before.axes.end()) {
      have.push_back(static_cast<int>(here));
    }
    if (std::ranges::find(r->axes, here) == r->axes.end()) {
      want.push_back(static_cast<int>(p->permutation[i]));
    }
  }
  const auto order = Reorder(have, want);
  if (!order) return false;
  results[0] = before;
  results[1] = *order;
  return true;
}

// reduce(reduce(x) {r}) {q} with one combiner.
bool ComposeReductions(const FunctionCall& call,
                       std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const q = call.attrs<ReduceAttrs>(1);
  if (r == nullptr || q == nullptr || r->combiner != q->combiner) return false;
  ReduceAttrs both{.combiner = r->combiner, .axes = r->axes};
  int64_t at = 0;  // among the dims that r leaves
  for (int64_t axis = 0; axis < call.shape(2).rank(); ++axis) {
    if (std::ranges::find(r->axes, axis) != r->axes.end()) continue;
    if (std::ranges::find(q->axes, at++) != q->axes.end()) {
      both.axes.push_back(axis);
    }
  }
  std::ranges::sort(both.axes);
  results[0] = both;
  return true;
}

// Of c, s and the first operand of the concat: whether its axis is there.
bool HasAxis(const FunctionCall& call, const AxisAttrs& c,
             const SliceAttrs& s) {
  return AreAxes({&c.axis, 1}, s.starts.size()) &&
         AreAxes({&c.axis, 1}, static_cast<size_t>(call.shape(2).rank()));
}

// slice(concat(a, …) {c}) {s} that reads the first operand only.
bool SliceInFirst(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (c == nullptr || s == nullptr || !HasAxis(call, *c, *s)) return false;
  const Dim& extent = call.shape(2)[static_cast<int>(c->axis)];
  if (!NeverNegative(call, extent - s->limits[c->axis])) return false;
  results[0] = *s;
  return true;
}

// … that reads the second one only.
bool SliceInSecond(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (c == nullptr || s == nullptr || !HasAxis(call, *c, *s)) return false;
  const Dim& extent = call.shape(2)[static_cast<int>(c->axis)];
  if (!NeverNegative(call, s->starts[c->axis] - extent)) return false;
  SliceAttrs shifted = *s;
  shifted.starts[c->axis] = shifted.starts[c->axis] - extent;
  shifted.limits[c->axis] = shifted.limits[c->axis] - extent;
  results[0] = shifted;
  return true;
}

// slice(concat(x, y) {c}) {s}, of c, s, x, y, that reads both, without gaps
// along the axis: the slices of x and y.
bool SlicesOfBoth(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (c == nullptr || s == nullptr || !HasAxis(call, *c, *s) ||
      call.shape(3).rank() != call.shape(2).rank() ||
      s->strides[c->axis] != 1) {
    return false;
  }
  const Dim& first = call.shape(2)[static_cast<int>(c->axis)];
  if (!NeverNegative(call, first - s->starts[c->axis] - 1) ||
      !NeverNegative(call, s->limits[c->axis] - first - 1)) {
    return false;
  }
  SliceAttrs of_x = *s, of_y = *s;
  of_x.limits[c->axis] = first;
  of_y.starts[c->axis] = 0;
  of_y.limits[c->axis] = s->limits[c->axis] - first;
  results[0] = of_x;
  results[1] = of_y;
  return true;
}

// Of c, s, x, which is sliced, and what is concatenated with x whole: an
// unstrided slice of x along the concat's axis alone, as one of the whole. The
// slice leaves out of x what is at the beginning, as the first operand may, or
// what is at the end, as the second may.
bool SliceOfWhole(const FunctionCall& call, bool is_first,
                  std::span<Attributes> results) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (c == nullptr || s == nullptr || !HasAxis(call, *c, *s) ||
      s->starts.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  SliceAttrs after = *s;
  after.limits = call.shape(3).dims();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool begins = s->starts[axis] == Dim(0);
    const bool ends = s->limits[axis] == x[axis];
    const bool along = axis == c->axis;
    if (s->strides[axis] != 1 || (!begins && !(along && is_first)) ||
        (!ends && !(along && !is_first))) {
      return false;
    }
    if (along) {
      after.limits[axis] = after.limits[axis] - (x[axis] - s->limits[axis]);
    }
  }
  results[0] = after;
  return true;
}

bool SliceFromFirst(const FunctionCall& call, std::span<Attributes> results) {
  return SliceOfWhole(call, /*is_first=*/true, results);
}

bool SliceIntoSecond(const FunctionCall& call, std::span<Attributes> results) {
  return SliceOfWhole(call, /*is_first=*/false, results);
}

// concat(slice(x) {s}, slice(x) {t}) {c} where t begins where s ends.
bool JoinSlices(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const s = call.attrs<SliceAttrs>(0);
  const auto* const t = call.attrs<SliceAttrs>(1);
  const auto* const c = call.attrs<AxisAttrs>(2);
  if (s == nullptr || t == nullptr || c == nullptr ||
      s->starts.size() != t->starts.size() ||
      !AreAxes({&c->axis, 1}, s->starts.size())) {
    return false;
  }
  for (size_t i = 0; i < s->starts.size(); ++i) {
    if (s->strides[i] != t->strides[i]) return false;
    if (static_cast<int64_t>(i) == c->axis) {
      if (s->strides[i] != 1 || !(s->limits[i] == t->starts[i])) return false;
    } else if (!(s->starts[i] == t->starts[i]) ||
               !(s->limits[i] == t->limits[i])) {
      return false;
    }
  }
  SliceAttrs both = *s;
  both.limits[c->axis] = t->limits[c->axis];
  results[0] = both;
  return true;
}

// transpose(broadcast(x) {b}) {p} = broadcast(transpose(x) {…}) {…}.
bool TransposeBeforeBroadcast(const FunctionCall& call,
                              std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const p = call.attrs<TransposeAttrs>(1);
  if (b == nullptr || p == nullptr ||
      !AreAxes(p->permutation, b->shape.size())) {
    return false;
  }
  BroadcastAttrs after;
  TransposeAttrs before;
  for (size_t i = 0; i < p->permutation.size(); ++i) {
    after.shape.push_back(b->shape[p->permutation[i]]);
    const auto at = std::ranges::find(b->axes, p->permutation[i]);
    if (at == b->axes.end()) continue;
    after.axes.push_back(static_cast<int64_t>(i));
    before.permutation.push_back(at - b->axes.begin());
  }
  results[0] = before;
  results[1] = after;
  return true;
}

// broadcast(reshape(x) {r}) {b}, where the reshape only puts in dims of extent
// 1: the broadcast of x.
bool BroadcastWithoutOnes(const FunctionCall& call,
                          std::span<Attributes> results) {
  const auto* const r = call.attrs<ReshapeAttrs>(0);
  const auto* const b = call.attrs<BroadcastAttrs>(1);
  const Shape& x = call.shape(2);
  if (r == nullptr || b == nullptr || r->shape.size() != b->axes.size()) {
    return false;
  }
  BroadcastAttrs own{.shape = b->shape};
  for (size_t i = 0; i < r->shape.size(); ++i) {
    const int at = static_cast<int>(own.axes.size());
    if (at < x.rank() && r->shape[i] == x[at]) {
      own.axes.push_back(b->axes[i]);
    } else if (!(r->shape[i] == Dim(1))) {
      return false;
    }
  }
  results[0] = own;
  return own.axes.size() == static_cast<size_t>(x.rank());
}

// slice(reverse(x) {r}) {s}, of r, s, x: the slice of x.
bool SliceBeforeReverse(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto* const r = call.attrs<AxesAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (r == nullptr || s == nullptr ||
      s->starts.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  SliceAttrs before = *s;
  for (const int64_t axis : r->axes) {
    if (axis < 0 || axis >= x.rank() || s->strides[axis] != 1) return false;
    before.starts[axis] = x[static_cast<int>(axis)] - s->limits[axis];
    before.limits[axis] = x[static_cast<int>(axis)] - s->starts[axis];
  }
  results[0] = before;
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"compose", "aa", 1, "One transpose for two.", Compose},
    {"scalar_to", "t", 1, "A broadcast of a scalar to that shape.", ScalarTo},
    {"reshape_to", "tt", 1, "A reshape of the first to the second's shape.",
     ReshapeTo},
    {"compose_broadcasts", "aa", 1, "One broadcast for two.",
     ComposeBroadcasts},
    {"compose_slices", "aa", 1, "One slice for two, the first unstrided.",
     ComposeSlices},
    {"slice_before_transpose", "aa", 1, "Of a transpose and the slice of it.",
     SliceBeforeTranspose},
    {"slice_after_transpose", "aa", 1,
     "Of a transpose and the slice of what is transposed: the slice behind it.",
     SliceAfterTranspose},
    {"axis_before_transpose", "aa", 1, "A concat's axis under a transpose.",
     AxisBeforeTranspose},
    {"axis_after_transpose", "aa", 1, "… behind the transpose.",
     AxisAfterTranspose},
    {"reduce_before_transpose", "aa", 2,
     "The reduction, and the transpose of what it leaves.",
     ReduceBeforeTranspose},
    {"compose_reductions", "aat", 1,
     "One reduction for two; the tensor is what the first reduces.",
     ComposeReductions},
    {"slice_in_first", "aat", 1,
     "A slice of a concat that lies in its first operand, the tensor.",
     SliceInFirst},
    {"slice_in_second", "aat", 1,
     "… that lies behind the first operand, the tensor.", SliceInSecond},
    {"slices_of_both", "aatt", 2,
     "A slice of a concat that reads both tensors as slices of these.",
     SlicesOfBoth},
    {"slice_from_first", "aatt", 1,
     "Of a concat whose first operand is sliced, the slice, that operand, and "
     "the whole: its slice.",
     SliceFromFirst},
    {"slice_into_second", "aatt", 1, "… whose second operand is sliced.",
     SliceIntoSecond},
    {"join_slices", "aaa", 1, "Two slices side by side as one.", JoinSlices},
    {"transpose_before_broadcast", "aa", 2,
     "The transpose of what is broadcast, and the broadcast.",
     TransposeBeforeBroadcast},
    {"broadcast_without_ones", "aat", 1,
     "Of a reshape that puts in dims of extent 1, and its broadcast: one "
     "broadcast of the tensor.",
     BroadcastWithoutOnes},
    {"slice_before_reverse", "aat", 1,
     "Of a reverse, the unstrided slice of it, and what is reversed: that "
     "one's slice.",
     SliceBeforeReverse},
};

}  // namespace

std::span<const AttributeFunction> MovementFunctions() { return kFunctions; }

}  // namespace encore::opt
