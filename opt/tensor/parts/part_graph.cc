#include "encore/opt/tensor/parts/part_graph.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::opt {
namespace {

StatusOr<Graph> Extract(const Graph& graph, const Part& part) {
  Graph result = graph.NewBody("part");
  std::unordered_map<ValueId, ValueId> values;
  for (const Part::Input& input : part.inputs) {
    std::string name = StrCat(values.size());
    const TensorType& type = graph.type(input.value);
    ENCORE_ASSIGN_OR_RETURN(
        values[input.value],
        input.weight_only
            ? result.AddParameter(std::move(name), type, std::nullopt,
                                  graph.origin(graph.producer(input.value)))
            : result.AddInput(std::move(name), type,
                              graph.origin(graph.producer(input.value))));
  }
  for (const NodeId node : part.nodes) {
    std::vector<ValueId> operands;
    for (const ValueId operand : graph.operands(node)) {
      operands.push_back(values.at(operand));
    }
    ENCORE_ASSIGN_OR_RETURN(
        const NodeId added,
        result.AddNode(graph.op(node), operands, graph.attributes(node),
                       {.origin = graph.origin(node)}));
    values[graph.result(node)] = result.result(added);
  }
  for (const ValueId output : part.outputs) {
    ENCORE_RETURN_IF_ERROR(
        result.AddOutput(StrCat(result.outputs().size()), values.at(output)));
  }
  return result;
}

}  // namespace

StatusOr<PartGraph> MakePartGraph(const Graph& graph, const Part& part,
                                  const Costs& costs) {
  ENCORE_ASSIGN_OR_RETURN(Graph extracted, Extract(graph, part));
  PartGraph result{std::move(extracted), {}, {}};
  Stencil stencil = MakeStencil(result.graph);
  ByteWriter key;
  for (const Part::Input& input : part.inputs) key.Byte(input.shared);
  std::unordered_map<std::string_view, size_t> numbers;
  for (const Stencil::Place& place : stencil.places) {
    const std::string& origin = place.graph->origin(place.node);
    const auto [it, fresh] = numbers.emplace(origin, result.origins.size());
    key.Varint(it->second);
    if (!fresh) continue;
    result.origins.push_back(origin);
    key.Varint(costs.PlaceOf(origin));
  }
  // Constants that the stencil's bytes name by their digests need no more.
  result.key = StrCat(key.Take(), stencil.bytes);
  return result;
}

}  // namespace encore::opt
