// Encore's own formats as models: a graph as text (ir/text) or protobuf
// (ir/proto).
#ifndef ENCORE_IR_IMPORT_NATIVE_IMPORTER_H_
#define ENCORE_IR_IMPORT_NATIVE_IMPORTER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/status.h"

namespace encore::native {

// The graph, with what `options` bind. InvalidArgument where the bytes are no
// such graph, or where the options name an input or symbol that it has not;
// Unimplemented for options.constants.
StatusOr<Graph> ImportText(std::span<const std::byte> bytes,
                           std::shared_ptr<const void> owner,
                           const std::vector<std::string>& folders,
                           const ImportOptions& options, MappedFiles* files);
StatusOr<Graph> ImportProto(std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner,
                            const std::vector<std::string>& folders,
                            const ImportOptions& options, MappedFiles* files);

}  // namespace encore::native

#endif  // ENCORE_IR_IMPORT_NATIVE_IMPORTER_H_
