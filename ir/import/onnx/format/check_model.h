// Checks of a whole ONNX model before anything of it is imported: the format,
// the opsets, the names, and every node, those of subgraphs too, against the
// standard's table of operators.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_CHECK_MODEL_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_CHECK_MODEL_H_

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/import/onnx/format/warnings.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The version of the operators of the node's domain that the model, or the
// function it was in, imports; 0 where it does not name the domain, but for
// com.microsoft 1, of which CheckModel warns. "" and "ai.onnx" are the default
// domain.
int64_t OpsetOf(const Model& model, const Node& node);

// The node's operator as the model's opsets have it. InvalidArgument where no
// opset is imported for its domain, Unimplemented where domain or operator are
// not the standard's.
StatusOr<const Schema*> SchemaOf(const Model& model, const Node& node);

// Checks the model's functions, those that nothing calls too, before calls are
// replaced. InvalidArgument or Unimplemented, naming the function and the node.
// Of a newer version than is known, of the format or an opset, it is warned:
// the operators are checked against what the newest that is known says of them.
Status CheckFunctions(const Model& model, Warnings& warnings);

// Checks all else, once calls are replaced; errors alike.
Status CheckModel(const Model& model, Warnings& warnings);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_CHECK_MODEL_H_
