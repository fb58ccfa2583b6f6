#include "encore/ir/import/onnx/scope/element_shape.h"

#include <utility>

namespace encore::onnx {

ElementShape ElementShape::Of(const Shape& shape) {
  ElementShape known{Kind::kRanked};
  for (const Dim& dim : shape.dims()) {
    known.dims.push_back(dim.is_constant() ? std::optional(dim.constant())
                                           : std::nullopt);
  }
  return known;
}

ElementShape Join(const ElementShape& a, const ElementShape& b) {
  using Kind = ElementShape::Kind;
  if (a.kind == Kind::kNone) return b;
  if (b.kind == Kind::kNone) return a;
  if (a.kind == Kind::kMixed || b.kind == Kind::kMixed ||
      a.dims.size() != b.dims.size()) {
    return {};
  }
  ElementShape joined = a;
  for (size_t d = 0; d < joined.dims.size(); ++d) {
    if (joined.dims[d] != b.dims[d]) joined.dims[d].reset();
  }
  return joined;
}

void ElementShapes::Set(Value object, ElementShape shape) {
  known_[object.id()] = std::move(shape);
}

ElementShape ElementShapes::Find(const encore::Graph& graph, ValueId object) {
  const NodeId node = graph.producer(object);
  const auto operands = graph.operands(node);
  const auto known = [&](ValueId value) {
    const auto found = known_.find(value);
    return found == known_.end() ? ElementShape() : found->second;
  };
  switch (graph.op(node)) {
    case Op::kSequence: {
      ElementShape joined = ElementShape::None();
      for (const ValueId element : operands) {
        joined = Join(joined, ElementShape::Of(graph.shape(element)));
      }
      return joined;
    }
    case Op::kSequenceInsert:
      return Join(known(operands[0]),
                  ElementShape::Of(graph.shape(operands[1])));
    case Op::kSequenceErase:
    case Op::kOptionalGet:
      return known(operands[0]);
    case Op::kSequenceSplit: {
      const auto& attrs = graph.attrs<SequenceSplitAttrs>(node);
      ElementShape piece = ElementShape::Of(graph.shape(operands[0]));
      if (attrs.squeeze) {
        piece.dims.erase(piece.dims.begin() + attrs.axis);
      } else {
        piece.dims[attrs.axis].reset();
      }
      return piece;
    }
    case Op::kOptional:
      if (operands.empty()) return ElementShape::None();
      return graph.type(operands[0]).kind == ValueKind::kTensor
                 ? ElementShape::Of(graph.shape(operands[0]))
                 : known(operands[0]);
    default:
      return {};
  }
}

const ElementShape& ElementShapes::Of(const encore::Graph& graph,
                                      ValueId object) {
  // Objects that others are made of come first.
  std::vector<ValueId> work = {object};
  while (!work.empty()) {
    const ValueId next = work.back();
    const NodeId node = graph.producer(next);
    const size_t before = work.size();
    if (!known_.contains(next) && graph.info(node).has(kNonFlatValues)) {
      for (const ValueId operand : graph.operands(node)) {
        if (graph.type(operand).kind != ValueKind::kTensor &&
            !known_.contains(operand)) {
          work.push_back(operand);
        }
      }
    }
    if (work.size() > before) continue;
    work.pop_back();
    if (!known_.contains(next)) known_.emplace(next, Find(graph, next));
  }
  return known_.at(object);
}

}  // namespace encore::onnx
