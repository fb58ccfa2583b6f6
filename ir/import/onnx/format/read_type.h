// Types of a model's values, as model.h has them.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_READ_TYPE_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_READ_TYPE_H_

#include <string>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/wire.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Types nest in each other at most so deep.
inline constexpr int kMaxTypeDepth = 64;

// Reads a TypeProto. InvalidArgument where the bytes are none, or nest deeper
// than kMaxTypeDepth.
Status ReadType(Wire wire, Type* type);

// The type as the standard writes it: "seq(tensor(float))". Nothing for kNone.
std::string TypeText(const Type& type);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_READ_TYPE_H_
