#include "encore/opt/tensor/functions/product_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

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
  const auto inner = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                   call.shape(3), call.shape(4), &next);
  if (!inner || e == nullptr) return false;
  const auto outer = LabelOperands(
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
  const auto inner = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                   call.shape(2), call.shape(3), &next);
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
  const auto inner = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                   call.shape(2), call.shape(3), &next);
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
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  const auto* const p = call.attrs<TransposeAttrs>(1);
  if (!product || p == nullptr ||
      !AreAxes(p->permutation, product->result.size())) {
    return false;
  }
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
  if (d == nullptr || p == nullptr ||
      !AreAxes(p->permutation, static_cast<size_t>(call.shape(2).rank()))) {
    return false;
  }
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
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  if (!product || p == nullptr ||
      p->permutation.size() != product->rhs.size() ||
      !AreAxes(p->permutation, product->rhs.size())) {
    return false;
  }
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

// A broadcast over `from` as one over `to`, in shape `shape`.
bool MoveBroadcast(const BroadcastAttrs& b, const Labels& from,
                   const Labels& to, const Shape& shape, Attributes* moved) {
  if (!AreAxes(b.axes, from.size())) return false;
  BroadcastAttrs made{.shape = shape.dims()};
  for (const int64_t axis : b.axes) {
    const auto at = std::ranges::find(to, from[axis]);
    if (at == to.end()) return false;
    made.axes.push_back(at - to.begin());
  }
  *moved = made;
  return std::ranges::is_sorted(made.axes);
}

// Of d, w, a, b: the product's labels, where w is a broadcast.
std::optional<LabelledProduct> ScaledProduct(const FunctionCall& call) {
  if (call.attrs<BroadcastAttrs>(1) == nullptr) return std::nullopt;
  int next = 0;
  return LabelOperands(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                       call.shape(3), &next);
}

// dot_general(mul(a, broadcast(v) {w}), b) {d}, or of b: of d, w, a, b; the
// broadcast that scales the product, where none of its dims is summed.
template <Labels LabelledProduct::* kOperand>
bool FactorOf(const FunctionCall& call, std::span<Attributes> results) {
  const auto product = ScaledProduct(call);
  return product && MoveBroadcast(*call.attrs<BroadcastAttrs>(1),
                                  (*product).*kOperand, product->result,
                                  ShapeOfLabels(product->result, *product,
                                                call.shape(2), call.shape(3)),
                                  &results[0]);
}

// mul(dot_general(a, b) {d}, broadcast(v) {w}): of d, w, a, b; the broadcast
// that scales the operand.
template <Labels LabelledProduct::* kOperand, int kShape>
bool FactorTo(const FunctionCall& call, std::span<Attributes> results) {
  const auto product = ScaledProduct(call);
  return product &&
         MoveBroadcast(*call.attrs<BroadcastAttrs>(1), product->result,
                       (*product).*kOperand, call.shape(kShape), &results[0]);
}

// dot_general(mul(a, broadcast(v) {w}), b) {d}, or with b scaled: of d, w, a,
// b; the broadcast that scales the other operand, where it has all of v's dims.
template <Labels LabelledProduct::* kFrom, Labels LabelledProduct::* kTo,
          int kShape>
bool FactorAcross(const FunctionCall& call, std::span<Attributes> results) {
  const auto product = ScaledProduct(call);
  return product &&
         MoveBroadcast(*call.attrs<BroadcastAttrs>(1), (*product).*kFrom,
                       (*product).*kTo, call.shape(kShape), &results[0]);
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
    if (b.axes.size() != static_cast<size_t>(call.shape(3 + k).rank()) ||
        !AreAxes(b.axes, b.shape.size())) {
      return false;
    }
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
    {"factor_of_lhs", "aatt", 1, "A factor of a as one of a·b.",
     FactorOf<&LabelledProduct::lhs>},
    {"factor_of_rhs", "aatt", 1, "A factor of b as one of a·b.",
     FactorOf<&LabelledProduct::rhs>},
    {"factor_to_lhs", "aatt", 1, "A factor of a·b as one of a.",
     FactorTo<&LabelledProduct::lhs, 2>},
    {"factor_to_rhs", "aatt", 1, "A factor of a·b as one of b.",
     FactorTo<&LabelledProduct::rhs, 3>},
    {"factor_across_lhs", "aatt", 1,
     "A factor of a, in dims of b, as one of b.",
     FactorAcross<&LabelledProduct::lhs, &LabelledProduct::rhs, 3>},
    {"factor_across_rhs", "aatt", 1,
     "A factor of b, in dims of a, as one of a.",
     FactorAcross<&LabelledProduct::rhs, &LabelledProduct::lhs, 2>},
    {"product_of_broadcasts", "aaatt", 2,
     "The dot_general that a sum of products of broadcasts is.",
     ProductOfBroadcasts},
};

}  // namespace

std::span<const AttributeFunction> ProductFunctions() { return kFunctions; }

}  // namespace encore::opt
