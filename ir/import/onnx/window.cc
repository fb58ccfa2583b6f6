#include "encore/ir/import/onnx/window.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Larger entries are no windows, and would overflow what is computed from them.
constexpr int64_t kMaxEntry = INT32_MAX;

Status CheckEntries(const Ints& entries, size_t count, int64_t least,
                    std::string_view name) {
  if (entries.size() != count) {
    return NodeContext::Error(StrCat("attribute ", name, " has ",
                                     entries.size(), " entries, expected ",
                                     count));
  }
  for (const int64_t entry : entries) {
    if (entry < least || entry > kMaxEntry) {
      return NodeContext::Error(
          StrCat("attribute ", name, " has an entry of ", entry));
    }
  }
  return OkStatus();
}

// SAME: as many results as strides fit into the input; what is left over of an
// odd padding goes to the end (SAME_UPPER) or the beginning.
Status PadSame(const Shape& input, bool upper, Window* window) {
  for (size_t i = 0; i < window->sizes.size(); ++i) {
    const Dim& extent = input[static_cast<int>(i) + 2];
    const int64_t stride = window->strides[i];
    const int64_t reach = (window->sizes[i] - 1) * window->dilations[i] + 1;
    int64_t total;
    if (stride == 1) {
      total = reach - 1;
    } else if (extent.is_constant()) {
      const int64_t count = (extent.constant() + stride - 1) / stride;
      total = std::max<int64_t>(
          (count - 1) * stride + reach - extent.constant(), 0);
    } else {
      return NodeContext::Error(
          "attribute auto_pad needs a known spatial extent where strides are "
          "not 1");
    }
    window->padding_low[i] = upper ? total / 2 : total - total / 2;
    window->padding_high[i] = total - window->padding_low[i];
  }
  return OkStatus();
}

// Pads the end so far that a last window that begins within the input or its
// low padding is whole.
Status PadCeil(const Shape& input, Window* window) {
  for (size_t i = 0; i < window->sizes.size(); ++i) {
    const Dim& extent = input[static_cast<int>(i) + 2];
    const int64_t stride = window->strides[i];
    if (stride == 1) continue;
    if (!extent.is_constant()) {
      return NodeContext::Error(
          "attribute ceil_mode needs a known spatial extent");
    }
    const int64_t reach = (window->sizes[i] - 1) * window->dilations[i] + 1;
    const int64_t low = window->padding_low[i];
    const int64_t rest =
        extent.constant() + low + window->padding_high[i] - reach;
    if (rest < 0 || rest % stride == 0) continue;
    const int64_t last = (rest / stride + 1) * stride;
    if (last >= extent.constant() + low) continue;
    window->padding_high[i] += last - rest;
  }
  return OkStatus();
}

}  // namespace

StatusOr<Window> ReadWindow(NodeContext& context, const Shape& input,
                            std::optional<Ints> sizes, bool ceil_mode) {
  AttributeReader& attributes = context.attributes();
  if (input.rank() < 3) {
    return NodeContext::Error(StrCat("input of rank ", input.rank(),
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
    ENCORE_RETURN_IF_ERROR(PadSame(input, auto_pad == "SAME_UPPER", &window));
  } else if (auto_pad == "VALID") {
    window.padding_low.assign(spatial, 0);
    window.padding_high.assign(spatial, 0);
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return NodeContext::Error(
        StrCat("attribute auto_pad is ", Quote(auto_pad),
               ", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
  }
  if (ceil_mode) ENCORE_RETURN_IF_ERROR(PadCeil(input, &window));
  return window;
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

StatusOr<ConvolutionAttrs> ReadConvolution(NodeContext& context, Value x,
                                           Value weights) {
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(Ints sizes,
                          KernelSizes(context, weights, shape.rank()));
  ENCORE_ASSIGN_OR_RETURN(Window window,
                          ReadWindow(context, shape, std::move(sizes), false));
  ConvolutionAttrs convolution;
  ENCORE_ASSIGN_OR_RETURN(convolution.feature_groups,
                          context.attributes().Int("group", 1));
  convolution.strides = std::move(window.strides);
  convolution.padding_low = std::move(window.padding_low);
  convolution.padding_high = std::move(window.padding_high);
  convolution.lhs_dilation = Ints(shape.rank() - 2, 1);
  convolution.rhs_dilation = std::move(window.dilations);
  return convolution;
}

}  // namespace encore::onnx
