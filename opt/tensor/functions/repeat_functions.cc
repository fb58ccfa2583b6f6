#include "encore/opt/tensor/functions/repeat_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

// A product of which one operand is a broadcast.
struct RepeatedProduct {
  LabelledProduct product;
  Labels own;       // of what is repeated
  Labels repeated;  // what the broadcast adds
  Shape lhs, rhs;

  bool IsSummed(int label) const { return Contains(product.contracted, label); }
};

// Of d, w, a, b. A dim of extent 1 that is repeated is nobody's.
std::optional<RepeatedProduct> RepeatedOperand(const FunctionCall& call,
                                               bool rhs) {
  const auto* const w = call.attrs<BroadcastAttrs>(1);
  const Shape& x = call.shape(rhs ? 3 : 2);
  if (w == nullptr || w->axes.size() != static_cast<size_t>(x.rank()) ||
      !AreAxes(w->axes, w->shape.size())) {
    return std::nullopt;
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (!(x[i] == w->shape[w->axes[i]])) return std::nullopt;
  }
  RepeatedProduct found;
  found.lhs = rhs ? call.shape(2) : Shape(w->shape);
  found.rhs = rhs ? Shape(w->shape) : call.shape(3);
  int next = 0;
  auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0), found.lhs,
                               found.rhs, &next);
  if (!product) return std::nullopt;
  const Labels& all = rhs ? product->rhs : product->lhs;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_own =
        std::ranges::find(w->axes, static_cast<int64_t>(i)) != w->axes.end();
    (is_own ? found.own : found.repeated).push_back(all[i]);
  }
  found.product = *std::move(product);
  return found;
}

// dot_general(broadcast(a) {w}, b) {d}, or with b a broadcast, where nothing
// that is repeated is summed: the product of what is repeated, its transpose,
// and the broadcast of that.
bool RepeatAfter(const FunctionCall& call, bool rhs,
                 std::span<Attributes> results) {
  const auto found = RepeatedOperand(call, rhs);
  if (!found || found->repeated.empty()) return false;
  for (const int label : found->repeated) {
    if (found->IsSummed(label)) return false;
  }
  const LabelledProduct& product = found->product;
  const auto made = rhs ? Contract(product.lhs, found->own, product.result,
                                   product.contracted)
                        : Contract(found->own, product.rhs, product.result,
                                   product.contracted);
  if (!made) return false;
  Labels want;
  BroadcastAttrs after{
      .shape = ShapeOfLabels(product.result, product, found->lhs, found->rhs)
                   .dims()};
  for (size_t i = 0; i < product.result.size(); ++i) {
    if (!Contains(made->result, product.result[i])) continue;
    want.push_back(product.result[i]);
    after.axes.push_back(static_cast<int64_t>(i));
  }
  const auto order = Reorder(made->result, want);
  if (!order) return false;
  results[0] = made->attrs;
  results[1] = *order;
  results[2] = std::move(after);
  return true;
}

// … where some of it is: the broadcast without that, the sum of the other
// operand, and the product.
bool SumOfOther(const FunctionCall& call, bool rhs,
                std::span<Attributes> results) {
  const auto found = RepeatedOperand(call, rhs);
  if (!found) return false;
  const LabelledProduct& product = found->product;
  Labels summed;
  for (const int label : found->repeated) {
    if (found->IsSummed(label)) summed.push_back(label);
  }
  if (summed.empty()) return false;
  const auto without = [&](const Labels& labels) {
    Labels left;
    for (const int label : labels) {
      if (!Contains(summed, label)) left.push_back(label);
    }
    return left;
  };
  const Labels own = without(rhs ? product.rhs : product.lhs);
  const Labels& other = rhs ? product.lhs : product.rhs;
  BroadcastAttrs less{
      .shape = ShapeOfLabels(own, product, found->lhs, found->rhs).dims()};
  for (const int label : found->own) {
    less.axes.push_back(std::ranges::find(own, label) - own.begin());
  }
  const auto made =
      rhs ? Contract(without(other), own, product.result, product.contracted)
          : Contract(own, without(other), product.result, product.contracted);
  if (!made || made->result != product.result) return false;
  results[0] = std::move(less);
  results[1] = ReduceAttrs{.combiner = Combiner::kSum,
                           .axes = PositionsOf(other, summed)};
  results[2] = made->attrs;
  return true;
}

bool RepeatOfLhs(const FunctionCall& call, std::span<Attributes> results) {
  return RepeatAfter(call, false, results);
}

bool RepeatOfRhs(const FunctionCall& call, std::span<Attributes> results) {
  return RepeatAfter(call, true, results);
}

bool SumAgainstLhs(const FunctionCall& call, std::span<Attributes> results) {
  return SumOfOther(call, false, results);
}

bool SumAgainstRhs(const FunctionCall& call, std::span<Attributes> results) {
  return SumOfOther(call, true, results);
}

// dot_general(a, b) {d}, of d, a, b, without a sum: the transposes and
// broadcasts of a and b whose product it is.
bool OuterProduct(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const d = call.attrs<DotGeneralAttrs>(0);
  int next = 0;
  const auto product = LabelOperands(d, call.shape(1), call.shape(2), &next);
  if (!product || !product->contracted.empty()) return false;
  const Shape shape =
      ShapeOfLabels(product->result, *product, call.shape(1), call.shape(2));
  int at = 0;
  for (const Labels* labels : {&product->lhs, &product->rhs}) {
    BroadcastAttrs broadcast{.shape = shape.dims()};
    Labels want;
    for (size_t i = 0; i < product->result.size(); ++i) {
      if (!Contains(*labels, product->result[i])) continue;
      want.push_back(product->result[i]);
      broadcast.axes.push_back(static_cast<int64_t>(i));
    }
    const auto order = Reorder(*labels, want);
    if (!order) return false;
    results[at++] = *order;
    results[at++] = std::move(broadcast);
  }
  return true;
}

// reduce(dot_general(a, b) {d}) {r}, a sum over batch dims alone, of d, r, a,
// b: the product that sums them too.
bool SumOfBatches(const FunctionCall& call, std::span<Attributes> results) {
  int next = 0;
  const auto product = LabelOperands(call.attrs<DotGeneralAttrs>(0),
                                     call.shape(2), call.shape(3), &next);
  const auto* const r = call.attrs<ReduceAttrs>(1);
  if (!product || r == nullptr || r->combiner != Combiner::kSum ||
      r->axes.empty() || !AreAxes(r->axes, product->result.size())) {
    return false;
  }
  Labels want, summed;
  for (size_t i = 0; i < product->result.size(); ++i) {
    const int label = product->result[i];
    const bool is_summed =
        std::ranges::find(r->axes, static_cast<int64_t>(i)) != r->axes.end();
    (is_summed ? summed : want).push_back(label);
    if (is_summed &&
        (!Contains(product->lhs, label) || !Contains(product->rhs, label))) {
      return false;
    }
  }
  const auto made = Contract(product->lhs, product->rhs, want, summed);
  if (!made || made->result != want) return false;
  results[0] = made->attrs;
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"repeat_of_lhs", "aatt", 3,
     "Of a product with a repeated: the product of a, its transpose, and the "
     "broadcast of that.",
     RepeatOfLhs},
    {"repeat_of_rhs", "aatt", 3, "… with b repeated.", RepeatOfRhs},
    {"sum_against_lhs", "aatt", 3,
     "Of a product with a repeated where it is summed: the broadcast of a "
     "without that, the sum of b, and the product.",
     SumAgainstLhs},
    {"sum_against_rhs", "aatt", 3, "… with b repeated: the sum of a.",
     SumAgainstRhs},
    {"outer_product", "att", 4,
     "The transpose and broadcast of a, and those of b, whose elementwise "
     "product one without a sum is.",
     OuterProduct},
    {"sum_of_batches", "aatt", 1,
     "A sum of a·b over batch dims as a product that sums them.", SumOfBatches},
};

}  // namespace

std::span<const AttributeFunction> RepeatFunctions() { return kFunctions; }

}  // namespace encore::opt
