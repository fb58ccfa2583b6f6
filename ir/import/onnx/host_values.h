// Tensors into sequences and optionals, and out of them.
#ifndef ENCORE_IR_IMPORT_ONNX_HOST_VALUES_H_
#define ENCORE_IR_IMPORT_ONNX_HOST_VALUES_H_

#include "encore/ir/attributes.h"
#include "encore/ir/builder.h"
#include "encore/ir/import/onnx/context.h"
#include "encore/ir/literal.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The dims of a tensor that is taken out of `object`: those that are not known
// are symbols of their own, found out when it is. Unimplemented where the rank
// is not known.
StatusOr<Dims> TakenShape(NodeContext& context, Value object);

// The value of an optional. InvalidArgument where it is known to have none.
StatusOr<Value> ValueOf(NodeContext& context, Value optional);

// A constant sequence or optional, made of its tensors. REQUIRES one.
Value HostConstant(GraphBuilder& g, const Literal& literal);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_HOST_VALUES_H_
