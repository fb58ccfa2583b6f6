// What slides over a tensor: convolutions and windows.
#include <utility>

#include "encore/opt/tensor/check/attribute_draws.h"

namespace encore::opt {

// Of points in one of three.
std::optional<AttributeDraw> AttributeDraws::DrawConvolution(
    const Shape& shape) {
  if (shape.rank() < 3) return std::nullopt;
  const bool halves =
      shape[1].is_constant() && shape[1].constant() % 2 == 0 && Chance(40);
  ConvolutionAttrs attrs;
  attrs.feature_groups = halves ? 2 : 1;
  attrs.batch_groups = !halves && shape[1].is_constant() &&
                               shape[1].constant() % 2 == 0 && Chance(20)
                           ? 2
                           : 1;
  const int64_t channels = 1 + Below(2);
  Shape image(
      {shape[0] * attrs.batch_groups, Dim(channels * attrs.feature_groups)});
  Shape kernel({shape[1], Dim(channels)});
  Ints image_source = {0, -1}, kernel_source = {1, -1};
  const bool points = !Chance(67);
  for (int i = 2; i < shape.rank(); ++i) {
    const bool strided =
        !points && shape[i].is_constant() && shape[i] != Dim(0) && Chance(20);
    const int64_t stride = strided ? 2 : 1;
    const int64_t dilation = !points && Chance(20) ? 2 : 1;
    const int64_t taps = points ? 1 : 1 + Below(3);
    const int64_t span = (taps - 1) * dilation;
    attrs.strides.push_back(stride);
    attrs.lhs_dilation.push_back(1);
    attrs.rhs_dilation.push_back(dilation);
    attrs.padding_low.push_back(Below(span / 2 + 1));
    attrs.padding_high.push_back(Below(span / 2 + 1));
    image.mutable_dims().push_back((shape[i] - 1) * stride + 1 + span -
                                   attrs.padding_low.back() -
                                   attrs.padding_high.back());
    kernel.mutable_dims().push_back(taps);
    image_source.push_back(-1);
    kernel_source.push_back(-1);
  }
  AttributeDraw draw{.attributes = attrs, .operands = {image, kernel}};
  if (attrs.batch_groups == 1) draw.sources = {image_source, kernel_source};
  return draw;
}

// A stride passes over a point more of the image, or a tap less.
AttributeDraw AttributeDraws::OtherConvolution(AttributeDraw draw) {
  const auto& attrs = draw.attributes.Get<ConvolutionAttrs>();
  Shape& image = draw.operands[0];
  Shape& kernel = draw.operands[1];
  for (int i = 2; i < image.rank(); ++i) {
    if (attrs.strides[i - 2] == 1 || attrs.rhs_dilation[i - 2] != 1) continue;
    if (kernel[i] != Dim(1) && Chance(50)) {
      kernel[i] = kernel[i] - 1;
    } else {
      image[i] = image[i] + 1;
    }
    break;
  }
  return draw;
}

AttributeDraw AttributeDraws::DrawWindow(const Shape& shape) {
  ReduceWindowAttrs attrs{.combiner = DrawCombiner()};
  Shape operand;
  for (const Dim& dim : shape.dims()) {
    const bool strided = dim.is_constant() && dim != Dim(0) && Chance(20);
    const int64_t stride = strided ? 2 : 1;
    const int64_t dilation = Chance(20) ? 2 : 1;
    const int64_t taps = 1 + Below(3);
    const int64_t span = (taps - 1) * dilation;
    attrs.window.push_back(taps);
    attrs.strides.push_back(stride);
    attrs.dilations.push_back(dilation);
    attrs.padding_low.push_back(Below(span / 2 + 1));
    attrs.padding_high.push_back(Below(span / 2 + 1));
    operand.mutable_dims().push_back((dim - 1) * stride + 1 + span -
                                     attrs.padding_low.back() -
                                     attrs.padding_high.back());
  }
  return {.attributes = attrs, .operands = {operand}};
}

}  // namespace encore::opt
