#include "encore/ir/transform/rewrite.h"

#include <utility>

#include "encore/ir/support/status_macros.h"

namespace encore {
namespace {

StatusOr<Graph> Rewritten(const Graph& from, Graph to, const Rewrites& rewrites,
                          const BuilderOptions& options);

// Adds the live nodes of `from` to `builder`. `values`: by value of `from`,
// those of arguments given.
Status AddNodes(const Graph& from, const Rewrites& rewrites,
                GraphBuilder& builder, std::vector<Value>* values) {
  const std::vector<bool> live = LiveNodes(from);
  for (const NodeId node : Nodes(from)) {
    const Op op = from.op(node);
    if (!live[node.value()] || op == Op::kInput || op == Op::kParameter) {
      continue;
    }
    const auto scope = builder.Origin(from.origin(node));
    std::vector<Value> operands;
    for (const ValueId operand : from.operands(node)) {
      operands.push_back((*values)[operand.value()]);
    }
    auto results = rewrites.node ? rewrites.node(builder, from, node, operands)
                                 : std::nullopt;
    if (!results) {
      std::vector<Graph> bodies;
      for (const Graph& body : from.bodies(node)) {
        ENCORE_ASSIGN_OR_RETURN(
            Graph copy, Rewritten(body, builder.graph().NewBody(body.name()),
                                  rewrites, builder.options()));
        bodies.push_back(std::move(copy));
      }
      results =
          builder.Node(op, operands, from.attributes(node), std::move(bodies));
    }
    ENCORE_RETURN_IF_ERROR(builder.status());
    for (int i = 0; i < from.result_count(node); ++i) {
      (*values)[from.result(node, i).value()] = (*results)[i];
    }
  }
  return OkStatus();
}

// Bodies nest at most kMaxBodyDepth deep, so recursion is bounded.
StatusOr<Graph> Rewritten(const Graph& from, Graph to, const Rewrites& rewrites,
                          const BuilderOptions& options) {
  GraphBuilder builder(std::move(to), options);
  std::vector<Value> values(from.value_count());
  const std::vector<Value> arguments = CopyArguments(builder, from);
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[from.arguments()[i].value.value()] = arguments[i];
  }
  ENCORE_RETURN_IF_ERROR(AddNodes(from, rewrites, builder, &values));
  std::vector<std::pair<std::string, Value>> outputs;
  for (const Graph::Output& output : from.outputs()) {
    Value value = values[output.value.value()];
    if (rewrites.output) {
      value = rewrites.output(builder, from, output.value, value);
    }
    outputs.emplace_back(output.name, value);
  }
  return builder.Build(outputs);
}

}  // namespace

StatusOr<Graph> RewriteGraph(const Graph& graph, const NodeRewrite& rewrite,
                             const BuilderOptions& options) {
  return RewriteGraph(graph, Rewrites{rewrite, nullptr, {}}, options);
}

StatusOr<Graph> RewriteGraph(const Graph& graph, const Rewrites& rewrites,
                             const BuilderOptions& options) {
  Graph to(graph.name());
  for (const Symbol& symbol :
       rewrites.symbols.empty() ? graph.symbols() : rewrites.symbols) {
    ENCORE_RETURN_IF_ERROR(to.AddSymbol(symbol).status());
  }
  return Rewritten(graph, std::move(to), rewrites, options);
}

std::vector<Value> CopyArguments(GraphBuilder& builder, const Graph& graph) {
  std::vector<Value> values;
  for (const Graph::Argument& argument : graph.arguments()) {
    const auto scope =
        builder.Origin(graph.origin(graph.producer(argument.value)));
    const TensorType& type = graph.type(argument.value);
    values.push_back(argument.is_parameter
                         ? builder.Parameter(argument.name, type, argument.data)
                         : builder.Input(argument.name, type));
  }
  return values;
}

StatusOr<std::vector<Value>> InlineGraph(GraphBuilder& builder,
                                         const Graph& graph,
                                         std::span<const Value> inputs,
                                         const NodeRewrite& rewrite) {
  std::vector<Value> values(graph.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.arguments()[i].value.value()] = inputs[i];
  }
  ENCORE_RETURN_IF_ERROR(
      AddNodes(graph, {rewrite, nullptr, {}}, builder, &values));
  std::vector<Value> outputs;
  for (const Graph::Output& output : graph.outputs()) {
    outputs.push_back(values[output.value.value()]);
  }
  return outputs;
}

StatusOr<Graph> CopyGraph(const Graph& graph, Graph to) {
  return Rewritten(graph, std::move(to), Rewrites(), {.simplify = false});
}

StatusOr<std::vector<Graph>> CopyBodies(const Graph& graph, NodeId node,
                                        const Graph& in) {
  std::vector<Graph> bodies;
  for (const Graph& body : graph.bodies(node)) {
    ENCORE_ASSIGN_OR_RETURN(Graph copy,
                            CopyGraph(body, in.NewBody(body.name())));
    bodies.push_back(std::move(copy));
  }
  return bodies;
}

StatusOr<Graph> Simplify(const Graph& graph, const BuilderOptions& options) {
  return RewriteGraph(graph, Rewrites(), options);
}

}  // namespace encore
