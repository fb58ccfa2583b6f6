#include "encore/opt/tensor/functions/convolution_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

bool AllAre(const std::vector<int64_t>& list, int64_t value) {
  return std::ranges::all_of(list, [&](int64_t x) { return x == value; });
}

bool IsUngrouped(const ConvolutionAttrs& attrs) {
  return attrs.feature_groups == 1 && attrs.batch_groups == 1;
}

bool Ungrouped(const FunctionCall& call, std::span<Attributes>) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  return c != nullptr && IsUngrouped(*c);
}

// Each point of the result is a product of the kernel, as a matrix, and the
// channels of that point.
bool PointwiseMatrix(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const Shape& kernel = call.shape(1);
  if (c == nullptr || kernel.rank() < 2 || !IsUngrouped(*c) ||
      !AllAre(c->strides, 1) || !AllAre(c->padding_low, 0) ||
      !AllAre(c->padding_high, 0) || !AllAre(c->lhs_dilation, 1)) {
    return false;
  }
  for (int i = 2; i < kernel.rank(); ++i) {
    if (!(kernel[i] == Dim(1))) return false;
  }
  results[0] = ReshapeAttrs{.shape = {kernel[0], kernel[1]}};
  return true;
}

// broadcast(s) {b} along the channels of the result, as one along those of the
// kernel.
bool ChannelFactor(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  if (b == nullptr || b->axes != std::vector<int64_t>{1}) return false;
  results[0] = BroadcastAttrs{.shape = call.shape(1).dims(), .axes = {0}};
  return true;
}

// How a kernel v of a convolution c is padded to a kernel w of d, so that it
// gives the same under d: each tap stays where it was.
bool Enlarge(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const c = call.attrs<ConvolutionAttrs>(0);
  const auto* const d = call.attrs<ConvolutionAttrs>(1);
  const Shape& v = call.shape(2);
  const Shape& w = call.shape(3);
  if (c == nullptr || d == nullptr || v.rank() != w.rank() ||
      v.rank() != static_cast<int>(c->strides.size()) + 2 ||
      c->strides != d->strides || c->lhs_dilation != d->lhs_dilation ||
      c->feature_groups != d->feature_groups ||
      c->batch_groups != d->batch_groups || !AllAre(c->rhs_dilation, 1) ||
      !AllAre(d->rhs_dilation, 1) || !(v[0] == w[0]) || !(v[1] == w[1])) {
    return false;
  }
  PadAttrs pad{.low = {0, 0}, .high = {0, 0}};
  pad.interior.assign(v.rank(), 0);
  bool larger = false;
  for (size_t i = 0; i < c->strides.size(); ++i) {
    const int64_t low = d->padding_low[i] - c->padding_low[i];
    const int64_t high = d->padding_high[i] - c->padding_high[i];
    const int axis = static_cast<int>(i) + 2;
    if (low < 0 || high < 0 || !(v[axis] + low + high == w[axis])) return false;
    larger |= low + high > 0;
    pad.low.push_back(low);
    pad.high.push_back(high);
  }
  results[0] = pad;
  return larger;
}

constexpr AttributeFunction kFunctions[] = {
    {"ungrouped", "a", 0, "A convolution in one group.", Ungrouped},
    {"pointwise_matrix", "at", 1,
     "A reshape to a matrix of the kernel of a convolution of single points.",
     PointwiseMatrix},
    {"channel_factor", "at", 1,
     "A broadcast along channels of a result, for those of the kernel.",
     ChannelFactor},
    {"enlarge", "aatt", 1,
     "The padding of the first kernel that makes it one of the second's size.",
     Enlarge},
};

}  // namespace

std::span<const AttributeFunction> ConvolutionFunctions() { return kFunctions; }

}  // namespace encore::opt
