// Padding and cropping to extents that are data (by_data.h says what happens to
// data that make no sense).
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_PAD_BY_DATA_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_PAD_BY_DATA_H_

#include <string_view>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Pad in one of its modes; inputs as of opset 19.
Status PadByData(NodeContext& context, std::string_view mode);

// `x` with the extents that input i, called `name`, says for `axes`, which
// count from the first dim: cropped, or zeros around it. What is `centred`
// changes on both sides, by one more at the end where that is odd; else at the
// end.
StatusOr<Value> FitByData(NodeContext& context, Value x, const Ints& axes,
                          int i, std::string_view name, bool centred);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_PAD_BY_DATA_H_
