// External data: tensors whose bytes are in files beside the model's.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_EXTERNAL_FILES_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_EXTERNAL_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

struct ExternalPath {
  std::string real;  // without links
  std::string name;  // what the model calls it: a path to it by links, if any
};

// The file that a tensor with external data names. It is looked for in
// `folders`, in their order, and lies in one of them, with links followed:
// InvalidArgument otherwise, and where there are none. It need not be there.
StatusOr<ExternalPath> ExternalFile(const Tensor& tensor,
                                    const std::vector<std::string>& folders);

// The tensor's name for it, in no folder: equal ones are one file. REQUIRES
// that the tensor outlives it.
std::string_view ExternalLocation(const Tensor& tensor);

// The paths of all such files of a model, in its graph, subgraphs and
// functions: sorted, each once. What is no valid path is left out. Cost:
// O(model).
std::vector<std::string> ExternalFiles(const Model& model,
                                       const std::vector<std::string>& folders);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_EXTERNAL_FILES_H_
