#include "encore/opt/passes/size_assertions.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/ir/types/dim_symbols.h"

namespace encore::opt {
namespace {

using Values = std::vector<Value>;

bool IsDataDependent(const Dim& dim, std::span<const Symbol> symbols) {
  bool found = false;
  ForEachSymbol(dim,
                [&](uint32_t symbol) { found |= symbols[symbol].at_run_time; });
  return found;
}

// What must be positive for the node to make sense; those that inputs' shapes
// decide are checked when the graph is specialized.
std::vector<Dim> OpenSizes(const Graph& graph, NodeId node) {
  std::vector<TensorType> types;
  for (const ValueId operand : graph.operands(node)) {
    types.push_back(graph.type(operand));
  }
  std::vector<Dim> open;
  const InferContext context{graph.op(node),  graph.attributes(node),
                             types,           {},
                             graph.symbols(), &open};
  if (!InferTypes(context).ok()) return {};
  std::erase_if(open, [&](const Dim& dim) {
    return !dim.valid() || !IsDataDependent(dim, graph.symbols());
  });
  return open;
}

std::optional<Values> AssertSizes(GraphBuilder& g, const Graph& from,
                                  NodeId node,
                                  std::span<const Value> operands) {
  if (operands.empty() || !from.bodies(node).empty() ||
      operands[0].type().kind != ValueKind::kTensor) {
    return std::nullopt;
  }
  const std::vector<Dim> open = OpenSizes(from, node);
  if (open.empty()) return std::nullopt;
  const Value least = g.Reduce(g.DimValues(open), Combiner::kMin, {0});
  Values asserted(operands.begin(), operands.end());
  asserted[0] = g.Node1(
      Op::kAssertion, {operands[0], least},
      AssertionAttrs{
          StrCat(from.op(node), ": data-dependent sizes do not fit: ",
                 open[0].ToString(from.symbols()),
                 open.size() > 1 ? " or another is" : " is", " not positive")});
  return g.Node(from.op(node), asserted, from.attributes(node));
}

}  // namespace

StatusOr<std::optional<Graph>> AddSizeAssertions(const Graph& graph) {
  if (std::ranges::none_of(graph.symbols(), &Symbol::at_run_time)) {
    return std::nullopt;
  }
  return RewriteGraph(graph, AssertSizes);
}

}  // namespace encore::opt
