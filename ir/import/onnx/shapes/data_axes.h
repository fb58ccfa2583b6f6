// Axes that may be data: what is given for axes, as what it means for each dim.
//
// What is data may make no sense (an axis that is none, one named twice): the
// run then ends with an error that names the input.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_DATA_AXES_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_DATA_AXES_H_

#include <cstdint>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// One number for each of `rank` dims: of `values` for the axes that input
// `axes` names (left out: the first ones), for others `otherwise`. That each
// axis is one is required of `shapes`.
StatusOr<IndexExprs> PerDim(NodeContext& context, const IndexExprs& values,
                            int axes, int rank, int64_t otherwise,
                            ShapeBuilder* shapes);
// For each of `rank` dims 1 where input 1, axes that are data, names it, else
// 0. What the axes must fulfil is required of `shapes`.
StatusOr<IndexExprs> MarksByData(NodeContext& context, int rank,
                                 ShapeBuilder* shapes);
// `x` without (`drops`) or with dims of 1 at the axes of input 1.
StatusOr<Value> MoveOnesByData(NodeContext& context, Value x, bool drops);
// CumSum or its like along every axis, of which data pick one.
Status CumulativeByData(NodeContext& context, Combiner combiner, bool exclusive,
                        bool reverse);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_DATA_AXES_H_
