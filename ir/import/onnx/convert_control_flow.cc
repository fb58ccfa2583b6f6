// If, Loop and Scan.

#include <algorithm>
#include <array>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/dynamic_shape.h"
#include "encore/ir/import/onnx/element_shape.h"
#include "encore/ir/import/onnx/subgraphs.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Where the branches of an If give output `i` in two shapes, both give it as
// the front of a buffer that is large enough, and its extents.
Status UnifyShapes(std::span<Body> branches, size_t i) {
  const HostKind kinds[] = {branches[0].outputs[i].type().host,
                            branches[1].outputs[i].type().host};
  if (kinds[0] != HostKind::kNone || kinds[1] != HostKind::kNone) {
    if (kinds[0] == kinds[1]) return OkStatus();
    return NodeContext::Error(
        StrCat("output ", i, " is ", branches[0].outputs[i].type(), " or ",
               branches[1].outputs[i].type(), ", expected one type"));
  }
  const Shape shapes[] = {branches[0].outputs[i].shape(),
                          branches[1].outputs[i].shape()};
  if (!shapes[0].is_constant() || !shapes[1].is_constant() ||
      shapes[0].rank() != shapes[1].rank()) {
    return UnimplementedError(
        StrCat("output ", i, " has the shape ", shapes[0].ToString(), " or ",
               shapes[1].ToString(), ", expected known shapes of one rank"));
  }
  const int64_t size = std::max(shapes[0].ElementCount().constant(),
                                shapes[1].ElementCount().constant());
  for (Body& branch : branches) {
    GraphBuilder& g = *branch.builder;
    Value& output = branch.outputs[i];
    const std::vector<int64_t> dims = output.shape().ConstantDims();
    const Dim count = output.shape().ElementCount();
    branch.outputs.push_back(g.Constant(Literal::Vector<int64_t>(dims)));
    Literal zero(output.dtype(), {});
    output = g.Pad(g.Reshape(output, {count}), g.Constant(std::move(zero)), {0},
                   {Dim(size) - count});
  }
  return OkStatus();
}

// A branch that with the extents given is none: it takes what the branches take
// and ends the run with `why`. Its outputs are like those of `other`.
StatusOr<Body> Impossible(NodeContext& context, const Captures& captures,
                          const Body& other, const Status& why) {
  Body body;
  body.builder = std::make_unique<GraphBuilder>(
      context.builder().graph().NewBody("body"), context.builder().options());
  GraphBuilder& g = *body.builder;
  const auto origin = g.Origin(context.builder().origin());
  for (const Value& value : captures.values) {
    body.inputs.push_back(
        g.Input(StrCat("in", body.inputs.size()), value.type()));
  }
  const GuardAttrs guard{
      StrCat("this branch is not for the shapes given: ", Message(why))};
  for (const Value& like : other.outputs) {
    const Value zero = g.Constant(Literal(like.dtype(), {}));
    body.outputs.push_back(g.BroadcastTo(
        g.Node1(Op::kGuard, {zero, g.Scalar(DType::kI64, int64_t{0})}, guard),
        like.shape()));
  }
  ENCORE_RETURN_IF_ERROR(g.status());
  return body;
}

// Both branches of an If, the one for true first. One that does not fit the
// extents given is replaced: data of these extents may never take it.
StatusOr<std::vector<Body>> MakeBranches(NodeContext& context,
                                         const Graph& then,
                                         const Graph& otherwise,
                                         const Captures& captures) {
  StatusOr<Body> made[] = {
      MakeBody(context, context.builder(), then, captures, {}),
      MakeBody(context, context.builder(), otherwise, captures, {})};
  for (int i = 0; i < 2; ++i) {
    if (made[i].status().code() == StatusCode::kFailedPrecondition &&
        made[1 - i].ok() && context.bodies().extents_given()) {
      made[i] = Impossible(context, captures, *made[1 - i], made[i].status());
    }
  }
  std::vector<Body> branches;
  for (StatusOr<Body>& body : made) {
    if (!body.ok()) return body.status();
    branches.push_back(*std::move(body));
  }
  return branches;
}

// An If whose condition is data: both branches as bodies.
Status Branch(NodeContext& context, const Graph* then, const Graph* otherwise) {
  const Value condition = context.Reshape(context.Input(0), {});
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {then, otherwise}));
  ENCORE_ASSIGN_OR_RETURN(std::vector<Body> branches,
                          MakeBranches(context, *then, *otherwise, captures));
  const size_t count = then->outputs.size();
  std::vector<std::array<Shape, 2>> shapes(count);
  std::vector<size_t> differ;
  for (size_t i = 0; i < count; ++i) {
    const Value a = branches[0].outputs[i], b = branches[1].outputs[i];
    shapes[i] = {a.shape(), b.shape()};
    if (a.dtype() != b.dtype()) {
      return NodeContext::Error(StrCat("output ", i, " is ", a.dtype(), " or ",
                                       b.dtype(), ", expected one type"));
    }
    if (a.type() == b.type()) continue;
    differ.push_back(i);
    ENCORE_RETURN_IF_ERROR(UnifyShapes(branches, i));
  }
  std::vector<encore::Graph> bodies;
  for (Body& branch : branches) {
    ENCORE_ASSIGN_OR_RETURN(encore::Graph body, branch.Build());
    bodies.push_back(std::move(body));
  }
  std::vector<Value> operands = {condition};
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  std::vector<Value> results =
      context.builder().Node(Op::kIf, operands, NoneAttrs(), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  for (size_t i = 0; i < count; ++i) {
    if (results[i].type().host == HostKind::kNone) continue;
    context.scope().SetElements(
        results[i], Join(branches[0].elements[i], branches[1].elements[i]));
  }
  for (size_t k = 0; k < differ.size(); ++k) {
    const auto& [a, b] = shapes[differ[k]];
    results[differ[k]] =
        TakeFront(context, results[differ[k]], results[count + k], a, b);
  }
  return BindOutputs(context, std::span(results).first(count));
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
                                     " outputs"));
  }
  if (const auto known = context.scope().Constant(context.node().inputs[0]);
      known && known->element_count() == 1 && known->dtype() == DType::kBool) {
    ENCORE_ASSIGN_OR_RETURN(
        const std::vector<Value> outputs,
        Inline(context, known->AsInt(0) != 0 ? *then : *otherwise, {}));
    return BindOutputs(context, outputs);
  }
  return Branch(context, then, otherwise);
}

// A list attribute of a Scan with `count` entries, zeros where it is absent.
StatusOr<Ints> ScanList(NodeContext& context, std::string_view name,
                        size_t count) {
  ENCORE_ASSIGN_OR_RETURN(Ints list,
                          context.attributes().Ints(name, Ints(count, 0)));
  if (list.size() == count) return list;
  return NodeContext::Error(StrCat("attribute ", name, " has ", list.size(),
                                   " entries, expected ", count));
}

struct ScanShape {
  size_t carried = 0, scanned = 0, stacked = 0;
  Ints input_axes, output_axes, directions;
};

StatusOr<ScanShape> ReadScan(NodeContext& context, const Graph& graph) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t scanned,
                          context.attributes().RequiredInt("num_scan_inputs"));
  const int64_t inputs = context.input_count();
  if (scanned < 1 || scanned > inputs ||
      static_cast<int64_t>(graph.outputs.size()) < inputs - scanned) {
    return NodeContext::Error(StrCat("attribute num_scan_inputs is ", scanned,
                                     " for ", inputs, " inputs and ",
                                     graph.outputs.size(), " outputs"));
  }
  ScanShape scan;
  scan.scanned = static_cast<size_t>(scanned);
  scan.carried = static_cast<size_t>(inputs - scanned);
  scan.stacked = graph.outputs.size() - scan.carried;
  ENCORE_ASSIGN_OR_RETURN(scan.input_axes,
                          ScanList(context, "scan_input_axes", scan.scanned));
  ENCORE_ASSIGN_OR_RETURN(scan.output_axes,
                          ScanList(context, "scan_output_axes", scan.stacked));
  ENCORE_ASSIGN_OR_RETURN(
      scan.directions,
      ScanList(context, "scan_input_directions", scan.scanned));
  ENCORE_ASSIGN_OR_RETURN(
      const Ints backward,
      ScanList(context, "scan_output_directions", scan.stacked));
  scan.directions.insert(scan.directions.end(), backward.begin(),
                         backward.end());
  return scan;
}

// The scan in `g` over `operands`: carried and scanned values, then what is
// captured.
StatusOr<std::vector<Value>> MakeScan(NodeContext& context, GraphBuilder& g,
                                      const Graph& graph, ScanShape scan,
                                      const Captures& captures,
                                      std::span<const Value> operands) {
  std::vector<TensorType> formals;
  for (size_t i = 0; i < scan.carried + scan.scanned; ++i) {
    TensorType type = operands[i].type();
    if (i >= scan.carried) {
      int64_t& axis = scan.input_axes[i - scan.carried];
      ENCORE_ASSIGN_OR_RETURN(axis, context.Axis(axis, type.shape.rank(),
                                                 "attribute scan_input_axes"));
      std::vector<Dim>& dims = type.shape.mutable_dims();
      dims.erase(dims.begin() + axis);
    }
    formals.push_back(std::move(type));
  }
  ENCORE_ASSIGN_OR_RETURN(Body body,
                          MakeBody(context, g, graph, captures, formals));
  for (size_t k = 0; k < scan.stacked; ++k) {
    int64_t& axis = scan.output_axes[k];
    ENCORE_ASSIGN_OR_RETURN(
        axis, context.Axis(axis, body.outputs[scan.carried + k].rank() + 1,
                           "attribute scan_output_axes"));
  }
  ScanAttrs attrs;
  attrs.carried = static_cast<int64_t>(scan.carried);
  attrs.captures = static_cast<int64_t>(captures.values.size());
  attrs.scan_axes = scan.input_axes;
  attrs.scan_axes.insert(attrs.scan_axes.end(), scan.output_axes.begin(),
                         scan.output_axes.end());
  attrs.directions = scan.directions;
  ENCORE_ASSIGN_OR_RETURN(encore::Graph built, body.Build());
  std::vector<encore::Graph> bodies;
  bodies.push_back(std::move(built));
  std::vector<Value> results =
      g.Node(Op::kScan, operands, std::move(attrs), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(g.status());
  return results;
}

// Until opset 9 every value had a batch dim in front: a scan over the batch of
// scans.
StatusOr<std::vector<Value>> MakeBatchedScan(NodeContext& context,
                                             const Graph& graph,
                                             const ScanShape& scan,
                                             const Captures& captures,
                                             std::span<const Value> operands) {
  Status status;
  const auto body = [&](GraphBuilder& g, std::span<const Value> inputs) {
    StatusOr<std::vector<Value>> results =
        MakeScan(context, g, graph, scan, captures, inputs);
    status = results.status();
    return results.ok() ? *std::move(results) : std::vector<Value>(1);
  };
  ScanAttrs attrs;
  attrs.captures = static_cast<int64_t>(captures.values.size());
  std::vector<Value> results = context.builder().Scan(operands, body, attrs);
  ENCORE_RETURN_IF_ERROR(status);
  return results;
}

Status Scan(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  ENCORE_ASSIGN_OR_RETURN(const Graph* graph,
                          context.attributes().RequiredGraph("body"));
  ENCORE_ASSIGN_OR_RETURN(const bool batched,
                          context.attributes().Bool("encore.batched", false));
  ENCORE_ASSIGN_OR_RETURN(const ScanShape scan, ReadScan(context, *graph));
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {graph}));
  std::vector<Value> operands = context.Inputs();
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  StatusOr<std::vector<Value>> results =
      batched ? MakeBatchedScan(context, *graph, scan, captures, operands)
              : MakeScan(context, context.builder(), *graph, scan, captures,
                         operands);
  if (!results.ok()) return results.status();
  return BindOutputs(context, *results);
}

constexpr Converter kConverters[] = {
    {"If", If, Op::kIf},
    {"Scan", Scan, Op::kScan},
};

}  // namespace

std::span<const Converter> ControlFlowConverters() { return kConverters; }

}  // namespace encore::onnx
