#include "encore/ir/import/onnx/control/host_values.h"

#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The tensors of a constant as a node.
Value SequenceOfConstants(GraphBuilder& g, const Literal& sequence) {
  std::vector<Value> elements;
  for (const Literal& element : sequence.elements()) {
    elements.push_back(g.Constant(element));
  }
  return g.Node(Op::kSequence, elements, ElementTypeAttrs{sequence.dtype()})[0];
}

// The dims of a tensor of `shape` that is taken out of `object`.
StatusOr<Dims> DimsOf(Scope& scope, Value object, const ElementShape& shape) {
  if (shape.kind != ElementShape::Kind::kRanked) {
    return scope.Stop(
        Obstacle::kUnknown,
        UnimplementedError(StrCat("the rank of the tensors in ", object.type(),
                                  " must be known when the model is compiled",
                                  shape.kind == ElementShape::Kind::kNone
                                      ? ", but it is still empty"
                                      : "")));
  }
  GraphBuilder& g = scope.builder();
  Dims dims;
  for (const auto& extent : shape.dims) {
    dims.push_back(extent ? Dim(*extent) : RunTimeSize(g));
  }
  return dims;
}

}  // namespace

StatusOr<Dims> TakenShape(NodeContext& context, Value object) {
  return DimsOf(context.scope(), object, context.scope().Elements(object));
}

Value Box(GraphBuilder& g, Value tensor) {
  return g.Node1(Op::kSequence, {tensor}, ElementTypeAttrs{tensor.dtype()});
}

StatusOr<Value> Unbox(Scope& scope, Value box, const ElementShape& shape) {
  ENCORE_ASSIGN_OR_RETURN(Dims dims, DimsOf(scope, box, shape));
  GraphBuilder& g = scope.builder();
  return g.Node1(Op::kSequenceAt, {box, g.Scalar(DType::kI64, int64_t{0})},
                 ElementAttrs{std::move(dims)});
}

StatusOr<Value> Stack(Scope& scope, Value sequence, const ElementShape& shape) {
  ENCORE_ASSIGN_OR_RETURN(Dims dims, DimsOf(scope, sequence, shape));
  GraphBuilder& g = scope.builder();
  dims.insert(dims.begin(), RunTimeSize(g));
  return g.Node1(
      Op::kSequenceConcat, {sequence},
      SequenceConcatAttrs{/*axis=*/0, /*stack=*/true, std::move(dims)});
}

StatusOr<Value> ValueOf(NodeContext& context, Value optional) {
  const encore::Graph& graph = context.builder().graph();
  const NodeId maker = graph.producer(optional.id());
  if (graph.op(maker) == Op::kOptional) {
    if (graph.operands(maker).empty()) {
      return NodeContext::Error("the optional is known to have no value");
    }
    return context.builder().Wrap(graph.operand(maker, 0));
  }
  Dims shape;
  if (optional.type().kind == ValueKind::kOptional) {
    ENCORE_ASSIGN_OR_RETURN(shape, TakenShape(context, optional));
  }
  return context.Emit(Op::kOptionalGet, {optional},
                      ElementAttrs{std::move(shape)});
}

Value HostConstant(GraphBuilder& g, const Literal& literal) {
  if (literal.kind() == ValueKind::kSequence) {
    return SequenceOfConstants(g, literal);
  }
  std::vector<Value> value;
  for (const Literal& inner : literal.elements()) {
    value.push_back(inner.kind() == ValueKind::kSequence
                        ? SequenceOfConstants(g, inner)
                        : g.Constant(inner));
  }
  const bool sequence = literal.kind() == ValueKind::kOptionalSequence;
  return g.Node(Op::kOptional, value,
                OptionalAttrs{literal.dtype(), sequence})[0];
}

}  // namespace encore::onnx
