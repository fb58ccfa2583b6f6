#include "encore/opt/tensor/functions/prefix_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

bool Has(const Ints& axes, int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

bool PrefixSum(const FunctionCall& call, std::span<Attributes>) {
  const auto* const c = call.attrs<CumulativeAttrs>(0);
  return c != nullptr && c->combiner == Combiner::kSum;
}

// cumulative(x) - x: each without itself.
bool WithoutItself(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<CumulativeAttrs>(0);
  if (c == nullptr || c->exclusive || c->combiner != Combiner::kSum) {
    return false;
  }
  CumulativeAttrs exclusive = *c;
  exclusive.exclusive = true;
  results[0] = exclusive;
  return true;
}

// cumulative(reverse(x) {v}) {c} = reverse(cumulative(x) {…}) {v}.
bool CumulativeBeforeReverse(const FunctionCall& call,
                             std::span<Attributes> results) {
  const auto* const v = call.attrs<AxesAttrs>(0);
  const auto* const c = call.attrs<CumulativeAttrs>(1);
  if (v == nullptr || c == nullptr) return false;
  CumulativeAttrs before = *c;
  before.reverse = c->reverse != Has(v->axes, c->axis);
  results[0] = before;
  return true;
}

// cumulative(transpose(x) {p}) {c} = transpose(cumulative(x) {…}) {p}.
bool CumulativeBeforeTranspose(const FunctionCall& call,
                               std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const c = call.attrs<CumulativeAttrs>(1);
  if (p == nullptr || c == nullptr ||
      !AreAxes({&c->axis, 1}, p->permutation.size())) {
    return false;
  }
  CumulativeAttrs before = *c;
  before.axis = p->permutation[c->axis];
  results[0] = before;
  return true;
}

// slice(cumulative(x) {c}) {s}, of c, s, x, that begins where the sums do.
bool BeginsWhereCumulated(const FunctionCall& call, std::span<Attributes>) {
  const auto* const c = call.attrs<CumulativeAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (c == nullptr || s == nullptr ||
      s->starts.size() != static_cast<size_t>(x.rank()) ||
      !AreAxes({&c->axis, 1}, s->starts.size()) || s->strides[c->axis] != 1) {
    return false;
  }
  return c->reverse ? s->limits[c->axis] == x[static_cast<int>(c->axis)]
                    : s->starts[c->axis] == Dim(0);
}

// slice(cumulative(x) {c}) {s}, of c, s, x, y, at one place: the slice of x
// that comes up to there, its reduction, and the shape of y, the result.
bool ReduceUpTo(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<CumulativeAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  if (c == nullptr || s == nullptr || c->exclusive ||
      s->starts.size() != static_cast<size_t>(x.rank()) ||
      !AreAxes({&c->axis, 1}, s->starts.size()) ||
      !(s->starts[c->axis] + 1 == s->limits[c->axis])) {
    return false;
  }
  SliceAttrs part = *s;
  part.strides[c->axis] = 1;
  if (c->reverse) {
    part.limits[c->axis] = x[static_cast<int>(c->axis)];
  } else {
    part.starts[c->axis] = 0;
  }
  results[0] = part;
  results[1] = ReduceAttrs{.combiner = c->combiner, .axes = {c->axis}};
  results[2] = ReshapeAttrs{.shape = call.shape(3).dims()};
  return true;
}

// --- Reverses.

// reverse(reverse(x) {v}) {w}.
bool ComposeReverses(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const v = call.attrs<AxesAttrs>(0);
  const auto* const w = call.attrs<AxesAttrs>(1);
  if (v == nullptr || w == nullptr) return false;
  AxesAttrs both;
  std::ranges::set_symmetric_difference(v->axes, w->axes,
                                        std::back_inserter(both.axes));
  results[0] = both;
  return true;
}

// reverse(transpose(x) {p}) {v} = transpose(reverse(x) {…}) {p}.
bool ReverseBeforeTranspose(const FunctionCall& call,
                            std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const v = call.attrs<AxesAttrs>(1);
  if (p == nullptr || v == nullptr ||
      !AreAxes(v->axes, p->permutation.size())) {
    return false;
  }
  AxesAttrs before;
  for (const int64_t axis : v->axes) {
    before.axes.push_back(p->permutation[axis]);
  }
  std::ranges::sort(before.axes);
  results[0] = before;
  return true;
}

// reverse(broadcast(x) {b}) {v}: the axes of x.
bool ReverseBeforeBroadcast(const FunctionCall& call,
                            std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const v = call.attrs<AxesAttrs>(1);
  if (b == nullptr || v == nullptr) return false;
  AxesAttrs before;
  for (size_t i = 0; i < b->axes.size(); ++i) {
    if (Has(v->axes, b->axes[i])) {
      before.axes.push_back(static_cast<int64_t>(i));
    }
  }
  results[0] = before;
  return true;
}

// reduce(reverse(x) {v}) {r}: the axes of what is left.
bool ReverseAfterReduction(const FunctionCall& call,
                           std::span<Attributes> results) {
  const auto* const v = call.attrs<AxesAttrs>(0);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (v == nullptr || r == nullptr) return false;
  AxesAttrs after;
  for (const int64_t axis : v->axes) {
    if (Has(r->axes, axis)) continue;
    after.axes.push_back(axis - std::ranges::count_if(r->axes, [&](int64_t a) {
                           return a < axis;
                         }));
  }
  results[0] = after;
  return true;
}

bool ReversesAxis(const FunctionCall& call, std::span<Attributes>) {
  const auto* const v = call.attrs<AxesAttrs>(0);
  const auto* const c = call.attrs<AxisAttrs>(1);
  return v != nullptr && c != nullptr && Has(v->axes, c->axis);
}

bool KeepsAxis(const FunctionCall& call, std::span<Attributes>) {
  const auto* const v = call.attrs<AxesAttrs>(0);
  const auto* const c = call.attrs<AxisAttrs>(1);
  return v != nullptr && c != nullptr && !Has(v->axes, c->axis);
}

// dot_general(reverse(a) {v}, b) {d}, or with b reversed, of d, v, a, b: the
// labels, and those of what is reversed.
std::optional<LabelledProduct> LabelReversed(const FunctionCall& call, bool rhs,
                                             Labels* reversed) {
  const auto* const v = call.attrs<AxesAttrs>(1);
  int next = 0;
  auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                               call.shape(3), &next);
  if (v == nullptr || !product) return std::nullopt;
  const Labels& own = rhs ? product->rhs : product->lhs;
  if (!AreAxes(v->axes, own.size())) return std::nullopt;
  for (const int64_t axis : v->axes) reversed->push_back(own[axis]);
  return product;
}

// Where nothing is reversed that is summed: the reverse of the other operand's
// batch dims, and that of the product.
template <bool kRhs>
bool ReverseAfterProduct(const FunctionCall& call,
                         std::span<Attributes> results) {
  Labels reversed;
  const auto product = LabelReversed(call, kRhs, &reversed);
  if (!product || std::ranges::any_of(reversed, [&](int label) {
        return Contains(product->contracted, label);
      })) {
    return false;
  }
  results[0] = AxesAttrs{
      .axes = PositionsOf(kRhs ? product->lhs : product->rhs, reversed)};
  results[1] = AxesAttrs{.axes = PositionsOf(product->result, reversed)};
  return true;
}

// Where something is: the reverse of what is not summed of the same operand,
// and that of what is of the other one.
template <bool kRhs>
bool ReverseAcrossProduct(const FunctionCall& call,
                          std::span<Attributes> results) {
  Labels reversed;
  const auto product = LabelReversed(call, kRhs, &reversed);
  if (!product) return false;
  Labels summed, others;
  for (const int label : reversed) {
    (Contains(product->contracted, label) ? summed : others).push_back(label);
  }
  results[0] = AxesAttrs{
      .axes = PositionsOf(kRhs ? product->rhs : product->lhs, others)};
  results[1] = AxesAttrs{
      .axes = PositionsOf(kRhs ? product->lhs : product->rhs, summed)};
  return !summed.empty();
}

constexpr AttributeFunction kFunctions[] = {
    {"prefix_sum", "a", 0, "The cumulative operator is a sum.", PrefixSum},
    {"without_itself", "a", 1, "Prefix sums without the element itself.",
     WithoutItself},
    {"cumulative_before_reverse", "aa", 1,
     "Of a reverse and the cumulative operator behind it: the one before.",
     CumulativeBeforeReverse},
    {"cumulative_before_transpose", "aa", 1, "… of a transpose.",
     CumulativeBeforeTranspose},
    {"begins_where_cumulated", "aat", 0,
     "A slice of what is cumulated of the tensor begins where that does.",
     BeginsWhereCumulated},
    {"reduce_up_to", "aatt", 3,
     "A cumulated value at one place: the slice up to there of the first "
     "tensor, its reduction, and the shape of the second.",
     ReduceUpTo},
    {"compose_reverses", "aa", 1, "One reverse for two.", ComposeReverses},
    {"reverse_before_transpose", "aa", 1,
     "Of a transpose, and the reverse behind it: the one before.",
     ReverseBeforeTranspose},
    {"reverse_before_broadcast", "aa", 1, "… of a broadcast.",
     ReverseBeforeBroadcast},
    {"reverse_after_reduction", "aa", 1,
     "Of a reverse, and the reduction behind it: the reverse of the rest.",
     ReverseAfterReduction},
    {"reverse_after_lhs", "aatt", 2,
     "Of a product with a reversed along what is not summed: the reverse of b, "
     "and that of the product.",
     ReverseAfterProduct<false>},
    {"reverse_after_rhs", "aatt", 2, "… with b reversed: of a, likewise.",
     ReverseAfterProduct<true>},
    {"reverse_across_lhs", "aatt", 2,
     "Of a product with a reversed along what is summed: the reverse of the "
     "other dims of a, and that of b.",
     ReverseAcrossProduct<false>},
    {"reverse_across_rhs", "aatt", 2,
     "… with b reversed: that of b, and that of a.",
     ReverseAcrossProduct<true>},
    {"keeps_axis", "aa", 0, "A concat's axis is not among a reverse's.",
     KeepsAxis},
    {"reverses_axis", "aa", 0, "A concat's axis is among a reverse's.",
     ReversesAxis},
};

}  // namespace

std::span<const AttributeFunction> PrefixFunctions() { return kFunctions; }

}  // namespace encore::opt
