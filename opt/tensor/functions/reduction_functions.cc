#include "encore/opt/tensor/functions/reduction_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

bool Reduces(const ReduceAttrs& reduce, int64_t axis) {
  return std::ranges::find(reduce.axes, axis) != reduce.axes.end();
}

// The axis of the result that is `axis` of the operand, which stays.
int64_t AxisAfter(const ReduceAttrs& reduce, int64_t axis) {
  return axis - std::ranges::count_if(reduce.axes, [&](int64_t reduced) {
           return reduced < axis;
         });
}

// Axes of that tensor.
bool AreAxes(const Ints& axes, int rank) {
  return std::ranges::all_of(
      axes, [&](int64_t axis) { return axis >= 0 && axis < rank; });
}

// reduce(concat(…) {c}) {r}: along the dim that is put together.
bool ReducesAxis(const FunctionCall& call, std::span<Attributes>) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  return c != nullptr && r != nullptr && Reduces(*r, c->axis);
}

// … along others.
bool AxisAfterReduction(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto* const c = call.attrs<AxisAttrs>(0);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (c == nullptr || r == nullptr || Reduces(*r, c->axis)) return false;
  results[0] = AxisAttrs{.axis = AxisAfter(*r, c->axis)};
  return true;
}

// reduce(x) {r}, of r, x: each result is of an element at least.
bool OfSome(const FunctionCall& call, std::span<Attributes>) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const Shape& x = call.shape(1);
  if (r == nullptr || !AreAxes(r->axes, x.rank())) return false;
  return std::ranges::all_of(r->axes, [&](int64_t axis) {
    const Dim& extent = x[static_cast<int>(axis)];
    return extent.valid() && extent.LowerBound(call.symbols) >= 1;
  });
}

// broadcast(x) {b} and broadcast(y) {c} with one shape, one after the other
// along a dim that both have, of b, c, a, x and the result: the axis of x, and
// the broadcast of both.
bool ConcatBeforeBroadcast(const FunctionCall& call,
                           std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const c = call.attrs<BroadcastAttrs>(1);
  const auto* const a = call.attrs<AxisAttrs>(2);
  if (b == nullptr || c == nullptr || a == nullptr || b->axes != c->axes) {
    return false;
  }
  const Shape& x = call.shape(3);
  const Shape& y = call.shape(4);
  const auto at = std::ranges::find(b->axes, a->axis);
  if (at == b->axes.end() || x.rank() != y.rank() ||
      b->axes.size() != static_cast<size_t>(x.rank()) ||
      !AreAxes(b->axes,
               static_cast<int>(std::min(b->shape.size(), c->shape.size())))) {
    return false;
  }
  const auto axis = at - b->axes.begin();
  for (int i = 0; i < x.rank(); ++i) {
    const Dim& repeated = b->shape[b->axes[i]];
    if (i != axis && !(x[i] == y[i])) return false;
    if (i == axis && (!(x[i] == repeated) || !(y[i] == c->shape[b->axes[i]]))) {
      return false;
    }
  }
  results[0] = AxisAttrs{.axis = axis};
  results[1] = BroadcastAttrs{.shape = call.shape(5).dims(), .axes = b->axes};
  return true;
}

// broadcast(x) {b} and broadcast(x) {c}, one after the other along a dim that x
// has not, of b, c, a and the result: the broadcast.
bool BroadcastToBoth(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const c = call.attrs<BroadcastAttrs>(1);
  const auto* const a = call.attrs<AxisAttrs>(2);
  if (b == nullptr || c == nullptr || a == nullptr || b->axes != c->axes ||
      std::ranges::find(b->axes, a->axis) != b->axes.end()) {
    return false;
  }
  results[0] = BroadcastAttrs{.shape = call.shape(3).dims(), .axes = b->axes};
  return true;
}

// f(transpose(x) {p}, broadcast(v) {b}), of b, p: the transpose of v, and the
// broadcast that stands beside x.
bool BroadcastBeforeTranspose(const FunctionCall& call,
                              std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const p = call.attrs<TransposeAttrs>(1);
  if (b == nullptr || p == nullptr ||
      p->permutation.size() != b->shape.size() ||
      !AreAxes(p->permutation, static_cast<int>(b->shape.size())) ||
      !AreAxes(b->axes, static_cast<int>(b->shape.size()))) {
    return false;
  }
  std::vector<std::pair<int64_t, int64_t>> places;  // beside x, and in v
  for (size_t i = 0; i < b->axes.size(); ++i) {
    places.emplace_back(p->permutation[b->axes[i]], static_cast<int64_t>(i));
  }
  std::ranges::sort(places);
  TransposeAttrs of_v;
  BroadcastAttrs before{.shape = b->shape};
  for (size_t i = 0; i < b->shape.size(); ++i) {
    before.shape[p->permutation[i]] = b->shape[i];
  }
  for (const auto& [place, in_v] : places) {
    before.axes.push_back(place);
    of_v.permutation.push_back(in_v);
  }
  results[0] = std::move(of_v);
  results[1] = std::move(before);
  return true;
}

// slice(reduce(x) {r}) {s}, of r, s, x: the slice of x.
bool SliceBeforeReduction(const FunctionCall& call,
                          std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (r == nullptr || s == nullptr || !AreAxes(r->axes, x.rank()) ||
      s->starts.size() + r->axes.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  SliceAttrs before;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = Reduces(*r, axis);
    const int64_t at = reduced ? 0 : AxisAfter(*r, axis);
    before.starts.push_back(reduced ? Dim(0) : s->starts[at]);
    before.limits.push_back(reduced ? x[axis] : s->limits[at]);
    before.strides.push_back(reduced ? 1 : s->strides[at]);
  }
  results[0] = before;
  return true;
}

// reduce(slice(x) {s}) {r}, of r, s, x: the slice of reduce(x) {r}, where all
// that is reduced is in the slice.
bool SliceAfterReduction(const FunctionCall& call,
                         std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (r == nullptr || s == nullptr || !AreAxes(r->axes, x.rank()) ||
      s->starts.size() != static_cast<size_t>(x.rank())) {
    return false;
  }
  SliceAttrs after;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (Reduces(*r, axis)) {
      if (!(s->starts[axis] == Dim(0)) || !(s->limits[axis] == x[axis]) ||
          s->strides[axis] != 1) {
        return false;
      }
      continue;
    }
    after.starts.push_back(s->starts[axis]);
    after.limits.push_back(s->limits[axis]);
    after.strides.push_back(s->strides[axis]);
  }
  results[0] = after;
  return true;
}

// reduce(x) {q} = reduce(reduce(x) {r}) {…}, of r, q, x.
bool RestOfReduction(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const q = call.attrs<ReduceAttrs>(1);
  const int rank = call.shape(2).rank();
  if (r == nullptr || q == nullptr || r->combiner != q->combiner ||
      !AreAxes(r->axes, rank) || !AreAxes(q->axes, rank) || r->axes.empty() ||
      !std::ranges::all_of(r->axes,
                           [&](int64_t axis) { return Reduces(*q, axis); })) {
    return false;
  }
  ReduceAttrs rest{.combiner = r->combiner, .axes = {}};
  for (const int64_t axis : q->axes) {
    if (!Reduces(*r, axis)) rest.axes.push_back(AxisAfter(*r, axis));
  }
  if (rest.axes.empty()) return false;
  results[0] = rest;
  return true;
}

// slice(broadcast(x) {b}) {s}, of b, s, x and the result: the slice of x, and
// its broadcast.
bool SliceBeforeBroadcast(const FunctionCall& call,
                          std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (b == nullptr || s == nullptr ||
      b->axes.size() != static_cast<size_t>(x.rank()) ||
      b->shape.size() != s->starts.size() ||
      !AreAxes(b->axes, static_cast<int>(b->shape.size()))) {
    return false;
  }
  SliceAttrs before;
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t axis = b->axes[i];
    // A dim of extent 1 that is repeated stays as it is.
    const bool repeated = !(x[i] == b->shape[axis]);
    if (repeated && !(x[i] == Dim(1))) return false;
    before.starts.push_back(repeated ? Dim(0) : s->starts[axis]);
    before.limits.push_back(repeated ? Dim(1) : s->limits[axis]);
    before.strides.push_back(repeated ? 1 : s->strides[axis]);
  }
  results[0] = before;
  results[1] = BroadcastAttrs{.shape = call.shape(3).dims(), .axes = b->axes};
  return true;
}

// reduce(x∘broadcast(v) {b}) {r}, of r, b and the result, where v is the same
// along all that is reduced: the broadcast of v to the result.
bool FactorAfterReduction(const FunctionCall& call,
                          std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const b = call.attrs<BroadcastAttrs>(1);
  if (r == nullptr || b == nullptr) return false;
  BroadcastAttrs after{.shape = call.shape(2).dims()};
  for (const int64_t axis : b->axes) {
    if (Reduces(*r, axis)) return false;
    after.axes.push_back(AxisAfter(*r, axis));
  }
  results[0] = after;
  return true;
}

// reduce(broadcast(x) {b}) {r} as broadcast(reduce(x) {inner}) {outer}.
struct PartsOfReduction {
  ReduceAttrs inner;
  BroadcastAttrs outer;
  std::vector<Dim> shape = {};  // of what is reduced
  int64_t repeats = 1;          // of each of its elements
  bool any_repeated = false;    // along what is reduced
};

// Nothing where an element comes an unknown number of times, or never.
std::optional<PartsOfReduction> PartReduction(const BroadcastAttrs* b,
                                              const ReduceAttrs* r,
                                              const Shape& x, const Shape& y) {
  if (b == nullptr || r == nullptr ||
      b->axes.size() != static_cast<size_t>(x.rank())) {
    return std::nullopt;
  }
  const int rank = static_cast<int>(b->shape.size());
  if (!AreAxes(b->axes, rank) || !AreAxes(r->axes, rank)) return std::nullopt;
  PartsOfReduction parts{.inner = {.combiner = r->combiner},
                         .outer = {.shape = y.dims()}};
  std::vector<bool> repeated(b->shape.size(), true);
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t axis = b->axes[i];
    repeated[axis] = !(x[i] == b->shape[axis]);
    if (repeated[axis] && !(x[i] == Dim(1))) return std::nullopt;
    if (Reduces(*r, axis)) {
      parts.inner.axes.push_back(i);
    } else {
      parts.outer.axes.push_back(AxisAfter(*r, axis));
      parts.shape.push_back(x[i]);
    }
  }
  for (const int64_t axis : r->axes) {
    if (!repeated[axis]) continue;
    parts.any_repeated = true;
    const Dim& extent = b->shape[axis];
    if (!extent.is_constant() || extent.constant() < 1 ||
        __builtin_mul_overflow(parts.repeats, extent.constant(),
                               &parts.repeats)) {
      return std::nullopt;
    }
  }
  return parts;
}

// Of b, r, x and the result: the reduction of x, and its broadcast.
bool ReductionBeforeBroadcast(const FunctionCall& call,
                              std::span<Attributes> results) {
  const auto parts =
      PartReduction(call.attrs<BroadcastAttrs>(0), call.attrs<ReduceAttrs>(1),
                    call.shape(2), call.shape(3));
  if (!parts || !parts->any_repeated) return false;
  results[0] = parts->inner;
  results[1] = parts->outer;
  return true;
}

// … where it meets each element once.
bool ReductionBesideBroadcast(const FunctionCall& call,
                              std::span<Attributes> results) {
  const auto parts =
      PartReduction(call.attrs<BroadcastAttrs>(0), call.attrs<ReduceAttrs>(1),
                    call.shape(2), call.shape(3));
  if (!parts || parts->any_repeated) return false;
  results[0] = parts->inner;
  results[1] = parts->outer;
  return true;
}

// … and the number of times that each element comes, and its broadcast to the
// reduction of x. Nothing where the dtype does not have the number.
bool RepeatsOfReduction(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto parts =
      PartReduction(call.attrs<BroadcastAttrs>(0), call.attrs<ReduceAttrs>(1),
                    call.shape(2), call.shape(3));
  if (!parts || !parts->any_repeated) return false;
  Literal repeats(call.dtype(2), {});
  repeats.SetInt(0, parts->repeats);
  if (repeats.AsInt(0) != parts->repeats) return false;
  results[0] = ConstantAttrs{.value = std::move(repeats)};
  results[1] = BroadcastAttrs{.shape = parts->shape};
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"reduces_axis", "aa", 0, "A concat's axis is among a reduction's.",
     ReducesAxis},
    {"axis_after_reduction", "aa", 1,
     "A concat's axis where the reduction has removed others.",
     AxisAfterReduction},
    {"of_some", "at", 0, "The reduction is of an element at least.", OfSome},
    {"concat_before_broadcast", "aaattt", 2,
     "The concat of two tensors that are broadcast alike, and the broadcast of "
     "that to the last one.",
     ConcatBeforeBroadcast},
    {"broadcast_to_both", "aaat", 1,
     "One broadcast for two of one tensor, along a dim that they add, to the "
     "result.",
     BroadcastToBoth},
    {"broadcast_before_transpose", "aa", 2,
     "Of a broadcast beside a transpose: the transpose of what is broadcast, "
     "and the broadcast beside what is transposed.",
     BroadcastBeforeTranspose},
    {"slice_before_reduction", "aat", 1,
     "Of a reduction, the slice of it, and what is reduced: that one's slice.",
     SliceBeforeReduction},
    {"slice_after_reduction", "aat", 1,
     "Of a reduction, the slice of what it reduces, and that unsliced: the "
     "slice of the reduction.",
     SliceAfterReduction},
    {"rest_of_reduction", "aat", 1,
     "Of a reduction, one along more axes, and what both reduce: the second of "
     "what the first leaves.",
     RestOfReduction},
    {"slice_before_broadcast", "aatt", 2,
     "The slice of what is broadcast, and its broadcast to the result.",
     SliceBeforeBroadcast},
    {"factor_after_reduction", "aat", 1,
     "The broadcast to a reduction's result of what is alike where it reduces.",
     FactorAfterReduction},
    {"reduction_before_broadcast", "aatt", 2,
     "The reduction of what is broadcast, and its broadcast to the result.",
     ReductionBeforeBroadcast},
    {"reduction_beside_broadcast", "aatt", 2,
     "… where nothing that is repeated is reduced.", ReductionBesideBroadcast},
    {"repeats_of_reduction", "aatt", 2,
     "How often a reduction meets each element, and that as a tensor.",
     RepeatsOfReduction},
};

}  // namespace

std::span<const AttributeFunction> ReductionFunctions() { return kFunctions; }

}  // namespace encore::opt
