// The window attributes that convolutions and poolings share.
#ifndef ENCORE_IR_IMPORT_ONNX_WINDOW_H_
#define ENCORE_IR_IMPORT_ONNX_WINDOW_H_

#include "encore/ir/attributes.h"
#include "encore/ir/builder.h"
#include "encore/ir/import/onnx/context.h"
#include "encore/ir/shape.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// One entry per spatial dim.
struct Window {
  Ints sizes, strides, dilations, padding_low, padding_high;
};

// kernel_shape (or `sizes` where the attribute may be left out and is),
// strides, dilations, pads and auto_pad of a node over inputs of shape [N, C,
// spatial…]; `ceil_mode` adds high padding so that the last, partial window
// counts. InvalidArgument names the attribute that does not fit.
StatusOr<Window> ReadWindow(NodeContext& context, const Shape& input,
                            std::optional<Ints> sizes, bool ceil_mode);

// The spatial extents of a convolution's weights [O, C, spatial…], which must
// be known and of rank `rank`.
StatusOr<Ints> KernelSizes(NodeContext& context, Value weights, int rank);

// The attributes of a node that convolves `x` with `weights`, whose shapes only
// matter. InvalidArgument as above.
StatusOr<ConvolutionAttrs> ReadConvolution(NodeContext& context, Value x,
                                           Value weights);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_WINDOW_H_
