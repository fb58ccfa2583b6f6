// Loop: as one, or trip by trip where values change their shape.

#include <algorithm>
#include <optional>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/dynamic_shape.h"
#include "encore/ir/import/onnx/element_shape.h"
#include "encore/ir/import/onnx/host_values.h"
#include "encore/ir/import/onnx/subgraphs.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The graphs of a loop that is unrolled have at most this many nodes.
constexpr int64_t kMaxUnrolledNodes = 4096;

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

// Makes `value` an optional where the state of a loop is one that has a tensor
// or sequence to begin with; whether that was so.
bool Wrap(const TensorType& state, GraphBuilder& g, Value* value) {
  const TensorType type = value->type();
  const bool sequence = state.host == HostKind::kOptionalSequence;
  if (!IsOptional(state.host) || type.dtype != state.dtype ||
      type.host != (sequence ? HostKind::kSequence : HostKind::kNone)) {
    return false;
  }
  *value =
      g.Node1(Op::kOptional, {*value}, OptionalAttrs{type.dtype, sequence});
  return true;
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
  std::vector<bool> wrapped(carried);
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
    for (size_t i = 0; i < carried; ++i) {
      values[2 + i] = outputs[1 + i];
      wrapped[i] = Wrap(loop.carried[i].type(), g, &values[2 + i]);
    }
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(context.Unsqueeze(outputs[1 + carried + k], {0}));
    }
  }
  std::vector<Value> results(values.begin() + 2, values.end());
  for (size_t i = 0; i < carried; ++i) {
    if (!wrapped[i]) continue;
    ENCORE_ASSIGN_OR_RETURN(results[i], ValueOf(context, results[i]));
  }
  for (const std::vector<Value>& slices : stacked) {
    if (slices.empty()) {
      return UnimplementedError("a loop without trips has unknown outputs");
    }
    results.push_back(g.Concat(slices, 0));
  }
  return BindOutputs(context, results);
}

// How often a body is imported at most until what is known of its sequences
// holds for every trip.
constexpr int kMaxElementPasses = 4;

// The body of a loop; what is known of a carried sequence's tensors holds for
// those that the body makes too.
StatusOr<Body> MakeLoopBody(NodeContext& context, const Graph& graph,
                            const LoopInputs& loop, const Captures& captures) {
  std::vector<TensorType> formals = {{DType::kI64, Shape(), HostKind::kNone},
                                     {DType::kBool, Shape(), HostKind::kNone}};
  std::vector<ElementShape> elements(2);
  for (const Value& value : loop.carried) {
    formals.push_back(value.type());
    elements.push_back(value.type().host == HostKind::kNone
                           ? ElementShape()
                           : context.scope().Elements(value));
  }
  for (int pass = 0;; ++pass) {
    StatusOr<Body> body = MakeBody(context, context.builder(), graph, captures,
                                   formals, elements);
    if (!body.ok()) return body;
    bool holds = true;
    for (size_t i = 2; i < formals.size(); ++i) {
      if (formals[i].host == HostKind::kNone) continue;
      ElementShape joined = Join(elements[i], body->elements[i - 1]);
      if (joined == elements[i]) continue;
      holds = false;
      elements[i] =
          pass + 1 < kMaxElementPasses ? std::move(joined) : ElementShape();
    }
    if (holds) return body;
  }
}

StatusOr<std::vector<Value>> AddLoop(GraphBuilder& g, const LoopInputs& loop,
                                     const Captures& captures, LoopAttrs attrs,
                                     Body* body) {
  std::vector<Value> operands = {loop.trips, loop.condition};
  operands.insert(operands.end(), loop.carried.begin(), loop.carried.end());
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  ENCORE_ASSIGN_OR_RETURN(encore::Graph built, body->Build());
  std::vector<encore::Graph> bodies;
  bodies.push_back(std::move(built));
  std::vector<Value> results =
      g.Node(Op::kLoop, operands, std::move(attrs), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(g.status());
  return results;
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
  StatusOr<Body> made = MakeLoopBody(context, *graph, loop, captures);
  // What needs to know the trip's number to be imported.
  if (made.status().code() == StatusCode::kUnimplemented && loop.known_trips) {
    return Unroll(context, *graph, loop);
  }
  if (!made.ok()) return made.status();
  Body body = *std::move(made);
  std::vector<bool> wrapped(carried);
  for (size_t i = 0; i < carried; ++i) {
    Value& output = body.outputs[1 + i];
    const Shape shape = output.shape();
    wrapped[i] = Wrap(loop.carried[i].type(), *body.builder, &output);
    if (wrapped[i] && output.type().host == HostKind::kOptional) {
      body.elements[1 + i] = ElementShape::Of(shape);
    }
    if (body.outputs[1 + i].type() == loop.carried[i].type()) continue;
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
  ENCORE_ASSIGN_OR_RETURN(std::vector<Value> results,
                          AddLoop(g, loop, captures, std::move(attrs), &body));
  for (size_t i = 0; i < carried; ++i) {
    if (results[i].type().host == HostKind::kNone) continue;
    context.scope().SetElements(
        results[i],
        Join(context.scope().Elements(loop.carried[i]), body.elements[1 + i]));
    if (!wrapped[i]) continue;
    ENCORE_ASSIGN_OR_RETURN(results[i], ValueOf(context, results[i]));
  }
  return BindOutputs(context, results);
}

constexpr Converter kConverters[] = {
    {"Loop", Loop, Op::kLoop},
};

}  // namespace

std::span<const Converter> LoopConverters() { return kConverters; }

}  // namespace encore::onnx
