// If, Loop and Scan.

#include <algorithm>
#include <array>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/dynamic_shape.h"
#include "encore/ir/import/onnx/subgraphs.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The graphs of a loop that is unrolled have at most this many nodes.
constexpr int64_t kMaxUnrolledNodes = 4096;

Status BindOutputs(NodeContext& context, std::span<const Value> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(context.Output(static_cast<int>(i), values[i]));
  }
  return OkStatus();
}

// Where the branches of an If give output `i` in two shapes, both give it as
// the front of a buffer that is large enough, and its extents.
Status UnifyShapes(std::span<Body> branches, size_t i) {
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
    if (a.shape() == b.shape()) continue;
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

// What a Loop's operands are, apart from the captures.
struct LoopInputs {
  Value trips, condition;
  std::optional<int64_t> known_trips;
  bool starts_true = true;
  std::vector<Value> carried;
};

LoopInputs ReadLoop(NodeContext& context) {
  GraphBuilder& g = context.builder();
  LoopInputs loop;
  if (context.HasInput(0)) {
    const auto known = context.scope().AsDims(context.node().inputs[0]);
    if (known && known->dims.size() == 1 && known->dims[0].is_constant()) {
      loop.known_trips = std::max<int64_t>(known->dims[0].constant(), 0);
    }
    loop.trips = g.Cast(context.Reshape(context.Input(0), {}), DType::kI64);
  } else {
    loop.trips = g.Scalar(DType::kI64, INT64_MAX);
  }
  loop.condition = g.Constant(Literal::Scalar(true));
  if (context.HasInput(1)) {
    loop.condition = context.Reshape(context.Input(1), {});
    const Literal* known = loop.condition.constant();
    loop.starts_true = known != nullptr && known->AsInt(0) != 0;
  }
  for (int i = 2; i < context.input_count(); ++i) {
    loop.carried.push_back(context.Input(i));
  }
  return loop;
}

// The trips one after the other, for a loop whose values change their shape.
Status Unroll(NodeContext& context, const Graph& graph,
              const LoopInputs& loop) {
  const int64_t trips = loop.known_trips.value_or(INT64_MAX);
  if (trips >
      kMaxUnrolledNodes /
          std::max<int64_t>(1, static_cast<int64_t>(graph.nodes.size()))) {
    return UnimplementedError(
        "values that change their shape from trip to trip need a known, small "
        "number of trips");
  }
  GraphBuilder& g = context.builder();
  const size_t carried = loop.carried.size();
  std::vector<Value> values = {g.Scalar(DType::kI64, int64_t{0}),
                               loop.condition};
  values.insert(values.end(), loop.carried.begin(), loop.carried.end());
  std::vector<std::vector<Value>> stacked(graph.outputs.size() - 1 - carried);
  for (int64_t trip = 0; trip < trips; ++trip) {
    const Literal* going = values[1].constant();
    if (going == nullptr) {
      return UnimplementedError(
          "values that change their shape from trip to trip need a condition "
          "that is known");
    }
    if (going->AsInt(0) == 0) break;
    values[0] = g.Scalar(DType::kI64, trip);
    ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                            Inline(context, graph, values));
    values[1] = context.Reshape(outputs[0], {});
    std::copy_n(outputs.begin() + 1, carried, values.begin() + 2);
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(context.Unsqueeze(outputs[1 + carried + k], {0}));
    }
  }
  std::vector<Value> results(values.begin() + 2, values.end());
  for (const std::vector<Value>& slices : stacked) {
    if (slices.empty()) {
      return UnimplementedError("a loop without trips has unknown outputs");
    }
    results.push_back(g.Concat(slices, 0));
  }
  return BindOutputs(context, results);
}

Status Loop(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(0, INT16_MAX));
  ENCORE_ASSIGN_OR_RETURN(const Graph* graph,
                          context.attributes().RequiredGraph("body"));
  GraphBuilder& g = context.builder();
  const LoopInputs loop = ReadLoop(context);
  const size_t carried = loop.carried.size();
  if (graph->inputs.size() != 2 + carried ||
      graph->outputs.size() < 1 + carried) {
    return NodeContext::Error(StrCat(
        "attribute body has ", graph->inputs.size(), " inputs and ",
        graph->outputs.size(), " outputs for ", carried, " carried values"));
  }
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {graph}));
  std::vector<TensorType> formals = {{DType::kI64, Shape(), HostKind::kNone},
                                     {DType::kBool, Shape(), HostKind::kNone}};
  for (const Value& value : loop.carried) formals.push_back(value.type());
  StatusOr<Body> made = MakeBody(context, g, *graph, captures, formals);
  // What needs to know the trip's number to be imported.
  if (made.status().code() == StatusCode::kUnimplemented && loop.known_trips) {
    return Unroll(context, *graph, loop);
  }
  if (!made.ok()) return made.status();
  Body body = *std::move(made);
  for (size_t i = 0; i < carried; ++i) {
    if (body.outputs[1 + i].type() == formals[2 + i]) continue;
    return Unroll(context, *graph, loop);
  }
  Value& condition = body.outputs[0];
  condition = body.builder->Reshape(condition, {});
  const bool stays_true = condition.constant() != nullptr
                              ? condition.constant()->AsInt(0) != 0
                              : condition.id() == body.inputs[1].id();
  LoopAttrs attrs;
  attrs.carried = static_cast<int64_t>(carried);
  if (loop.known_trips) attrs.max_trips = *loop.known_trips;
  if (body.outputs.size() > 1 + carried) {
    const bool counted = loop.known_trips && loop.starts_true && stays_true;
    attrs.trips = {counted ? Dim(*loop.known_trips)
                           : RunTimeSize(context, 0, loop.known_trips)};
  }
  ENCORE_ASSIGN_OR_RETURN(encore::Graph built, body.Build());
  std::vector<Value> operands = {loop.trips, loop.condition};
  operands.insert(operands.end(), loop.carried.begin(), loop.carried.end());
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  std::vector<encore::Graph> bodies;
  bodies.push_back(std::move(built));
  const std::vector<Value> results =
      g.Node(Op::kLoop, operands, std::move(attrs), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(g.status());
  return BindOutputs(context, results);
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
    {"Loop", Loop, Op::kLoop},
    {"Scan", Scan, Op::kScan},
};

}  // namespace

std::span<const Converter> ControlFlowConverters() { return kConverters; }

}  // namespace encore::onnx
