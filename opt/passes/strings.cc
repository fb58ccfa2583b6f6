#include "encore/opt/passes/strings.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/transform/rewrite.h"

namespace encore::opt {
namespace {

using Values = std::vector<Value>;

bool MovesStrings(const Graph& graph, NodeId node) {
  const OpInfo& info = graph.info(node);
  if (graph.result_count(node) != 1 ||
      graph.dtype(graph.result(node)) != DType::kString) {
    return false;
  }
  if (const auto* scatter = graph.attributes(node).GetIf<ScatterAttrs>()) {
    return scatter->update == Update::kSet;
  }
  return info.has(kMovement) || info.op == Op::kSelect;
}

// Bodies nest at most kMaxBodyDepth deep.
bool MovesAnyStrings(const Graph& graph) {
  for (const NodeId node : Nodes(graph)) {
    if (MovesStrings(graph, node)) return true;
    for (const Graph& body : graph.bodies(node)) {
      if (MovesAnyStrings(body)) return true;
    }
  }
  return false;
}

std::optional<Values> LowerNode(GraphBuilder& g, const Graph& from, NodeId node,
                                std::span<const Value> operands) {
  if (!MovesStrings(from, node)) return std::nullopt;
  Values numbered(operands.begin(), operands.end());
  Values strings = {Value()};
  Dim before = 0;
  for (Value& operand : numbered) {
    if (operand.dtype() != DType::kString) continue;
    strings.push_back(operand);
    const Shape shape = operand.shape();
    const Dim count = shape.ElementCount();
    Value numbers = g.Iota(DType::kI64, {count}, 0);
    if (before != Dim(0)) {
      const Value first = g.Reshape(g.DimValues({before}), Shape());
      numbers = g.Add(numbers, first);
    }
    operand = g.Reshape(numbers, shape);
    before = before + count;
  }
  strings[0] = g.Node(from.op(node), numbered, from.attributes(node))[0];
  return g.Node(Op::kTakeStrings, strings);
}

}  // namespace

StatusOr<std::optional<Graph>> LowerStrings(const Graph& graph) {
  if (!MovesAnyStrings(graph)) return std::nullopt;
  return RewriteGraph(graph, LowerNode);
}

}  // namespace encore::opt
