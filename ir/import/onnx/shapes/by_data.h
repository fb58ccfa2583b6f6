// Operators whose sizes, positions or axes are data: the forms that
// convert_shape.cc and its like have for known ones, with run-time sizes
// (dynamic_shape.h).
//
// What is data may make no sense (a negative extent, another number of
// elements): the run then ends with an error that names the input.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_BY_DATA_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_BY_DATA_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

Status ReshapeByData(NodeContext& context, bool allow_zero);
Status ExpandByData(NodeContext& context);
// `scalar` in the shape that input 0 says.
Status FillByData(NodeContext& context, Value scalar);
Status TileByData(NodeContext& context);
Status SplitByData(NodeContext& context, int64_t axis);
Status SliceByData(NodeContext& context);
Status CumSumByData(NodeContext& context, bool exclusive, bool reverse);

// One number for each of `rank` dims: of `values` for the axes that input
// `axes` names (left out: the first ones), for others `otherwise`. That each
// axis is one is required of `sizes`.
StatusOr<std::vector<Value>> PerDim(NodeContext& context,
                                    const std::vector<Value>& values, int axes,
                                    int rank, int64_t otherwise,
                                    SizesByData* sizes);
// For each of `rank` dims 1 where input 1, axes that are data, names it, else
// 0: i64 scalars. What the axes must fulfil is required of `sizes`.
StatusOr<std::vector<Value>> MarksByData(NodeContext& context, int rank,
                                         SizesByData* sizes);
// `x` without (`drops`) or with dims of 1 at the axes of input 1.
StatusOr<Value> MoveOnesByData(NodeContext& context, Value x, bool drops);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_BY_DATA_H_
