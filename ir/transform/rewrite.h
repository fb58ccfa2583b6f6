// A graph made anew, node by node, through a builder: what transformations
// share.
#ifndef ENCORE_IR_TRANSFORM_REWRITE_H_
#define ENCORE_IR_TRANSFORM_REWRITE_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore {

// What takes the place of a node in the new graph: its results; or nothing,
// which copies the node. `operands` are the new graph's.
using NodeRewrite = std::function<std::optional<std::vector<Value>>(
    GraphBuilder& builder, const Graph& graph, NodeId node,
    std::span<const Value> operands)>;

// What takes the place of `value`, which is the output `output` of `graph` in
// the new graph: of its type.
using OutputRewrite = std::function<Value(
    GraphBuilder& builder, const Graph& graph, ValueId output, Value value)>;

struct Rewrites {
  NodeRewrite node;      // may be null
  OutputRewrite output;  // may be null
  // The new graph's: those of the graph, some with other bounds, and more
  // behind them. Empty: the same.
  std::span<const Symbol> symbols;
};

// The graph of rewritten nodes, in bodies as well: same name, symbols,
// signature and origins; dead nodes are left out. Each node passes through the
// builder, so that with the default options the result is simplified too.
StatusOr<Graph> RewriteGraph(const Graph& graph, const NodeRewrite& rewrite,
                             const BuilderOptions& options = {});
StatusOr<Graph> RewriteGraph(const Graph& graph, const Rewrites& rewrites,
                             const BuilderOptions& options = {});

// The arguments of `graph` as those of `builder`'s, with their origins and
// data. REQUIRES a graph that shares the builder's symbols.
std::vector<Value> CopyArguments(GraphBuilder& builder, const Graph& graph);

// The nodes of `graph` in `builder`, with `inputs` for its arguments: its
// outputs. REQUIRES a graph that shares the builder's symbols and inputs of the
// arguments' types. `rewrite` may be null.
StatusOr<std::vector<Value>> InlineGraph(GraphBuilder& builder,
                                         const Graph& graph,
                                         std::span<const Value> inputs,
                                         const NodeRewrite& rewrite);

// The graph as it is, in `to`, which has its symbols and nothing else.
StatusOr<Graph> CopyGraph(const Graph& graph, Graph to);

// The bodies of a node, for a node of the graph `in`, which has the symbols.
StatusOr<std::vector<Graph>> CopyBodies(const Graph& graph, NodeId node,
                                        const Graph& in);

// The graph with the builder's local rewrites and without dead nodes.
StatusOr<Graph> Simplify(const Graph& graph,
                         const BuilderOptions& options = {});

}  // namespace encore

#endif  // ENCORE_IR_TRANSFORM_REWRITE_H_
