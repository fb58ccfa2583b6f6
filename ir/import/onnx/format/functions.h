// Functions that a model brings along: calls are replaced by what the function
// consists of, before anything else looks at the nodes.
//
// A call's nodes are named "call/node", its values "call#number/value". A
// function may call others, not itself; what calls amount to is bounded, since
// a small file can say a lot with calls of calls.
//
// Source: https://github.com/onnx/onnx/blob/main/docs/IR.md#functions
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_FUNCTIONS_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_FUNCTIONS_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Names that the nodes of calls have; outlives the model.
using FunctionNames = std::deque<std::string>;

// How many bytes the nodes of calls may take.
inline constexpr size_t kMaxInlinedBytes = size_t{32} << 20;

// The nodes of `branch`, a subgraph without inputs, in place of `node`: what
// they name gets names of its own. Names that they have are kept in `names`.
// InvalidArgument where it has fewer outputs than the node.
StatusOr<std::vector<Node>> BranchInPlace(const Graph& branch, const Node& node,
                                          FunctionNames* names);

// Replaces every call in the model's graph and its subgraphs. InvalidArgument
// where functions call themselves, and where a call has too
// many inputs or outputs or an unknown attribute; Unimplemented where calls
// amount to more than kMaxInlinedBytes. Cost: what is there afterwards.
Status InlineFunctions(Model* model, FunctionNames* names);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_FUNCTIONS_H_
