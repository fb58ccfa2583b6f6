// The table of all converters (converters.h).
#ifndef ENCORE_IR_IMPORT_ONNX_CONVERTER_TABLE_H_
#define ENCORE_IR_IMPORT_ONNX_CONVERTER_TABLE_H_

#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The converter of an operator by that name; null where there is none.
const Converter* FindConverter(std::string_view op_type);

// Converts `node`, which says what the node of `context` does, in its place.
// REQUIRES an operator that there is a converter for.
Status ConvertInstead(NodeContext& context, Node node);

// Every operator there is a converter for, sorted.
std::vector<std::string_view> ConvertedOps();

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONVERTER_TABLE_H_
