// Attribute functions of dot_general, by labels (labels.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "encore/opt/tensor/attribute_functions.h"
#include "encore/opt/tensor/labels.h"

namespace encore::opt {
namespace {

// A product with labels for its operands.
std::optional<LabelledProduct> Labelled(const DotGeneralAttrs* attrs,
                                        const Shape& lhs, const Shape& rhs,
                                        int* next) {
  if (attrs == nullptr) return std::nullopt;
  return LabelProduct(*attrs, NewLabels(lhs.rank(), next), rhs.rank(), next);
}

bool HaveCommon(const Labels& a, const Labels& b, const Labels& without) {
  return std::ranges::any_of(a, [&](int label) {
    return Contains(b, label) && !Contains(without, label);
  });
}

// first · (second · third), of labels that together give `want`.
bool Regrouped(const Labels& first, const Labels& second, const Labels& third,
               const Labels& want, std::span<Attributes> results) {
  Labels kept = want;
  kept.insert(kept.end(), first.begin(), first.end());
  // Without a dim that is summed it is an outer product, larger than both.
  if (!HaveCommon(second, third, kept)) return false;
  const auto inner = Contract(second, third, kept);
  if (!inner) return false;
  const auto outer = Contract(first, inner->result, want);
  if (!outer) return false;
  const auto order = Reorder(outer->result, want);
  if (!order) return false;
  results[0] = inner->attrs;
  results[1] = outer->attrs;
  results[2] = *order;
  return true;
}

// dot_general(a, dot_general(b, c) {d}) {e}: of d, e, a, b, c; (a · b) · c.
bool RegroupLeft(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto* const e = call.attrs<DotGeneralAttrs>(1);
  const auto inner = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(3),
                              call.shape(4), &next);
  if (!inner || e == nullptr) return false;
  const auto outer = Labelled(
      e, call.shape(2), Shape(std::vector<Dim>(inner->result.size())), &next);
  if (!outer) return false;
  // The labels that the outer product gives to the inner one's result.
  const auto renamed = [&](Labels labels) {
    for (int& label : labels) {
      const auto at = std::ranges::find(inner->result, label);
      if (at != inner->result.end()) {
        label = outer->rhs[at - inner->result.begin()];
      }
    }
    return labels;
  };
  const Labels b = renamed(inner->lhs), c = renamed(inner->rhs);
  Labels kept = outer->result;
  kept.insert(kept.end(), c.begin(), c.end());
  if (!HaveCommon(outer->lhs, b, kept)) return false;
  const auto made = Contract(outer->lhs, b, kept);
  if (!made) return false;
  const auto whole = Contract(made->result, c, outer->result);
  const auto order =
      whole ? Reorder(whole->result, outer->result) : std::nullopt;
  if (!order) return false;
  results[0] = made->attrs;
  results[1] = whole->attrs;
  results[2] = *order;
  return true;
}

// dot_general(dot_general(a, b) {d}, c) {e}: of d, e, a, b, c; a · (b · c).
bool RegroupRight(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto inner = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                              call.shape(3), &next);
  const auto* const e = call.attrs<DotGeneralAttrs>(1);
  if (!inner || e == nullptr) return false;
  const auto outer =
      LabelProduct(*e, inner->result, call.shape(4).rank(), &next);
  return outer &&
         Regrouped(inner->lhs, inner->rhs, outer->rhs, outer->result, results);
}

// The same: b · (a · c).
bool RegroupAround(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto inner = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                              call.shape(3), &next);
  const auto* const e = call.attrs<DotGeneralAttrs>(1);
  if (!inner || e == nullptr) return false;
  const auto outer =
      LabelProduct(*e, inner->result, call.shape(4).rank(), &next);
  return outer &&
         Regrouped(inner->rhs, inner->lhs, outer->rhs, outer->result, results);
}

// transpose(dot_general(a, b) {d}) {p} where that is dot_general(b, a) {…}.
bool TransposedProduct(const FunctionCall& call,
                       std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const p = call.attrs<TransposeAttrs>(1);
  if (!product || p == nullptr) return false;
  Labels want;
  for (const int64_t axis : p->permutation) {
    want.push_back(product->result[axis]);
  }
  const auto swapped =
      Contract(product->rhs, product->lhs, want, product->contracted);
  if (!swapped || swapped->result != want) return false;
  results[0] = swapped->attrs;
  return true;
}

// Labels of transpose(x) {p} whose operand has `labels`.
Labels Transposed(const Labels& labels, const TransposeAttrs& p) {
  Labels transposed;
  for (const int64_t axis : p.permutation) transposed.push_back(labels[axis]);
  return transposed;
}

// dot_general(transpose(a) {p}, b) {d} without the transpose of a.
bool TransposedLhs(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const d = call.attrs<DotGeneralAttrs>(0);
  const auto* const p = call.attrs<TransposeAttrs>(1);
  if (d == nullptr || p == nullptr) return false;
  int next = 0;
  const Labels a = NewLabels(call.shape(2).rank(), &next);
  const auto product =
      LabelProduct(*d, Transposed(a, *p), call.shape(3).rank(), &next);
  if (!product) return false;
  const auto made =
      Contract(a, product->rhs, product->result, product->contracted);
  const auto order =
      made ? Reorder(made->result, product->result) : std::nullopt;
  if (!order) return false;
  results[0] = made->attrs;
  results[1] = *order;
  return true;
}

// dot_general(a, transpose(b) {p}) {d} without the transpose of b.
bool TransposedRhs(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(1);
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  if (!product || p == nullptr) return false;
  Labels b(product->rhs.size());
  for (size_t i = 0; i < b.size(); ++i) b[p->permutation[i]] = product->rhs[i];
  const auto made =
      Contract(product->lhs, b, product->result, product->contracted);
  const auto order =
      made ? Reorder(made->result, product->result) : std::nullopt;
  if (!order) return false;
  results[0] = made->attrs;
  results[1] = *order;
  return true;
}

Labels Without(const Labels& labels, const Labels& removed) {
  Labels left;
  for (const int label : labels) {
    if (!Contains(removed, label)) left.push_back(label);
  }
  return left;
}

// A sum over free dims of the product, `of_lhs` and `of_rhs` those of each.
struct SummedProduct {
  LabelledProduct product;
  Labels of_lhs, of_rhs;
};
std::optional<SummedProduct> SumOf(const FunctionCall& call) {
  int next = 0;
  auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                          call.shape(3), &next);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (!product || r == nullptr || r->combiner != Combiner::kSum) {
    return std::nullopt;
  }
  SummedProduct sum;
  for (const int64_t axis : r->axes) {
    const int label = product->result[axis];
    const bool in_lhs = Contains(product->lhs, label);
    if (in_lhs && Contains(product->rhs, label)) return std::nullopt;
    (in_lhs ? sum.of_lhs : sum.of_rhs).push_back(label);
  }
  sum.product = *std::move(product);
  return sum;
}

// The product of operands that are summed before; sets the last result.
bool SummedBefore(const SummedProduct& sum, Attributes* product) {
  Labels summed = sum.of_lhs;
  summed.insert(summed.end(), sum.of_rhs.begin(), sum.of_rhs.end());
  const Labels want = Without(sum.product.result, summed);
  const auto made = Contract(Without(sum.product.lhs, sum.of_lhs),
                             Without(sum.product.rhs, sum.of_rhs), want);
  if (!made || made->result != want) return false;
  *product = made->attrs;
  return true;
}

Attributes SumOver(const Labels& labels, const Labels& summed) {
  return ReduceAttrs{.combiner = Combiner::kSum,
                     .axes = PositionsOf(labels, summed)};
}

// reduce(dot_general(a, b) {d}) {r}: over dims of a only.
bool SumLhs(const FunctionCall& call, std::span<Attributes> results) {
  const auto sum = SumOf(call);
  if (!sum || sum->of_lhs.empty() || !sum->of_rhs.empty()) return false;
  results[0] = SumOver(sum->product.lhs, sum->of_lhs);
  return SummedBefore(*sum, &results[1]);
}

bool SumRhs(const FunctionCall& call, std::span<Attributes> results) {
  const auto sum = SumOf(call);
  if (!sum || !sum->of_lhs.empty() || sum->of_rhs.empty()) return false;
  results[0] = SumOver(sum->product.rhs, sum->of_rhs);
  return SummedBefore(*sum, &results[1]);
}

bool SumBoth(const FunctionCall& call, std::span<Attributes> results) {
  const auto sum = SumOf(call);
  if (!sum || sum->of_lhs.empty() || sum->of_rhs.empty()) return false;
  results[0] = SumOver(sum->product.lhs, sum->of_lhs);
  results[1] = SumOver(sum->product.rhs, sum->of_rhs);
  return SummedBefore(*sum, &results[2]);
}

// Of an operand with `labels`: the part that gives a slice of the result.
SliceAttrs SliceOf(const Shape& shape, const Labels& labels,
                   const Labels& result, const SliceAttrs& slice) {
  SliceAttrs part;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto at = std::ranges::find(result, labels[i]);
    const bool sliced = at != result.end();
    const size_t axis = at - result.begin();
    part.starts.push_back(sliced ? slice.starts[axis] : Dim(0));
    part.limits.push_back(sliced ? slice.limits[axis]
                                 : shape[static_cast<int>(i)]);
    part.strides.push_back(sliced ? slice.strides[axis] : 1);
  }
  return part;
}

// slice(dot_general(a, b) {d}) {s}: the slices of a and b.
bool SliceProduct(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (!product || s == nullptr) return false;
  results[0] = SliceOf(call.shape(2), product->lhs, product->result, *s);
  results[1] = SliceOf(call.shape(3), product->rhs, product->result, *s);
  return true;
}

Shape ShapeOf(const Labels& labels, const LabelledProduct& product,
              const Shape& lhs, const Shape& rhs) {
  std::vector<Dim> dims;
  for (const int label : labels) {
    const auto at = std::ranges::find(product.lhs, label);
    dims.push_back(
        at != product.lhs.end()
            ? lhs[static_cast<int>(at - product.lhs.begin())]
            : rhs[static_cast<int>(std::ranges::find(product.rhs, label) -
                                   product.rhs.begin())]);
  }
  return Shape(std::move(dims));
}

// A broadcast over `from` as one over `to`, in shape `shape`.
bool MoveBroadcast(const BroadcastAttrs& b, const Labels& from,
                   const Labels& to, const Shape& shape, Attributes* moved) {
  BroadcastAttrs made{.shape = shape.dims()};
  for (const int64_t axis : b.axes) {
    const auto at = std::ranges::find(to, from[axis]);
    if (at == to.end()) return false;
    made.axes.push_back(at - to.begin());
  }
  *moved = made;
  return std::ranges::is_sorted(made.axes);
}

// dot_general(mul(a, broadcast(v) {w}), b) {d}: of d, w, a, b; the broadcast
// that scales the product, where none of its dims is summed.
bool FactorOfLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const w = call.attrs<BroadcastAttrs>(1);
  if (!product || w == nullptr) return false;
  return MoveBroadcast(
      *w, product->lhs, product->result,
      ShapeOf(product->result, *product, call.shape(2), call.shape(3)),
      &results[0]);
}

bool FactorOfRhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const w = call.attrs<BroadcastAttrs>(1);
  if (!product || w == nullptr) return false;
  return MoveBroadcast(
      *w, product->rhs, product->result,
      ShapeOf(product->result, *product, call.shape(2), call.shape(3)),
      &results[0]);
}

// mul(dot_general(a, b) {d}, broadcast(v) {w}): the broadcast that scales a.
bool FactorToLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const w = call.attrs<BroadcastAttrs>(1);
  if (!product || w == nullptr) return false;
  return MoveBroadcast(*w, product->result, product->lhs, call.shape(2),
                       &results[0]);
}

bool FactorToRhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const w = call.attrs<BroadcastAttrs>(1);
  if (!product || w == nullptr) return false;
  return MoveBroadcast(*w, product->result, product->rhs, call.shape(3),
                       &results[0]);
}

// The axis of `to` that has the label of axis c of `from`, where only one of
// the operands has it.
bool MoveAxis(const AxisAttrs* c, const LabelledProduct& product,
              const Labels& from, const Labels& to, Attributes* moved) {
  if (c == nullptr || c->axis >= static_cast<int64_t>(from.size())) {
    return false;
  }
  const int label = from[c->axis];
  const auto at = std::ranges::find(to, label);
  if (at == to.end() ||
      (Contains(product.lhs, label) && Contains(product.rhs, label))) {
    return false;
  }
  *moved = AxisAttrs{.axis = at - to.begin()};
  return true;
}

// dot_general(concat(a, …) {c}, b) {d}: the axis along which products of the
// parts are put together.
bool ConcatOfLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product, product->lhs,
                             product->result, &results[0]);
}

bool ConcatOfRhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product, product->rhs,
                             product->result, &results[0]);
}

// concat(dot_general(a, b) {d}, …) {c}: the axis of a.
bool ConcatToLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product,
                             product->result, product->lhs, &results[0]);
}

bool ConcatToRhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product,
                             product->result, product->rhs, &results[0]);
}

bool AgreeBut(const Shape& a, const Shape& b, int64_t axis) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (i != axis && !(a[i] == b[i])) return false;
  }
  return true;
}

// add(dot_general(a, x) {d}, dot_general(b, y) {d}), of d, a, x, b, y: the axes
// along which a and b, x and y are put together, the first contracted ones.
bool ConcatContracted(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const d = call.attrs<DotGeneralAttrs>(0);
  if (d == nullptr || d->contract.lhs.empty()) return false;
  const int64_t lhs = d->contract.lhs[0], rhs = d->contract.rhs[0];
  if (!AgreeBut(call.shape(1), call.shape(3), lhs) ||
      !AgreeBut(call.shape(2), call.shape(4), rhs)) {
    return false;
  }
  results[0] = AxisAttrs{.axis = lhs};
  results[1] = AxisAttrs{.axis = rhs};
  return true;
}

// dot_general(concat(a, b) {c}, x) {d} along a contracted dim, of d, c, a, b,
// x: the slices of x that a and b meet.
bool SplitContracted(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const d = call.attrs<DotGeneralAttrs>(0);
  const auto* const c = call.attrs<AxisAttrs>(1);
  if (d == nullptr || c == nullptr) return false;
  const auto at = std::ranges::find(d->contract.lhs, c->axis);
  if (at == d->contract.lhs.end()) return false;
  const int64_t axis = d->contract.rhs[at - d->contract.lhs.begin()];
  const Shape& x = call.shape(4);
  SliceAttrs whole{.limits = x.dims()};
  whole.starts.assign(x.rank(), Dim(0));
  whole.strides.assign(x.rank(), 1);
  SliceAttrs first = whole, second = whole;
  first.limits[axis] = second.starts[axis] =
      call.shape(2)[static_cast<int>(c->axis)];
  results[0] = first;
  results[1] = second;
  return true;
}

// reduce(mul(broadcast(a) {v}, broadcast(b) {w})) {r}, a sum, of r, v, w, a, b:
// the dot_general of a and b, where each dim that is summed is in both.
bool ProductOfBroadcasts(const FunctionCall& call,
                         std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const v = call.attrs<BroadcastAttrs>(1);
  const auto* const w = call.attrs<BroadcastAttrs>(2);
  if (r == nullptr || v == nullptr || w == nullptr ||
      r->combiner != Combiner::kSum) {
    return false;
  }
  Labels operands[2], want;
  for (int k = 0; k < 2; ++k) {
    const BroadcastAttrs& b = k == 0 ? *v : *w;
    for (size_t i = 0; i < b.axes.size(); ++i) {
      // An extent of 1 that is repeated is another dim.
      if (!(call.shape(3 + k)[static_cast<int>(i)] == b.shape[b.axes[i]])) {
        return false;
      }
      operands[k].push_back(static_cast<int>(b.axes[i]));
    }
  }
  for (size_t i = 0; i < v->shape.size(); ++i) {
    const int label = static_cast<int>(i);
    if (!Contains(operands[0], label) && !Contains(operands[1], label)) {
      return false;
    }
    const bool summed = std::ranges::find(r->axes, label) != r->axes.end();
    if (!summed) want.push_back(label);
  }
  const auto made = Contract(operands[0], operands[1], want);
  const auto order = made ? Reorder(made->result, want) : std::nullopt;
  if (!order) return false;
  results[0] = made->attrs;
  results[1] = *order;
  return true;
}

// gather(dot_general(a, b) {d}, i) {g}, of d, g, a, b, i, that takes whole
// slices along a free dim of a: the gather of a, the product, its transpose.
bool GatherBeforeLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = Labelled(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                                call.shape(3), &next);
  const auto* const g = call.attrs<GatherAttrs>(1);
  if (!product || g == nullptr || g->start_index_map.size() != 1 ||
      g->collapsed_slice_dims != g->start_index_map ||
      !g->operand_batching_dims.empty()) {
    return false;
  }
  const int64_t axis = g->start_index_map[0];
  const int taken = product->result[axis];
  if (!Contains(product->lhs, taken) || Contains(product->rhs, taken)) {
    return false;
  }
  const Shape dims =
      ShapeOf(product->result, *product, call.shape(2), call.shape(3));
  for (int i = 0; i < dims.rank(); ++i) {
    if (i != axis && !(g->slice_sizes[i] == dims[i])) return false;
  }
  const int index_rank = call.shape(4).rank() -
                         (g->index_vector_dim < call.shape(4).rank() ? 1 : 0);
  const Labels indices = NewLabels(index_rank, &next);
  const Labels rest = Without(product->result, {taken});
  // Where slices go in the result is the gather's to say.
  Labels want(indices.size() + rest.size(), -1);
  for (size_t i = 0; i < rest.size(); ++i) want[g->offset_dims[i]] = rest[i];
  auto from = indices.begin();
  for (int& label : want) {
    if (label == -1) label = *from++;
  }
  GatherAttrs before = *g;
  const auto at = std::ranges::find(product->lhs, taken);
  before.start_index_map =
      before.collapsed_slice_dims = {at - product->lhs.begin()};
  before.slice_sizes = call.shape(2).dims();
  before.slice_sizes[at - product->lhs.begin()] = 1;
  before.offset_dims.assign(product->lhs.size() - 1, 0);
  std::iota(before.offset_dims.begin(), before.offset_dims.end(), index_rank);
  Labels lhs = indices;
  const Labels others = Without(product->lhs, {taken});
  lhs.insert(lhs.end(), others.begin(), others.end());
  const auto made = Contract(lhs, product->rhs, want, product->contracted);
  const auto order = made ? Reorder(made->result, want) : std::nullopt;
  if (!order) return false;
  results[0] = before;
  results[1] = made->attrs;
  results[2] = *order;
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"regroup_right", "aattt", 3, "a·(b·c) for (a·b)·c, and its transpose.",
     RegroupRight},
    {"regroup_around", "aattt", 3, "b·(a·c) for (a·b)·c, and its transpose.",
     RegroupAround},
    {"regroup_left", "aattt", 3, "(a·b)·c for a·(b·c), and its transpose.",
     RegroupLeft},
    {"transposed_product", "aatt", 1, "b·a where that is a·b transposed.",
     TransposedProduct},
    {"transposed_lhs", "aatt", 2,
     "The product without the transpose of its first operand, and its own.",
     TransposedLhs},
    {"transposed_rhs", "aatt", 2, "… of its second operand.", TransposedRhs},
    {"sum_lhs", "aatt", 2, "A sum of a·b as one of a, and the product.",
     SumLhs},
    {"sum_rhs", "aatt", 2, "A sum of a·b as one of b, and the product.",
     SumRhs},
    {"sum_both", "aatt", 3, "… as one of a and one of b, and the product.",
     SumBoth},
    {"slice_product", "aatt", 2, "A slice of a·b as slices of a and b.",
     SliceProduct},
    {"factor_of_lhs", "aatt", 1, "A factor of a as one of a·b.", FactorOfLhs},
    {"factor_of_rhs", "aatt", 1, "A factor of b as one of a·b.", FactorOfRhs},
    {"factor_to_lhs", "aatt", 1, "A factor of a·b as one of a.", FactorToLhs},
    {"factor_to_rhs", "aatt", 1, "A factor of a·b as one of b.", FactorToRhs},
    {"concat_of_lhs", "aatt", 1, "A concat of a as one of a·b.", ConcatOfLhs},
    {"concat_of_rhs", "aatt", 1, "A concat of b as one of a·b.", ConcatOfRhs},
    {"concat_to_lhs", "aatt", 1, "A concat of a·b as one of a.", ConcatToLhs},
    {"concat_to_rhs", "aatt", 1, "A concat of a·b as one of b.", ConcatToRhs},
    {"concat_contracted", "atttt", 2,
     "Two products of one form as one over concatenated summed dims.",
     ConcatContracted},
    {"split_contracted", "aattt", 2,
     "The slices of x that the parts of a concatenated summed dim meet.",
     SplitContracted},
    {"product_of_broadcasts", "aaatt", 2,
     "The dot_general that a sum of products of broadcasts is.",
     ProductOfBroadcasts},
    {"gather_before_lhs", "aattt", 3,
     "A gather along a free dim of a, the product, its transpose.",
     GatherBeforeLhs},
};

}  // namespace

std::span<const AttributeFunction> ProductFunctions() { return kFunctions; }

}  // namespace encore::opt
