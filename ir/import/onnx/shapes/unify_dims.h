// Shapes that must go together although sizes in them are data-dependent when
// the graph runs.
//
// Extents that are known, or symbols of the inputs, go together or do not: the
// builder says so. Where one is data-dependent, it is required to fit
// then, and the run ends with an error where it does not.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_UNIFY_DIMS_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_UNIFY_DIMS_H_

#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"

namespace encore::onnx {

// The values in the shape that all of them broadcast to, as NumPy does.
std::vector<Value> BroadcastAll(NodeContext& context,
                                std::vector<Value> values);

// Makes the extent of `x` at `x_axis` that of `y` at `y_axis`, or the other way
// around, where one is data-dependent.
void UnifyDims(NodeContext& context, Value* x, int x_axis, Value* y,
               int y_axis);

// The same for all axes but one of values of one rank; -1: all.
void UnifyDimsExcept(NodeContext& context, int axis,
                     std::vector<Value>* values);

// NumPy's matmul.
Value MatMul(NodeContext& context, Value a, Value b);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_UNIFY_DIMS_H_
