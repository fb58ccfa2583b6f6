// The operator reference as text, for people and for programs.
#ifndef ENCORE_TOOLS_OPS_OP_REFERENCE_H_
#define ENCORE_TOOLS_OPS_OP_REFERENCE_H_

#include <span>
#include <string>

#include "encore/tools/ops/op_table.h"

namespace encore::tools {

// Every operator: level, signature, dtypes, attributes with their types,
// backends, ONNX names, and what it computes; then the ONNX operators with
// their opsets. ir/ops/OPS.md is this text; a test keeps it current.
std::string OpReferenceMarkdown(std::span<const OpEntry> ops,
                                std::span<const OnnxEntry> onnx);

// The same as one JSON object, {"ops": […], "onnx": […]}.
std::string OpReferenceJson(std::span<const OpEntry> ops,
                            std::span<const OnnxEntry> onnx);

// Two lines an operator.
std::string OpReferenceText(std::span<const OpEntry> ops);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPS_OP_REFERENCE_H_
