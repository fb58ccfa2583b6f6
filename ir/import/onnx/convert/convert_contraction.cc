#include <algorithm>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/window.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

Status MatrixProduct(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  return context.Output(0, MatMul(context, context.Input(0), context.Input(1)));
}

Value Times(NodeContext& context, Value x, float factor) {
  if (factor == 1.0f) return x;
  const Value scalar = context.Scalar(context.dtype(x), factor);
  return context.Emit(Op::kMul, {x, context.Fill(scalar, context.shape(x))});
}

// alpha * A' B' + beta * C.
Status Gemm(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const float alpha, attributes.Float("alpha", 1));
  ENCORE_ASSIGN_OR_RETURN(const float beta, attributes.Float("beta", 1));
  ENCORE_ASSIGN_OR_RETURN(const bool transpose_a,
                          attributes.Bool("transA", false));
  ENCORE_ASSIGN_OR_RETURN(const bool transpose_b,
                          attributes.Bool("transB", false));
  Value a = context.Input(0), b = context.Input(1);
  if (context.rank(a) != 2 || context.rank(b) != 2) {
    return NodeContext::Error(StrCat("the inputs have ranks ", context.rank(a),
                                     " and ", context.rank(b),
                                     ", expected matrices"));
  }
  DotGeneralAttrs dot;
  dot.contract = {{transpose_a ? 0 : 1}, {transpose_b ? 1 : 0}};
  UnifyDims(context, &a, transpose_a ? 0 : 1, &b, transpose_b ? 1 : 0);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  const Dim columns = context.shape(a)[transpose_a ? 0 : 1];
  const Dim rows = context.shape(b)[transpose_b ? 1 : 0];
  if (columns.is_constant() && rows.is_constant() && !(columns == rows)) {
    return context.ShapeMismatch(
        StrCat("inputs A and B are ", a.type(), " and ", b.type(),
               ", of which attributes transA ", transpose_a ? 1 : 0,
               " and transB ", transpose_b ? 1 : 0, " make no product"));
  }
  Value y = Times(context, context.Emit(Op::kDotGeneral, {a, b}, dot), alpha);
  if (context.HasInput(2) && beta != 0) {
    const std::vector<Value> terms =
        BroadcastAll(context, {y, context.Input(2)});
    y = context.Emit(Op::kAdd, {terms[0], Times(context, terms[1], beta)});
  }
  return context.Output(0, y);
}

Status AddBias(NodeContext& context, Value y) {
  if (context.HasInput(2)) {
    const Value bias = context.Input(2);
    if (context.rank(bias) != 1) {
      return NodeContext::Error(StrCat("input B (the bias) has rank ",
                                       context.rank(bias), ", expected 1"));
    }
    const Value spread = context.builder().BroadcastTo(
        context.PerChannel(bias, context.rank(y)), context.shape(y));
    y = context.Emit(Op::kAdd, {y, spread});
  }
  return context.Output(0, y);
}

Status Conv(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  Value x = context.Input(0), w = context.Input(1);
  ENCORE_ASSIGN_OR_RETURN(const int64_t groups,
                          context.attributes().Int("group", 1));
  if (groups == 1 && x.rank() > 2 && w.rank() > 2) {
    UnifyDims(context, &x, 1, &w, 1);
  }
  ENCORE_ASSIGN_OR_RETURN(ConvolutionAttrs convolution,
                          ReadConvolution(context, &x, w));
  return AddBias(context, context.Emit(Op::kConvolution, {x, w}, convolution));
}

// Padding of a transposed convolution that is not given as such: from
// output_shape, or from auto_pad, which asks for extent * stride results.
Status TransposedPadding(NodeContext& context, const Shape& input,
                         const Ints& extra, Window* window) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const std::string auto_pad,
                          attributes.String("auto_pad", "NOTSET"));
  ENCORE_ASSIGN_OR_RETURN(auto wanted, attributes.OptionalInts("output_shape"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!wanted && !same) return OkStatus();
  const size_t spatial = window->sizes.size();
  if (wanted && wanted->size() == spatial + 2) {
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  }
  if (wanted) {
    ENCORE_RETURN_IF_ERROR(CheckEntries(*wanted, spatial, 0, "output_shape"));
  }
  for (size_t i = 0; i < spatial; ++i) {
    const Dim& extent = input[static_cast<int>(i) + 2];
    const int64_t stride = window->strides[i];
    const Dim size = wanted ? Dim((*wanted)[i]) : extent * stride;
    const Dim padding = (extent - 1) * stride + extra[i] +
                        (window->sizes[i] - 1) * window->dilations[i] + 1 -
                        size;
    // What is asked for beyond the convolution's reach stays empty, at the end.
    const Dim total = Max(padding, 0);
    window->padding_low[i] =
        FloorDiv(auto_pad == "SAME_UPPER" ? total : total + 1, 2);
    window->padding_high[i] = padding - window->padding_low[i];
  }
  return OkStatus();
}

// The attributes of a transposed convolution's window. auto_pad means something
// else here than for the other windows, see TransposedPadding.
StatusOr<Window> TransposedWindow(NodeContext& context, const Shape& input,
                                  Ints sizes, Ints* extra) {
  Node plain = context.node();
  std::erase_if(plain.attributes,
                [](const Attribute& a) { return a.name == "auto_pad"; });
  NodeContext plain_context(plain, context.scope(), context.source());
  ENCORE_ASSIGN_OR_RETURN(
      Window window, ReadWindow(plain_context, input, std::move(sizes), false));
  for (const std::string_view name :
       {"kernel_shape", "strides", "dilations", "pads"}) {
    context.attributes().Ignore(name);
  }
  const size_t spatial = window.sizes.size();
  ENCORE_ASSIGN_OR_RETURN(
      *extra, context.attributes().Ints("output_padding", Ints(spatial, 0)));
  ENCORE_RETURN_IF_ERROR(CheckEntries(*extra, spatial, 0, "output_padding"));
  ENCORE_RETURN_IF_ERROR(TransposedPadding(context, input, *extra, &window));
  return window;
}

// Weights [C, O / g, spatial…] as those of the convolution that computes the
// gradient: [O, C / g, spatial…], reversed.
Value TransposedKernel(NodeContext& context, Value weights, int64_t groups) {
  const std::vector<int64_t> kernel = context.shape(weights).ConstantDims();
  Dims split = {groups, kernel[0] / groups, kernel[1]};
  Dims joined = {groups * kernel[1], kernel[0] / groups};
  Ints order = {0, 2, 1}, axes;
  for (size_t i = 2; i < kernel.size(); ++i) {
    split.push_back(kernel[i]);
    joined.push_back(kernel[i]);
    order.push_back(static_cast<int64_t>(i + 1));
    axes.push_back(static_cast<int64_t>(i));
  }
  const Value exchanged =
      context.Emit(Op::kTranspose, {context.Reshape(weights, std::move(split))},
                   TransposeAttrs{std::move(order)});
  return context.Emit(Op::kReverse,
                      {context.Reshape(exchanged, std::move(joined))},
                      AxesAttrs{std::move(axes)});
}

// The gradient of a convolution: one over the input spread by the strides, with
// the kernel reversed and its channel dims exchanged within each group.
Status ConvTranspose(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  const Value x = context.Input(0), w = context.Input(1);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(Ints sizes, KernelSizes(context, w, shape.rank()));
  Ints extra;
  ENCORE_ASSIGN_OR_RETURN(
      Window window,
      TransposedWindow(context, shape, std::move(sizes), &extra));
  ENCORE_ASSIGN_OR_RETURN(const int64_t groups,
                          context.attributes().Int("group", 1));
  const int64_t channels = context.shape(w)[0].constant();
  if (groups < 1 || channels % groups != 0) {
    return NodeContext::Error(StrCat("attribute group is ", groups, " for ",
                                     channels, " input channels"));
  }
  ConvolutionAttrs convolution;
  convolution.strides = Ints(window.sizes.size(), 1);
  convolution.lhs_dilation = window.strides;
  convolution.rhs_dilation = window.dilations;
  convolution.feature_groups = groups;
  for (size_t i = 0; i < window.sizes.size(); ++i) {
    const int64_t reach = (window.sizes[i] - 1) * window.dilations[i];
    // Padding takes from the result.
    Dim &low = window.padding_low[i], &high = window.padding_high[i];
    low = 0 - low;
    high = extra[i] - high;
    const bool constant = low.is_constant() && high.is_constant();
    convolution.padding_low.push_back(reach + (constant ? low.constant() : 0));
    convolution.padding_high.push_back(reach +
                                       (constant ? high.constant() : 0));
  }
  const Value y = context.Emit(
      Op::kConvolution, {x, TransposedKernel(context, w, groups)}, convolution);
  return AddBias(context,
                 PadByHand(context, y, context.Scalar(x.dtype(), 0), &window));
}

constexpr Converter kConverters[] = {
    {"Conv", Conv, Op::kConvolution},
    {"ConvTranspose", ConvTranspose, Op::kConvolution},
    {"Gemm", Gemm, Op::kDotGeneral},
    {"MatMul", MatrixProduct, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> ContractionConverters() { return kConverters; }

}  // namespace encore::onnx
