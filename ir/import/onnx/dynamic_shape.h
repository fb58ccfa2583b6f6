// Sizes that are known only when a graph runs.
#ifndef ENCORE_IR_IMPORT_ONNX_DYNAMIC_SHAPE_H_
#define ENCORE_IR_IMPORT_ONNX_DYNAMIC_SHAPE_H_

#include <cstdint>
#include <optional>

#include "encore/ir/builder.h"
#include "encore/ir/dim.h"
#include "encore/ir/import/onnx/context.h"

namespace encore::onnx {

// A new symbol for a size in [lower, upper] that a node finds out; without an
// upper bound any size that a dim may have.
Dim RunTimeSize(NodeContext& context, int64_t lower,
                std::optional<int64_t> upper);

// 0, 1, … below `count`, an i64 scalar, as an i64 vector of run-time size at
// most `upper`.
Value CountUp(NodeContext& context, Value count, std::optional<int64_t> upper);

// The positions in ascending order where the vector `mask` is true, as an i64
// vector of run-time size.
Value PositionsOf(NodeContext& context, Value mask);

// The first elements of the vector `buffer` under the shape whose extents are
// the elements of `dims`; `a` and `b` are the two shapes that it may be, of one
// rank and of known extents.
Value TakeFront(NodeContext& context, Value buffer, Value dims, const Shape& a,
                const Shape& b);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_DYNAMIC_SHAPE_H_
