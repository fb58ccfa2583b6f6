#include "encore/ir/transform/specialize.h"

#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

Attributes Substitute(Attributes attributes,
                      std::span<const Dim> replacements) {
  VisitFields(attributes, [&](std::string_view, auto& field, const auto&) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dims>) {
      for (Dim& dim : field) dim = dim.Substitute(replacements);
    }
  });
  return attributes;
}

// Bodies nest at most kMaxBodyDepth deep.
Status Fill(const Graph& from, std::span<const Dim> replacements, Graph* to) {
  std::vector<ValueId> values(from.value_count());
  for (const NodeId node : Nodes(from)) {
    const ValueId first =
        from.result_count(node) > 0 ? from.result(node) : ValueId();
    if (from.op(node) == Op::kInput || from.op(node) == Op::kParameter) {
      const Graph::Argument& argument = *from.argument(first);
      TensorType type = from.type(first);
      type.shape = type.shape.Substitute(replacements);
      ENCORE_ASSIGN_OR_RETURN(
          values[first.value()],
          argument.is_parameter
              ? to->AddParameter(argument.name, std::move(type), argument.data,
                                 from.origin(node))
              : to->AddInput(argument.name, std::move(type),
                             from.origin(node)));
      continue;
    }
    std::vector<ValueId> operands;
    for (const ValueId operand : from.operands(node)) {
      operands.push_back(values[operand.value()]);
    }
    Graph::NodeOptions options;
    options.origin = from.origin(node);
    for (const Graph& body : from.bodies(node)) {
      Graph copy = to->NewBody(body.name());
      ENCORE_RETURN_IF_ERROR(Fill(body, replacements, &copy));
      options.bodies.push_back(std::move(copy));
    }
    const StatusOr<NodeId> added = to->AddNode(
        from.op(node), operands,
        Substitute(from.attributes(node), replacements), std::move(options));
    if (!added.ok()) return Annotate(added.status(), from.origin(node));
    for (int i = 0; i < from.result_count(node); ++i) {
      values[from.result(node, i).value()] = to->result(*added, i);
    }
  }
  for (const Graph::Output& output : from.outputs()) {
    ENCORE_RETURN_IF_ERROR(
        to->AddOutput(output.name, values[output.value.value()]));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Graph> Specialize(const Graph& graph,
                           std::span<const Dim> replacements) {
  Graph result(graph.name());
  for (const Symbol& symbol : graph.symbols()) {
    ENCORE_RETURN_IF_ERROR(result.AddSymbol(symbol).status());
  }
  ENCORE_RETURN_IF_ERROR(Fill(graph, replacements, &result));
  return result;
}

}  // namespace encore
