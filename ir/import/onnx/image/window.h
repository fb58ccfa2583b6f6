// The window attributes that convolutions and poolings share.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_WINDOW_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::onnx {

// One entry per spatial dim. Padding that auto_pad or ceil_mode make of extents
// that are no constants is an expression of them.
struct Window {
  Ints sizes, strides, dilations;
  Dims padding_low, padding_high;
};

// Whether an attribute of a window has `count` entries, which are at least
// `least` and no larger than any window; else InvalidArgument.
Status CheckEntries(const Ints& entries, size_t count, int64_t least,
                    std::string_view name);

// kernel_shape (or `sizes` where the attribute may be left out and is),
// strides, dilations, pads and auto_pad of a node over inputs of shape [N, C,
// spatial…]; `ceil_mode` adds high padding so that the last, partial window
// counts. InvalidArgument names the attribute that does not fit.
StatusOr<Window> ReadWindow(NodeContext& context, const Shape& input,
                            std::optional<Ints> sizes, bool ceil_mode);

// Does the padding of `window` that is no constant by hand: `x` with `fill`
// around it (or cut, where no window reaches), and 0 in its place in `window`.
Value PadByHand(NodeContext& context, Value x, Value fill, Window* window);

// Padding that is constant. REQUIRES that it is.
Ints ConstantPadding(const Dims& padding);

// Where along spatial axis `d` of the input the elements of the windows lie
// that give `results` [N, C, spatial…]: i64, to be broadcast to [result
// spatial…, sizes…].
Value PositionsAlong(NodeContext& context, const Window& window,
                     const Shape& results, int d);

// The spatial extents of a convolution's weights [O, C, spatial…], which must
// be known and of rank `rank`.
StatusOr<Ints> KernelSizes(NodeContext& context, Value weights, int rank);

// The attributes of a node that convolves `x`, which is padded by hand as far
// as need be, with `weights`, of which only the shape matters. InvalidArgument
// as above.
StatusOr<ConvolutionAttrs> ReadConvolution(NodeContext& context, Value* x,
                                           Value weights);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_WINDOW_H_
