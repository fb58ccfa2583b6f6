// The order in which the nodes of an ONNX graph can be imported.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_NODE_ORDER_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_NODE_ORDER_H_

#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Names that are only looked up: most tests of an import are of names.
using NameSet = absl::flat_hash_set<std::string_view>;

// "node "conv1" (Conv)"; a node without a name is named by its first output,
// one without outputs by its place in its graph, "node #3 (Conv)".
std::string NodeTitle(const Node& node);

// `known` holds the names of arguments and initializers. InvalidArgument where
// a name has no source or is produced twice, nodes depend on each other in a
// circle, or one comes before another that it reads; the message names a node.
Status CheckOrder(std::span<const Node> nodes, const NameSet& known);

// Every name that `node` reads, once and sorted: its inputs, and what its
// subgraphs capture.
std::vector<std::string_view> NamesRead(const Node& node);

// Every name that `graph` reads from the graphs around it.
std::set<std::string_view> CapturesOf(const Graph& graph);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_NODE_ORDER_H_
