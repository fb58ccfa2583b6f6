#include "encore/ir/import/onnx/image/window.h"

#include <algorithm>
#include <utility>

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Larger entries are no windows, and would overflow what is computed from them.
constexpr int64_t kMaxEntry = INT32_MAX;

// What `count` windows that begin `stride` elements apart and reach so far need
// behind an axis of so many elements, `low` before it; never less than `least`.
Dim PaddingBehind(const Dim& extent, const Dim& low, const Dim& least,
                  const Dim& count, int64_t stride, int64_t reach) {
  const Dim behind = (count - 1) * stride + reach - extent - low;
  // Windows without gaps never need less than nothing, and without Max the
  // extent that is padded is a plain expression of `count`. (What lies behind
  // the last window is cut.)
  if (!behind.is_constant() && reach >= stride) return behind;
  return Max(behind, least);
}

int64_t ReachOf(const Window& window, size_t i) {
  return (window.sizes[i] - 1) * window.dilations[i] + 1;
}

// SAME: as many results as strides fit into the input; what is left over of an
// odd padding goes to the end (SAME_UPPER) or the beginning.
void PadSame(const Shape& input, bool upper, Window* window) {
  for (size_t i = 0; i < window->sizes.size(); ++i) {
    const Dim& extent = input[static_cast<int>(i) + 2];
    const int64_t stride = window->strides[i], reach = ReachOf(*window, i);
    const Dim count = FloorDiv(extent + (stride - 1), stride);
    // A window of one element needs no padding, whatever the extent.
    const Dim total =
        reach == 1 ? Dim(0) : PaddingBehind(extent, 0, 0, count, stride, reach);
    Dim& low = window->padding_low[i];
    low = FloorDiv(upper ? total : total + 1, 2);
    window->padding_high[i] = total - low;
  }
}

// Pads the end so far that a last window that begins within the input or its
// low padding is whole.
void PadCeil(const Shape& input, Window* window) {
  for (size_t i = 0; i < window->sizes.size(); ++i) {
    const Dim& extent = input[static_cast<int>(i) + 2];
    const int64_t stride = window->strides[i], reach = ReachOf(*window, i);
    if (stride == 1) continue;
    const Dim low = window->padding_low[i];
    Dim& high = window->padding_high[i];
    const Dim last =
        FloorDiv(extent + low + high - reach + (stride - 1), stride);
    Dim count = last + 1;
    // Whether the last one may begin beyond.
    const Dim beyond = high + (stride - reach);
    if (!beyond.is_constant() || beyond.constant() > 0) {
      count = last + Min(Max(extent + low - last * stride, 0), 1);
    }
    high = PaddingBehind(extent, low, high, count, stride, reach);
  }
}

}  // namespace

Status CheckEntries(const Ints& entries, size_t count, int64_t least,
                    std::string_view name) {
  if (entries.size() != count) {
    return NodeContext::Error(StrCat("attribute ", name, " has ",
                                     entries.size(), " entries, expected ",
                                     count));
  }
  for (const int64_t entry : entries) {
    if (entry < least || entry > kMaxEntry) {
      return NodeContext::Error(StrCat("attribute ", name, " has the entry ",
                                       entry, ", which is out of range"));
    }
  }
  return OkStatus();
}

StatusOr<Window> ReadWindow(NodeContext& context, const Shape& input,
                            std::optional<Ints> sizes, bool ceil_mode) {
  AttributeReader& attributes = context.attributes();
  if (input.rank() < 3) {
    return NodeContext::Error(StrCat("the input has rank ", input.rank(),
                                     ", expected [N, C, spatial...]"));
  }
  const size_t spatial = input.rank() - 2;
  Window window;
  if (!attributes.Has("kernel_shape") && !sizes) {
    return NodeContext::Error("attribute kernel_shape is missing");
  }
  ENCORE_ASSIGN_OR_RETURN(
      window.sizes, attributes.Ints("kernel_shape", sizes.value_or(Ints())));
  ENCORE_RETURN_IF_ERROR(
      CheckEntries(window.sizes, spatial, 1, "kernel_shape"));
  if (sizes && *sizes != window.sizes) {
    return NodeContext::Error(
        StrCat("attribute kernel_shape is [", StrJoin(window.sizes, ","),
               "], the kernel is [", StrJoin(*sizes, ","), "]"));
  }
  ENCORE_ASSIGN_OR_RETURN(window.strides,
                          attributes.Ints("strides", Ints(spatial, 1)));
  ENCORE_RETURN_IF_ERROR(CheckEntries(window.strides, spatial, 1, "strides"));
  ENCORE_ASSIGN_OR_RETURN(window.dilations,
                          attributes.Ints("dilations", Ints(spatial, 1)));
  ENCORE_RETURN_IF_ERROR(
      CheckEntries(window.dilations, spatial, 1, "dilations"));
  ENCORE_ASSIGN_OR_RETURN(const Ints pads,
                          attributes.Ints("pads", Ints(2 * spatial, 0)));
  ENCORE_RETURN_IF_ERROR(CheckEntries(pads, 2 * spatial, -kMaxEntry, "pads"));
  window.padding_low.assign(pads.begin(), pads.begin() + spatial);
  window.padding_high.assign(pads.begin() + spatial, pads.end());
  ENCORE_ASSIGN_OR_RETURN(const std::string auto_pad,
                          attributes.String("auto_pad", "NOTSET"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadSame(input, auto_pad == "SAME_UPPER", &window);
  } else if (auto_pad == "VALID") {
    window.padding_low.assign(spatial, 0);
    window.padding_high.assign(spatial, 0);
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return NodeContext::Error(
        StrCat("attribute auto_pad is ", Quote(auto_pad),
               ", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
  }
  if (ceil_mode) PadCeil(input, &window);
  return window;
}

Value PadByHand(NodeContext& context, Value x, Value fill, Window* window) {
  Dims low(x.rank(), 0), high(x.rank(), 0);
  bool pads = false;
  for (size_t i = 0; i < window->sizes.size(); ++i) {
    Dim &before = window->padding_low[i], &behind = window->padding_high[i];
    if (before.is_constant() && behind.is_constant()) continue;
    low[i + 2] = std::exchange(before, 0);
    high[i + 2] = std::exchange(behind, 0);
    pads = true;
  }
  if (!pads) return x;
  return context.builder().Pad(x, fill, std::move(low), std::move(high));
}

Ints ConstantPadding(const Dims& padding) {
  Ints constants;
  for (const Dim& dim : padding) constants.push_back(dim.constant());
  return constants;
}

Value PositionsAlong(NodeContext& context, const Window& window,
                     const Shape& results, int d) {
  GraphBuilder& g = context.builder();
  const auto spatial = static_cast<int>(window.sizes.size());
  const auto along = [&](const Dim& extent, int axis) {
    Dims column(2 * spatial, 1);
    column[axis] = extent;
    return g.Iota(DType::kI64, Shape(std::move(column)), axis);
  };
  const Value begins = g.Mul(along(results[d + 2], d), window.strides[d]);
  const Value within =
      g.Mul(along(window.sizes[d], spatial + d), window.dilations[d]);
  return g.Sub(g.Add(begins, within), DimValue(context, window.padding_low[d]));
}

StatusOr<Ints> KernelSizes(NodeContext& context, Value weights, int rank) {
  const Shape shape = context.shape(weights);
  if (shape.rank() != rank || !shape.is_constant()) {
    return NodeContext::Error(StrCat("weights of shape ", shape.ToString(),
                                     ", expected known extents and rank ",
                                     rank));
  }
  const std::vector<int64_t> dims = shape.ConstantDims();
  return Ints(dims.begin() + std::min(rank, 2), dims.end());
}

StatusOr<ConvolutionAttrs> ReadConvolution(NodeContext& context, Value* x,
                                           Value weights) {
  const Shape shape = context.shape(*x);
  ENCORE_ASSIGN_OR_RETURN(Ints sizes,
                          KernelSizes(context, weights, shape.rank()));
  ENCORE_ASSIGN_OR_RETURN(Window window,
                          ReadWindow(context, shape, std::move(sizes), false));
  *x = PadByHand(context, *x, context.Scalar(x->dtype(), 0), &window);
  ConvolutionAttrs convolution;
  ENCORE_ASSIGN_OR_RETURN(convolution.feature_groups,
                          context.attributes().Int("group", 1));
  convolution.strides = std::move(window.strides);
  convolution.padding_low = ConstantPadding(window.padding_low);
  convolution.padding_high = ConstantPadding(window.padding_high);
  convolution.lhs_dilation = Ints(shape.rank() - 2, 1);
  convolution.rhs_dilation = std::move(window.dilations);
  return convolution;
}

}  // namespace encore::onnx
