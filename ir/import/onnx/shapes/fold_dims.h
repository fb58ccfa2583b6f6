// Shape arithmetic over symbols: operators on integer vectors whose elements
// are dims.
//
// What models compute from Shape (Gather, Slice, Concat, Mul, …) is followed
// here with symbolic elements, so that it ends up in shapes instead of in
// nodes.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_FOLD_DIMS_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_FOLD_DIMS_H_

#include <optional>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The node's only output as dims, where it is one of these operators and its
// inputs are known as dims; nothing otherwise. Errors where an attribute is not
// as the standard says.
StatusOr<std::optional<KnownDims>> FoldDims(NodeContext& context);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_FOLD_DIMS_H_
