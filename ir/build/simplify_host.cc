#include "encore/ir/build/simplify_host.h"

#include <utility>
#include <vector>

namespace encore {
namespace {

using Elements = std::span<const ValueId>;

std::optional<int64_t> ConstantOf(const Graph& graph, ValueId scalar) {
  const Literal* literal = graph.constant(scalar);
  if (literal == nullptr || literal->element_count() != 1) return std::nullopt;
  return literal->AsInt(0);
}

// A sequence node for these elements, unless they are too many.
Simplified SequenceOf(DType dtype, std::vector<ValueId> elements) {
  if (elements.size() > kMaxKnownElements) return {};
  return PendingNode{Op::kSequence, std::move(elements),
                     ElementTypeAttrs{dtype}};
}

Simplified WithInserted(const Graph& graph, const PendingNode& node,
                        Elements elements) {
  const auto length = static_cast<int64_t>(elements.size());
  const auto index = ConstantOf(graph, node.operands[2]);
  const auto place = index ? PlaceOf(*index, length, length + 1) : index;
  if (!place) return {};
  std::vector<ValueId> longer(elements.begin(), elements.end());
  longer.insert(longer.begin() + *place, node.operands[1]);
  return SequenceOf(graph.type(node.operands[0]).dtype, std::move(longer));
}

Simplified WithoutErased(const Graph& graph, const PendingNode& node,
                         Elements elements) {
  const auto length = static_cast<int64_t>(elements.size());
  const auto index = ConstantOf(graph, node.operands[1]);
  const auto place = index ? PlaceOf(*index, length, length) : index;
  if (!place) return {};
  std::vector<ValueId> shorter(elements.begin(), elements.end());
  shorter.erase(shorter.begin() + *place);
  return SequenceOf(graph.type(node.operands[0]).dtype, std::move(shorter));
}

Simplified ElementAt(const Graph& graph, const PendingNode& node,
                     const TensorType& type, Elements elements) {
  const auto length = static_cast<int64_t>(elements.size());
  const auto index = ConstantOf(graph, node.operands[1]);
  const auto place = index ? PlaceOf(*index, length, length) : index;
  // A symbol that is defined here stays defined.
  if (!place || graph.type(elements[*place]) != type) return {};
  return elements[*place];
}

Simplified Joined(const Graph& graph, const PendingNode& node,
                  const TensorType& type, Elements elements) {
  const auto& attrs = node.attributes.Get<SequenceConcatAttrs>();
  if (attrs.stack || elements.empty()) return {};
  const PendingNode concat{
      Op::kConcat, {elements.begin(), elements.end()}, AxisAttrs{attrs.axis}};
  const auto types = graph.Infer(concat.op, concat.operands, concat.attributes);
  if (!types.ok() || types->front() != type) return {};
  return concat;
}

PendingNode ConstantNode(Literal literal) {
  return {Op::kConstant, {}, ConstantAttrs{std::move(literal)}};
}

Simplified OfOptional(const Graph& graph, const PendingNode& node,
                      const TensorType& type) {
  const NodeId maker = graph.producer(node.operands[0]);
  if (graph.op(maker) != Op::kOptional) return {};
  const auto value = graph.operands(maker);
  if (node.op == Op::kOptionalHas) {
    return ConstantNode(Literal::Scalar<bool>(!value.empty()));
  }
  if (value.empty() || graph.type(value[0]) != type) return {};
  return value[0];
}

}  // namespace

std::optional<std::span<const ValueId>> KnownElements(const Graph& graph,
                                                      ValueId sequence) {
  const NodeId maker = graph.producer(sequence);
  if (graph.op(maker) != Op::kSequence) return std::nullopt;
  const auto elements = graph.operands(maker);
  if (elements.size() > kMaxKnownElements) return std::nullopt;
  return elements;
}

std::optional<int64_t> PlaceOf(int64_t index, int64_t length, int64_t limit) {
  const int64_t place = index < 0 ? index + length : index;
  if (place < 0 || place >= limit) return std::nullopt;
  return place;
}

Simplified SimplifyHostNode(const Graph& graph, const PendingNode& node,
                            const TensorType& type) {
  if (node.op == Op::kOptionalHas || node.op == Op::kOptionalGet) {
    return OfOptional(graph, node, type);
  }
  if (node.operands.empty() ||
      graph.type(node.operands[0]).kind != ValueKind::kSequence) {
    return {};
  }
  const auto elements = KnownElements(graph, node.operands[0]);
  if (!elements) return {};
  switch (node.op) {
    case Op::kSequenceLength:
      return ConstantNode(
          Literal::Scalar(static_cast<int64_t>(elements->size())));
    case Op::kSequenceAt:
      return ElementAt(graph, node, type, *elements);
    case Op::kSequenceInsert:
      return WithInserted(graph, node, *elements);
    case Op::kSequenceErase:
      return WithoutErased(graph, node, *elements);
    case Op::kSequenceConcat:
      return Joined(graph, node, type, *elements);
    default:
      return {};
  }
}

}  // namespace encore
