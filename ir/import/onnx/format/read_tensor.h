// Tensors of a model's file, as model.h has them.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_READ_TENSOR_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_READ_TENSOR_H_

#include <string_view>
#include <utility>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/wire.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Readers of one message each: they take fields by number and skip those they
// do not know. InvalidArgument where the bytes are no such message.
Status Read(Wire wire, std::pair<std::string_view, std::string_view>* entry);
Status Read(Wire wire, Tensor* tensor);
// A SparseTensorProto.
Status ReadSparse(Wire wire, Tensor* tensor);

// Whether a message that is a TensorProto or a SparseTensorProto is the latter:
// its second field is a message there, a number here.
bool IsSparse(Wire wire);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_READ_TENSOR_H_
