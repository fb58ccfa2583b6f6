#include "encore/opt/tensor/composites/decomposition.h"

#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// A graph whose inputs are the operands and whose one output is the composite's
// result.
std::optional<Graph> Decomposed(const TensorEGraph& tensors, Op op,
                                std::span<const eg::ClassId> operands,
                                const Attributes& attributes) {
  Graph empty("decomposition");
  for (const Symbol& symbol : tensors.symbols()) {
    ENCORE_CHECK(empty.AddSymbol(symbol).ok());
  }
  GraphBuilder g(std::move(empty));
  std::vector<Value> inputs;
  for (const eg::ClassId operand : operands) {
    const TensorType* const type = tensors.type(operand);
    if (type == nullptr) return std::nullopt;
    inputs.push_back(g.Input(StrCat(inputs.size()), *type));
  }
  const auto results = Decompose(g, op, attributes, inputs);
  if (!results.ok()) return std::nullopt;
  auto graph = g.Build({{"y", results->front()}});
  return graph.ok() ? std::optional(*std::move(graph)) : std::nullopt;
}

}  // namespace

eg::ClassId AddDecomposition(TensorEGraph* tensors, Op op,
                             std::span<const eg::ClassId> operands,
                             const Attributes& attributes) {
  const auto graph = Decomposed(*tensors, op, operands, attributes);
  if (!graph) return tensors->Add(op, operands, attributes);
  std::vector<eg::ClassId> classes(graph->value_count());
  for (size_t i = 0; i < operands.size(); ++i) {
    classes[graph->arguments()[i].value.value()] = operands[i];
  }
  const std::vector<bool> live = LiveNodes(*graph);
  for (const NodeId node : Nodes(*graph)) {
    if (!live[node.value()] || graph->op(node) == Op::kInput) continue;
    std::vector<eg::ClassId> own;
    for (const ValueId operand : graph->operands(node)) {
      own.push_back(classes[operand.value()]);
    }
    classes[graph->result(node).value()] =
        tensors->AddSimplified(graph->op(node), own, graph->attributes(node));
  }
  return classes[graph->outputs()[0].value.value()];
}

}  // namespace encore::opt
