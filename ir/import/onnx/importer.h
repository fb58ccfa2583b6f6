// From an ONNX model to a graph.
#ifndef ENCORE_IR_IMPORT_ONNX_IMPORTER_H_
#define ENCORE_IR_IMPORT_ONNX_IMPORTER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The graph of the model whose bytes `owner` keeps alive. Names of arguments
// and outputs are the model's; a symbolic dim becomes a symbol of its name
// (letters, digits and _ kept, others replaced by _), an unnamed one
// <input>_<dim>. External data is looked for in `folders`, in
// their order, and must lie in one of them. Its files, as they were mapped, are
// added to `files` (may be null).
//
// InvalidArgument where the model breaks the standard, Unimplemented where
// Encore does not know an operator, a domain, or a form of one,
// ResourceExhausted where the bodies of nested loops come to too many nodes:
// the message names the node.
StatusOr<encore::Graph> Import(std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner,
                               const std::vector<std::string>& folders,
                               const ImportOptions& options,
                               MappedFiles* files = nullptr);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMPORTER_H_
