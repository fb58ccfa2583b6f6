// If.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "encore/ir/import/onnx/control/host_values.h"
#include "encore/ir/import/onnx/control/subgraphs.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Where the branches of an If give output `i` in two known shapes of one rank,
// both give it as the front of a buffer that is large enough, and its extents.
void ShareBuffer(std::span<Body> branches, size_t i) {
  int64_t size = 0;
  for (const Body& branch : branches) {
    size = std::max(size, branch.outputs[i].shape().ElementCount().constant());
  }
  for (Body& branch : branches) {
    GraphBuilder& g = *branch.builder;
    const Value output = branch.outputs[i];
    const Dim count = output.shape().ElementCount();
    Literal zero(output.dtype(), {});
    branch.outputs[i] =
        g.Pad(g.Reshape(output, {count}), g.Constant(std::move(zero)), {0},
              {Dim(size) - count});
    branch.outputs.push_back(
        g.Constant(Literal::Vector<int64_t>(output.shape().ConstantDims())));
  }
}

// How an output of an If comes out of its branches.
struct BranchOutput {
  enum class Kind : uint8_t {
    kSame,    // both give one type
    kBuffer,  // the front of a buffer, its extents at `extents`
    kBox,     // in a box
  };
  Kind kind = Kind::kSame;
  Shape shapes[2];
  ElementShape elements;
  size_t extents = 0;
};

// Makes both branches give output `i` in one type; `symbols` as in
// IsKnownOutside.
StatusOr<BranchOutput> UnifyOutput(NodeContext& context,
                                   std::span<Body> branches, size_t i,
                                   size_t symbols) {
  const TensorType a = branches[0].outputs[i].type();
  const TensorType b = branches[1].outputs[i].type();
  const std::string types = StrCat("output ", i, " is ", a, " or ", b);
  if (a.dtype != b.dtype || a.kind != b.kind) {
    return NodeContext::Error(StrCat(types, ", expected one type"));
  }
  BranchOutput output;
  output.shapes[0] = a.shape;
  output.shapes[1] = b.shape;
  if (a.kind != ValueKind::kTensor) {
    output.elements = Join(branches[0].elements[i], branches[1].elements[i]);
    return output;
  }
  if (a == b && IsKnownOutside(a.shape, symbols)) return output;
  if (a.shape.rank() != b.shape.rank()) {
    return context.scope().Stop(
        Obstacle::kMixedRanks,
        UnimplementedError(StrCat(types, ", expected one rank")));
  }
  if (a.shape.is_constant() && b.shape.is_constant()) {
    output.kind = BranchOutput::Kind::kBuffer;
    output.extents = branches[0].outputs.size();
    ShareBuffer(branches, i);
    return output;
  }
  output.kind = BranchOutput::Kind::kBox;
  output.elements = Join(ElementShape::Of(a.shape), ElementShape::Of(b.shape));
  for (Body& branch : branches) {
    branch.outputs[i] = Box(*branch.builder, branch.outputs[i]);
  }
  return output;
}

// The output of an If whose node has these results.
StatusOr<Value> TakeOutput(NodeContext& context, const BranchOutput& output,
                           size_t i, std::span<const Value> results) {
  switch (output.kind) {
    case BranchOutput::Kind::kBuffer:
      return TakeFront(context, results[i], results[output.extents],
                       output.shapes[0], output.shapes[1]);
    case BranchOutput::Kind::kBox:
      return Unbox(context.scope(), results[i], output.elements);
    case BranchOutput::Kind::kSame:
      break;
  }
  if (results[i].type().kind != ValueKind::kTensor) {
    context.scope().SetElements(results[i], output.elements);
  }
  return results[i];
}

// A branch that with the extents given is none: it takes what the branches take
// and ends the run with `why`. Its outputs are like those of `other`, empty
// along its data-dependent extents.
StatusOr<Body> Impossible(NodeContext& context, const Captures& captures,
                          const Body& other, const Status& why,
                          size_t symbols) {
  Body body;
  body.builder = std::make_unique<GraphBuilder>(
      context.builder().graph().NewBody("body"), context.builder().options());
  GraphBuilder& g = *body.builder;
  const auto origin = g.Origin(context.builder().origin());
  for (const Value& value : captures.values) {
    body.inputs.push_back(
        g.Input(StrCat("in", body.inputs.size()), value.type()));
  }
  const std::string message =
      StrCat("this branch is not for the shapes given: ", Message(why));
  for (const Value& like : other.outputs) {
    const Value zero = g.Constant(Literal(like.dtype(), {}));
    Shape shape = like.shape();
    for (Dim& dim : shape.mutable_dims()) {
      if (dim.SymbolLimit() > symbols) dim = 0;
    }
    body.outputs.push_back(g.BroadcastTo(FailWith(g, zero, message), shape));
  }
  ENCORE_RETURN_IF_ERROR(g.status());
  return body;
}

// Both branches of an If, the one for true first. One that does not fit the
// extents given is replaced: data of these extents may never take it.
StatusOr<std::vector<Body>> MakeBranches(NodeContext& context,
                                         const Graph& then,
                                         const Graph& otherwise,
                                         const Captures& captures,
                                         size_t symbols) {
  Obstacle obstacles[2] = {};
  StatusOr<Body> made[] = {MakeBody(context, context.builder(), then, captures,
                                    {}, {.obstacle = &obstacles[0]}),
                           MakeBody(context, context.builder(), otherwise,
                                    captures, {}, {.obstacle = &obstacles[1]})};
  for (int i = 0; i < 2; ++i) {
    if (!made[i].ok() && obstacles[i] == Obstacle::kShapeMismatch &&
        made[1 - i].ok() && context.bodies().extents_given()) {
      made[i] = Impossible(context, captures, *made[1 - i], made[i].status(),
                           symbols);
    }
  }
  std::vector<Body> branches;
  for (int i = 0; i < 2; ++i) {
    if (!made[i].ok()) {
      return context.scope().Stop(obstacles[i], made[i].status());
    }
    branches.push_back(*std::move(made[i]));
  }
  return branches;
}

// An If whose condition is data: both branches as bodies.
Status Branch(NodeContext& context, const Graph* then, const Graph* otherwise) {
  const Value condition = context.Reshape(context.Input(0), {});
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {then, otherwise}));
  const size_t symbols = context.builder().graph().symbols().size();
  ENCORE_ASSIGN_OR_RETURN(
      std::vector<Body> branches,
      MakeBranches(context, *then, *otherwise, captures, symbols));
  std::vector<BranchOutput> outputs;
  for (size_t i = 0; i < then->outputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(outputs.emplace_back(),
                            UnifyOutput(context, branches, i, symbols));
  }
  std::vector<encore::Graph> bodies;
  for (Body& branch : branches) {
    ENCORE_ASSIGN_OR_RETURN(encore::Graph body, branch.Build());
    bodies.push_back(std::move(body));
  }
  std::vector<Value> operands = {condition};
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  const std::vector<Value> results =
      context.builder().Node(Op::kIf, operands, NoneAttrs(), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  std::vector<Value> values;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(values.emplace_back(),
                            TakeOutput(context, outputs[i], i, results));
  }
  return BindOutputs(context, values);
}

Status If(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Graph* then,
                          attributes.RequiredGraph("then_branch"));
  ENCORE_ASSIGN_OR_RETURN(const Graph* otherwise,
                          attributes.RequiredGraph("else_branch"));
  if (then->outputs.size() != otherwise->outputs.size()) {
    return NodeContext::Error(StrCat("the branches have ", then->outputs.size(),
                                     " and ", otherwise->outputs.size(),
                                     " outputs, expected the same number"));
  }
  if (const auto known = context.scope().Constant(context.node().inputs[0]);
      known && known->element_count() == 1 && known->dtype() == DType::kBool) {
    ENCORE_ASSIGN_OR_RETURN(
        const std::vector<Value> outputs,
        Inline(context, known->AsInt(0) != 0 ? *then : *otherwise, {}));
    return BindOutputs(context, outputs);
  }
  context.scope().ReadWeightsBehind(context.node().inputs[0]);
  return Branch(context, then, otherwise);
}

constexpr Converter kConverters[] = {
    {"If", If, Op::kIf},
};

}  // namespace

std::span<const Converter> ControlFlowConverters() { return kConverters; }

}  // namespace encore::onnx
