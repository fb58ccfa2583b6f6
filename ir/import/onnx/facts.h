// What an ONNX model's file says that takes no import.
#ifndef ENCORE_IR_IMPORT_ONNX_FACTS_H_
#define ENCORE_IR_IMPORT_ONNX_FACTS_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/import/import.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The model's metadata_props; of several with one key the last counts.
// InvalidArgument where the bytes are no model, here and below.
StatusOr<std::map<std::string, std::string>> Metadata(
    std::span<const std::byte> bytes);

// The paths of the model's files of external data in `folders`.
StatusOr<std::vector<std::string>> DataFiles(
    std::span<const std::byte> bytes, const std::vector<std::string>& folders);

// Types of the inputs that have no initializer, and of the outputs.
// Unimplemented where one is of a kind, or of elements, that Encore does not
// have.
StatusOr<ModelTypes> Types(std::span<const std::byte> bytes);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FACTS_H_
