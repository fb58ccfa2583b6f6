// Tensors into sequences and optionals, and out of them.
#ifndef ENCORE_IR_IMPORT_ONNX_CONTROL_HOST_VALUES_H_
#define ENCORE_IR_IMPORT_ONNX_CONTROL_HOST_VALUES_H_

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// The dims of a tensor that is taken out of `object`: those that are not known
// are symbols of their own, defined when it is. Stops at kUnknown where the
// rank is not known.
StatusOr<Dims> TakenShape(NodeContext& context, Value object);

// A sequence of `tensor` alone: what control flow carries a tensor in whose
// extents differ from branch to branch or from trip to trip.
Value Box(GraphBuilder& g, Value tensor);

// The tensor in such a sequence of the scope's graph; `shape` says its rank and
// what is known of its extents. Stops at kUnknown where the rank is not known.
StatusOr<Value> Unbox(Scope& scope, Value box, const ElementShape& shape);

// The tensors of a sequence, stacked along a new first axis; `shape` is theirs.
// Stops at kUnknown where the rank is not known.
StatusOr<Value> Stack(Scope& scope, Value sequence, const ElementShape& shape);

// The value of an optional. InvalidArgument where it is known to have none.
StatusOr<Value> ValueOf(NodeContext& context, Value optional);

// A constant sequence or optional, made of its tensors. REQUIRES one.
Value HostConstant(GraphBuilder& g, const Literal& literal);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONTROL_HOST_VALUES_H_
