// External data: tensors whose bytes are in files beside the model's.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_EXTERNAL_FILES_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_EXTERNAL_FILES_H_

#include <string>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The path of the file that a tensor with external data names. It lies in
// `folder`, with links followed: InvalidArgument otherwise, and where `folder`
// is empty. It need not be there.
StatusOr<std::string> ExternalFile(const Tensor& tensor,
                                   const std::string& folder);

// What a model in `folder` calls that file: a path to it by links, if there are
// any.
std::string ExternalName(const Tensor& tensor, const std::string& folder);

// The paths of all such files of a model, in its graph, subgraphs and
// functions: sorted, each once. What is no valid path is left out. Cost:
// O(model).
std::vector<std::string> ExternalFiles(const Model& model,
                                       const std::string& folder);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_EXTERNAL_FILES_H_
