// From an ONNX model to a graph.
#ifndef ENCORE_IR_IMPORT_ONNX_IMPORTER_H_
#define ENCORE_IR_IMPORT_ONNX_IMPORTER_H_

#include <cstddef>
#include <map>
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
// <input>_<dim>. External data is looked for in `folder`; empty means that
// there is none. Its files, as they were mapped, are added to `files` (may be
// null).
//
// InvalidArgument where the model breaks the standard, Unimplemented where
// Encore does not know an operator, a domain, or a form of one,
// ResourceExhausted where the bodies of nested loops come to too many nodes:
// the message names the node.
StatusOr<encore::Graph> Import(std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner,
                               const std::string& folder,
                               const ImportOptions& options,
                               MappedFiles* files = nullptr);

// The model's metadata_props; of several with one key the last counts.
StatusOr<std::map<std::string, std::string>> Metadata(
    std::span<const std::byte> bytes);

// The paths of the model's files of external data in `folder`.
StatusOr<std::vector<std::string>> DataFiles(std::span<const std::byte> bytes,
                                             const std::string& folder);

// Types of the inputs that have no initializer, and of the outputs.
StatusOr<ModelTypes> Types(std::span<const std::byte> bytes);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMPORTER_H_
