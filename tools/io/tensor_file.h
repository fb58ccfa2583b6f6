// Tensors in files: NumPy's .npy and .npz (npy.h), and ONNX's TensorProto in
// .pb.
#ifndef ENCORE_TOOLS_IO_TENSOR_FILE_H_
#define ENCORE_TOOLS_IO_TENSOR_FILE_H_

#include <string>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/tools/io/npy.h"

namespace encore::tools {

// The tensor in a .npy or .pb file. Errors name the path and what is wrong with
// it.
StatusOr<Literal> ReadTensor(const std::string& path);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_IO_TENSOR_FILE_H_
