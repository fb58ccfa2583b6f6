#include "encore/opt/tensor/functions/convolution_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/functions/labels.h"

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

// convolution(transpose(x) {p}, w) {c}, of p, c, w, where images and channels
// stay where they are: the transpose of w, and the convolution of x, of which p
// is the transpose.
bool TransposeOfImage(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const c = call.attrs<ConvolutionAttrs>(1);
  const auto rank = static_cast<size_t>(call.shape(2).rank());
  if (p == nullptr || c == nullptr || rank < 2 ||
      p->permutation.size() != rank || c->strides.size() + 2 != rank ||
      !AreAxes(p->permutation, rank) || p->permutation[0] != 0 ||
      p->permutation[1] != 1) {
    return false;
  }
  TransposeAttrs back{.permutation = std::vector<int64_t>(rank)};
  ConvolutionAttrs before = *c;
  for (size_t i = 0; i < rank; ++i) {
    const auto to = static_cast<size_t>(p->permutation[i]);
    back.permutation[to] = static_cast<int64_t>(i);
    if (i < 2) continue;
    before.strides[to - 2] = c->strides[i - 2];
    before.padding_low[to - 2] = c->padding_low[i - 2];
    before.padding_high[to - 2] = c->padding_high[i - 2];
    before.lhs_dilation[to - 2] = c->lhs_dilation[i - 2];
    before.rhs_dilation[to - 2] = c->rhs_dilation[i - 2];
  }
  results[0] = std::move(back);
  results[1] = std::move(before);
  return true;
}

// reduce_window's attributes, before or behind a transpose.
bool MoveWindows(const FunctionCall& call, bool before,
                 std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const w = call.attrs<ReduceWindowAttrs>(1);
  if (p == nullptr || w == nullptr ||
      p->permutation.size() != w->window.size() ||
      !AreAxes(p->permutation, w->window.size())) {
    return false;
  }
  ReduceWindowAttrs moved = *w;
  for (size_t i = 0; i < w->window.size(); ++i) {
    const auto axis = static_cast<size_t>(p->permutation[i]);
    const size_t from = before ? i : axis, to = before ? axis : i;
    moved.window[to] = w->window[from];
    moved.strides[to] = w->strides[from];
    moved.padding_low[to] = w->padding_low[from];
    moved.padding_high[to] = w->padding_high[from];
    moved.dilations[to] = w->dilations[from];
  }
  results[0] = std::move(moved);
  return true;
}

// reduce_window(transpose(x) {p}) {w}: the windows of x.
bool WindowsBeforeTranspose(const FunctionCall& call,
                            std::span<Attributes> results) {
  return MoveWindows(call, true, results);
}

// transpose(reduce_window(x) {w}) {p}: the windows of the transpose.
bool WindowsAfterTranspose(const FunctionCall& call,
                           std::span<Attributes> results) {
  return MoveWindows(call, false, results);
}

constexpr AttributeFunction kFunctions[] = {
    {"windows_before_transpose", "aa", 1,
     "Of a transpose and the windows behind it: those before.",
     WindowsBeforeTranspose},
    {"windows_after_transpose", "aa", 1,
     "Of a transpose and the windows before it: those behind.",
     WindowsAfterTranspose},
    {"transpose_of_image", "aat", 2,
     "Of a transpose of the places of an image, and its convolution: the "
     "transpose of the kernel, and the convolution before.",
     TransposeOfImage},
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
