#include "encore/opt/tensor/functions/product_part_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

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
  auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0), call.shape(2),
                               call.shape(3), &next);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (!product || r == nullptr || r->combiner != Combiner::kSum ||
      !AreAxes(r->axes, product->result.size())) {
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
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (!product || s == nullptr || s->starts.size() != product->result.size()) {
    return false;
  }
  results[0] = SliceOf(call.shape(2), product->lhs, product->result, *s);
  results[1] = SliceOf(call.shape(3), product->rhs, product->result, *s);
  return true;
}

// A slice of one operand, along dims that are its alone, as one of the product.
bool SliceAfter(const FunctionCall& call, bool rhs,
                std::span<Attributes> results) {
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  const auto* const s = call.attrs<SliceAttrs>(1);
  if (!product || s == nullptr) return false;
  const Labels& own = rhs ? product->rhs : product->lhs;
  const Labels& other = rhs ? product->lhs : product->rhs;
  const Shape& shape = call.shape(rhs ? 3 : 2);
  if (s->starts.size() != own.size()) return false;
  for (size_t i = 0; i < own.size(); ++i) {
    const bool whole = s->starts[i] == Dim(0) && s->strides[i] == 1 &&
                       s->limits[i] == shape[static_cast<int>(i)];
    if (!whole && Contains(other, own[i])) return false;
  }
  SliceAttrs after;
  for (const int label : product->result) {
    const auto at = std::ranges::find(own, label) - own.begin();
    const bool is_own = static_cast<size_t>(at) < own.size();
    const auto in_other = std::ranges::find(other, label) - other.begin();
    after.starts.push_back(is_own ? s->starts[at] : Dim(0));
    after.strides.push_back(is_own ? s->strides[at] : 1);
    after.limits.push_back(
        is_own ? s->limits[at]
               : call.shape(rhs ? 2 : 3)[static_cast<int>(in_other)]);
  }
  results[0] = std::move(after);
  return true;
}

bool SliceLhsAfter(const FunctionCall& call, std::span<Attributes> results) {
  return SliceAfter(call, false, results);
}

bool SliceRhsAfter(const FunctionCall& call, std::span<Attributes> results) {
  return SliceAfter(call, true, results);
}

// The axis of `to` that has the label of axis c of `from`, where only one of
// the operands has it.
bool MoveAxis(const AxisAttrs* c, const LabelledProduct& product,
              const Labels& from, const Labels& to, Attributes* moved) {
  if (c == nullptr || !AreAxes({&c->axis, 1}, from.size())) {
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
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product, product->lhs,
                             product->result, &results[0]);
}

bool ConcatOfRhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product, product->rhs,
                             product->result, &results[0]);
}

// concat(dot_general(a, b) {d}, …) {c}: the axis of a.
bool ConcatToLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  return product && MoveAxis(call.attrs<AxisAttrs>(1), *product,
                             product->result, product->lhs, &results[0]);
}

bool ConcatToRhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
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
  if (!AreAxes({&axis, 1}, static_cast<size_t>(x.rank())) ||
      !AreAxes({&c->axis, 1}, static_cast<size_t>(call.shape(2).rank()))) {
    return false;
  }
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

// gather(dot_general(a, b) {d}, i) {g}, of d, g, a, b, i, that takes whole
// slices along a free dim of a: the gather of a, the product, its transpose.
bool GatherBeforeLhs(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  const auto* const g = call.attrs<GatherAttrs>(1);
  if (!product || g == nullptr || g->start_index_map.size() != 1 ||
      g->collapsed_slice_dims != g->start_index_map ||
      !g->operand_batching_dims.empty() ||
      g->slice_sizes.size() != product->result.size() ||
      !AreAxes(g->start_index_map, product->result.size())) {
    return false;
  }
  const int64_t axis = g->start_index_map[0];
  const int taken = product->result[axis];
  if (!Contains(product->lhs, taken) || Contains(product->rhs, taken)) {
    return false;
  }
  const Shape dims =
      ShapeOfLabels(product->result, *product, call.shape(2), call.shape(3));
  for (int i = 0; i < dims.rank(); ++i) {
    if (i != axis && !(g->slice_sizes[i] == dims[i])) return false;
  }
  const int index_rank = call.shape(4).rank() -
                         (g->index_vector_dim < call.shape(4).rank() ? 1 : 0);
  const Labels indices = NewLabels(index_rank, &next);
  const Labels rest = Without(product->result, {taken});
  // Where slices go in the result is the gather's to say.
  Labels want(indices.size() + rest.size(), -1);
  if (g->offset_dims.size() != rest.size() ||
      !AreAxes(g->offset_dims, want.size())) {
    return false;
  }
  for (size_t i = 0; i < rest.size(); ++i) want[g->offset_dims[i]] = rest[i];
  if (std::ranges::count(want, -1) != std::ssize(indices)) return false;
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
    {"sum_lhs", "aatt", 2, "A sum of a·b as one of a, and the product.",
     SumLhs},
    {"sum_rhs", "aatt", 2, "A sum of a·b as one of b, and the product.",
     SumRhs},
    {"sum_both", "aatt", 3, "… as one of a and one of b, and the product.",
     SumBoth},
    {"slice_product", "aatt", 2, "A slice of a·b as slices of a and b.",
     SliceProduct},
    {"slice_lhs_after", "aatt", 1, "A slice of a alone as one of a·b.",
     SliceLhsAfter},
    {"slice_rhs_after", "aatt", 1, "A slice of b alone as one of a·b.",
     SliceRhsAfter},
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
    {"gather_before_lhs", "aattt", 3,
     "A gather along a free dim of a, the product, its transpose.",
     GatherBeforeLhs},
};

}  // namespace

std::span<const AttributeFunction> ProductPartFunctions() { return kFunctions; }

}  // namespace encore::opt
