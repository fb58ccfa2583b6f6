// Where values stand in a table of keys, as nodes.
#ifndef ENCORE_IR_IMPORT_ONNX_ML_LOOKUP_H_
#define ENCORE_IR_IMPORT_ONNX_ML_LOOKUP_H_

#include "encore/ir/build/builder.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// For each element of `x` the number of the last key that equals it (a NaN any
// NaN); of others the number of keys. i32 in the shape of `x`. Numbers are
// searched for in log2(keys) steps, strings compared with every key.
//
// REQUIRES a vector `keys` of x's dtype, of fewer than 2^30 elements.
Value FindKeys(GraphBuilder& g, Value x, const Literal& keys);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_ML_LOOKUP_H_
