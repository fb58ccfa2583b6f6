#include "encore/ir/import/onnx/shapes/index_range.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Values that are looked at behind one tensor of indices.
constexpr size_t kMostValues = 64;

// The first of constant indices that is none of `extent` elements.
std::optional<int64_t> Outside(const Literal& indices, int64_t extent) {
  for (int64_t i = 0; i < indices.element_count(); ++i) {
    const int64_t index = indices.AsInt(i);
    if (index < -extent || index >= extent) return index;
  }
  return std::nullopt;
}

// Which operands of `node` hold every element of its result; nothing where it
// computes or makes elements of its own.
std::optional<std::vector<ValueId>> Sources(const encore::Graph& graph,
                                            NodeId node) {
  const auto operands = graph.operands(node);
  switch (graph.op(node)) {
    case Op::kBroadcast:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kDynamicSlice:
    case Op::kReverse:
    case Op::kGather:
    case Op::kAssertion:
    case Op::kDefineSymbols:
      return {{operands[0]}};
    case Op::kConcat:
      return {{operands.begin(), operands.end()}};
    case Op::kDynamicUpdateSlice:
      return {{operands[0], operands[1]}};
    case Op::kPad:
      return {{operands[0], operands[1]}};
    case Op::kSelect:
      return {{operands[1], operands[2]}};
    case Op::kCast: {
      const DType from = graph.dtype(operands[0]);
      const DType to = graph.dtype(graph.result(node));
      if (!IsInteger(from) || !IsSigned(to) ||
          BitWidth(from) + (IsSigned(from) ? 0 : 1) > BitWidth(to)) {
        return std::nullopt;
      }
      return {{operands[0]}};
    }
    default:
      return std::nullopt;
  }
}

// How many numbers from 0 on `node` gives at most; nothing for other operators.
std::optional<Dim> CountOf(const encore::Graph& graph, NodeId node) {
  switch (graph.op(node)) {
    case Op::kIota: {
      const IotaAttrs& attrs = graph.attrs<IotaAttrs>(node);
      return attrs.shape[attrs.axis];
    }
    case Op::kArgReduce:
      return graph.shape(graph.operand(
          node, 0))[static_cast<int>(graph.attrs<ArgReduceAttrs>(node).axis)];
    case Op::kArgSort:
      return graph.shape(graph.operand(
          node, 0))[static_cast<int>(graph.attrs<ArgSortAttrs>(node).axis)];
    default:
      return std::nullopt;
  }
}

}  // namespace

bool NeverAbove(NodeContext& context, const Dim& a, const Dim& b) {
  return (b - a).LowerBound(context.builder().graph().symbols()) >= 0;
}

StatusOr<OutOfRange> RuleForIndices(NodeContext& context, Value indices,
                                    const Dim& extent, OutOfRange own) {
  const encore::Graph& graph = context.builder().graph();
  if (!indices.valid()) return own;
  const int64_t least = extent.LowerBound(graph.symbols());
  const int64_t most = extent.UpperBound(graph.symbols());
  if (const Literal* known = indices.constant()) {
    const std::optional<int64_t> wrong = Outside(*known, most);
    if (wrong && !context.scope().is_body()) {
      return NodeContext::Error(
          StrCat("input indices has ", *wrong, ", outside of ",
                 extent.ToString(graph.symbols()), " elements"));
    }
  }
  std::vector<ValueId> work = {indices.id()};
  std::set<ValueId> seen(work.begin(), work.end());
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    if (const Literal* known = graph.constant(value)) {
      if (Outside(*known, least)) return OutOfRange::kError;
      continue;
    }
    const NodeId node = graph.producer(value);
    if (const auto count = CountOf(graph, node)) {
      if (!NeverAbove(context, *count, extent)) return OutOfRange::kError;
      continue;
    }
    const auto sources = Sources(graph, node);
    if (!sources) return OutOfRange::kError;
    for (const ValueId source : *sources) {
      if (seen.insert(source).second) work.push_back(source);
    }
    if (seen.size() > kMostValues) return OutOfRange::kError;
  }
  return own;
}

}  // namespace encore::onnx
