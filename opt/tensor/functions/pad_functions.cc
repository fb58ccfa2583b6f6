#include "encore/opt/tensor/functions/pad_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

bool NeverNegative(const FunctionCall& call, const Dim& dim) {
  return dim.valid() && dim.LowerBound(call.symbols) >= 0;
}

// Puts in and takes away nothing along the axis.
bool IsWhole(const PadAttrs& pad, size_t axis) {
  return pad.low[axis] == Dim(0) && pad.high[axis] == Dim(0) &&
         pad.interior[axis] == 0;
}

// Only puts in at the ends.
bool AddsAtEnds(const FunctionCall& call, const PadAttrs& pad, size_t axis) {
  return pad.interior[axis] == 0 && NeverNegative(call, pad.low[axis]) &&
         NeverNegative(call, pad.high[axis]);
}

bool HasRank(const PadAttrs* pad, size_t rank) {
  return pad != nullptr && pad->low.size() == rank &&
         pad->high.size() == rank && pad->interior.size() == rank;
}

// slice(pad(x, …) {p}) {s}, of p, s, x, that reads x only.
bool SliceBeforePad(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const p = call.attrs<PadAttrs>(0);
  const auto* const s = call.attrs<SliceAttrs>(1);
  const Shape& x = call.shape(2);
  const auto rank = static_cast<size_t>(x.rank());
  if (!HasRank(p, rank) || s == nullptr || s->starts.size() != rank) {
    return false;
  }
  SliceAttrs before = *s;
  for (size_t i = 0; i < rank; ++i) {
    before.starts[i] = s->starts[i] - p->low[i];
    before.limits[i] = s->limits[i] - p->low[i];
    if (p->interior[i] != 0 || !NeverNegative(call, before.starts[i]) ||
        !NeverNegative(call, x[static_cast<int>(i)] - before.limits[i])) {
      return false;
    }
  }
  results[0] = before;
  return true;
}

// pad(pad(x, v) {p}, v) {q}, where neither takes anything away.
bool ComposePads(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const p = call.attrs<PadAttrs>(0);
  const auto* const q = call.attrs<PadAttrs>(1);
  if (p == nullptr || !HasRank(q, p->low.size())) return false;
  PadAttrs both = *p;
  for (size_t i = 0; i < both.low.size(); ++i) {
    if (!AddsAtEnds(call, *p, i) || !AddsAtEnds(call, *q, i)) return false;
    both.low[i] = p->low[i] + q->low[i];
    both.high[i] = p->high[i] + q->high[i];
  }
  results[0] = both;
  return true;
}

// transpose(pad(x, v) {p}) {t} = pad(transpose(x) {t}, v) {…}.
bool PadAfterTranspose(const FunctionCall& call,
                       std::span<Attributes> results) {
  const auto* const p = call.attrs<PadAttrs>(0);
  const auto* const t = call.attrs<TransposeAttrs>(1);
  if (p == nullptr || t == nullptr || !HasRank(p, t->permutation.size()) ||
      !AreAxes(t->permutation, p->low.size())) {
    return false;
  }
  PadAttrs after = *p;
  for (size_t i = 0; i < t->permutation.size(); ++i) {
    after.low[i] = p->low[t->permutation[i]];
    after.high[i] = p->high[t->permutation[i]];
    after.interior[i] = p->interior[t->permutation[i]];
  }
  results[0] = after;
  return true;
}

// Of all axes of the padding those that are left.
PadAttrs PadOf(const PadAttrs& pad, const Ints& axes) {
  PadAttrs of;
  for (const int64_t axis : axes) {
    of.low.push_back(pad.low[axis]);
    of.high.push_back(pad.high[axis]);
    of.interior.push_back(pad.interior[axis]);
  }
  return of;
}

// reduce(pad(x, 0) {p}) {r}, a sum: the padding of the sum.
bool PadAfterReduction(const FunctionCall& call,
                       std::span<Attributes> results) {
  const auto* const p = call.attrs<PadAttrs>(0);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (p == nullptr || r == nullptr || !HasRank(p, p->low.size()) ||
      !AreAxes(r->axes, p->low.size())) {
    return false;
  }
  Ints left;
  for (size_t i = 0; i < p->low.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (std::ranges::find(r->axes, axis) == r->axes.end()) {
      left.push_back(axis);
    } else if (!NeverNegative(call, p->low[i]) ||
               !NeverNegative(call, p->high[i])) {
      return false;
    }
  }
  results[0] = PadOf(*p, left);
  return true;
}

// convolution(pad(x, 0) {p}, w) {c}, of p, c: the convolution of x. Zeros that
// were put between neighbours are dilation.
bool PadIntoConvolution(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto* const p = call.attrs<PadAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  if (p == nullptr || c == nullptr || !HasRank(p, c->strides.size() + 2) ||
      !IsWhole(*p, 0) || !IsWhole(*p, 1)) {
    return false;
  }
  ConvolutionAttrs all = *c;
  for (size_t i = 0; i < c->strides.size(); ++i) {
    const Dim& low = p->low[i + 2];
    const Dim& high = p->high[i + 2];
    if (!low.is_constant() || !high.is_constant() || low.constant() < 0 ||
        high.constant() < 0 || c->lhs_dilation[i] != 1 ||
        c->padding_low[i] < 0 || c->padding_high[i] < 0) {
      return false;
    }
    all.padding_low[i] += low.constant();
    all.padding_high[i] += high.constant();
    all.lhs_dilation[i] = p->interior[i + 2] + 1;
  }
  results[0] = all;
  return true;
}

// dot_general(pad(a, 0) {p}, b) {d}, or with b padded, of d, p, a, b: the slice
// of the other operand that meets what was padded, and the padding of the
// product.
bool PadAfterProduct(const FunctionCall& call, bool rhs,
                     std::span<Attributes> results) {
  const auto* const p = call.attrs<PadAttrs>(1);
  const Shape& own = call.shape(rhs ? 3 : 2);
  const Shape& other = call.shape(rhs ? 2 : 3);
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  if (!product || !HasRank(p, static_cast<size_t>(own.rank()))) return false;
  const Labels& labels = rhs ? product->rhs : product->lhs;
  const Labels& partners = rhs ? product->lhs : product->rhs;
  SliceAttrs part{.limits = other.dims()};
  part.starts.assign(other.rank(), Dim(0));
  part.strides.assign(other.rank(), 1);
  PadAttrs after;
  after.low.assign(product->result.size(), Dim(0));
  after.high = after.low;
  after.interior.assign(product->result.size(), 0);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!AddsAtEnds(call, *p, i)) return false;
    const auto in_other = std::ranges::find(partners, labels[i]);
    const auto in_result = std::ranges::find(product->result, labels[i]);
    if (in_result != product->result.end()) {
      if (in_other != partners.end() && !IsWhole(*p, i)) return false;
      const auto at = in_result - product->result.begin();
      after.low[at] = p->low[i];
      after.high[at] = p->high[i];
    } else {
      const auto at = in_other - partners.begin();
      part.starts[at] = p->low[i];
      part.limits[at] = p->low[i] + own[static_cast<int>(i)];
    }
  }
  results[0] = std::move(part);
  results[1] = std::move(after);
  return true;
}

bool PadOfLhs(const FunctionCall& call, std::span<Attributes> results) {
  return PadAfterProduct(call, false, results);
}

bool PadOfRhs(const FunctionCall& call, std::span<Attributes> results) {
  return PadAfterProduct(call, true, results);
}

constexpr AttributeFunction kFunctions[] = {
    {"slice_before_pad", "aat", 1,
     "A slice of what was padded that reads the tensor alone, of it.",
     SliceBeforePad},
    {"compose_pads", "aa", 1, "One padding for two that take nothing away.",
     ComposePads},
    {"pad_after_transpose", "aa", 1,
     "Of a padding and the transpose behind it: the one behind that.",
     PadAfterTranspose},
    {"pad_after_reduction", "aa", 1,
     "Of a padding by zeros and the sum behind it: the padding of the rest.",
     PadAfterReduction},
    {"pad_into_convolution", "aa", 1,
     "Of a padding of the image and its convolution: one for both.",
     PadIntoConvolution},
    {"pad_of_lhs", "aatt", 2,
     "Of a product with a padded by zeros: the slice of b, and the padding of "
     "the product.",
     PadOfLhs},
    {"pad_of_rhs", "aatt", 2, "… with b padded: the slice of a, likewise.",
     PadOfRhs},
};

}  // namespace

std::span<const AttributeFunction> PadFunctions() { return kFunctions; }

}  // namespace encore::opt
