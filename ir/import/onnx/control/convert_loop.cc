// Loop: as one node; where values change their shape trip by trip, if it has
// few, else in boxes.

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
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

// Whether a trip by itself, or a loop that carries its values in boxes, may get
// past what a body stopped at.
bool IsForTheRun(Obstacle obstacle) {
  return obstacle == Obstacle::kUnknown || obstacle == Obstacle::kMixedRanks;
}

// The graphs of a loop that is unrolled have at most this many nodes.
constexpr int64_t kMaxUnrolledNodes = 4096;

// What a Loop's operands are, apart from the captures.
struct LoopInputs {
  Value trips, condition;
  std::optional<int64_t> known_trips;
  std::optional<int64_t> most_trips;  // an upper bound
  bool starts_true = true;
  std::vector<Value> carried;
};

LoopInputs ReadLoop(NodeContext& context) {
  GraphBuilder& g = context.builder();
  LoopInputs loop;
  if (context.HasInput(0)) {
    const auto known = context.scope().AsDims(context.node().inputs[0]);
    if (known && known->dims.size() == 1) {
      const Dim& trips = known->dims[0];
      loop.most_trips =
          std::max<int64_t>(trips.UpperBound(g.graph().symbols()), 0);
      if (trips.is_constant()) loop.known_trips = loop.most_trips;
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
  const bool sequence = state.kind == ValueKind::kOptionalSequence;
  if (!IsOptional(state.kind) || type.dtype != state.dtype ||
      type.kind != (sequence ? ValueKind::kSequence : ValueKind::kTensor)) {
    return false;
  }
  *value =
      g.Node1(Op::kOptional, {*value}, OptionalAttrs{type.dtype, sequence});
  return true;
}

// The trips one after the other, for a loop whose values change their shape, or
// whose body needs to know its trip: binds the outputs. False where that does
// not do, and a node has to give them. Where the condition alone says how many
// trips there are, they are taken as long as it is known and the graph does not
// grow too large, whatever loops are in the body.
StatusOr<bool> Unroll(NodeContext& context, const Graph& graph,
                      const LoopInputs& loop) {
  GraphBuilder& g = context.builder();
  const int64_t most_trips =
      kMaxUnrolledNodes /
      std::max<int64_t>(1, static_cast<int64_t>(graph.nodes.size()));
  if (loop.known_trips.value_or(0) > most_trips) return false;
  const int64_t trips = loop.known_trips.value_or(INT64_MAX);
  const int64_t most_nodes = g.graph().node_count() + kMaxUnrolledNodes;
  const size_t carried = loop.carried.size();
  std::vector<Value> values = {g.Scalar(DType::kI64, int64_t{0}),
                               loop.condition};
  values.insert(values.end(), loop.carried.begin(), loop.carried.end());
  std::vector<std::vector<Value>> stacked(graph.outputs.size() - 1 - carried);
  std::vector<bool> wrapped(carried);
  for (int64_t trip = 0; trip < trips; ++trip) {
    const Literal* going = values[1].constant();
    if (going == nullptr) return false;
    if (going->AsInt(0) == 0) break;
    if (!loop.known_trips &&
        (trip == most_trips || g.graph().node_count() > most_nodes)) {
      return false;
    }
    values[0] = g.Scalar(DType::kI64, trip);
    Obstacle obstacle = Obstacle::kNone;
    const StatusOr<std::vector<Value>> inlined =
        Inline(context, graph, values, &obstacle);
    if (!inlined.ok() && IsForTheRun(obstacle)) return false;
    if (!inlined.ok()) return context.scope().Stop(obstacle, inlined.status());
    const std::vector<Value>& outputs = *inlined;
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
    // Without a trip nothing says what would be stacked.
    if (slices.empty()) return false;
    if (std::ranges::any_of(slices, [&](const Value& slice) {
          return slice.valid() && slice.type() != slices[0].type();
        })) {
      return false;
    }
    results.push_back(g.Concat(slices, 0));
  }
  ENCORE_RETURN_IF_ERROR(BindOutputs(context, results));
  return true;
}

// How often a body is imported at most until what is known of its tensors holds
// for every trip.
constexpr int kMaxPasses = 4;

// The body of a loop under construction. Carried tensors whose extents change
// from trip to trip are in boxes. Stacked ones whose extents are data-dependent
// within a trip are gathered in sequences, which are carried too: its last
// formals.
struct LoopBody {
  Body body;
  size_t symbols = 0;  // as in IsKnownOutside
  std::vector<Formal> formals;
  struct Gathered {
    size_t output;  // of the subgraph
    ElementShape shape = {};
  };
  std::vector<Gathered> gathered;  // by formal at the end
  std::vector<bool> wrapped;       // by carried value: see Wrap
};

std::vector<Formal> FormalsOf(NodeContext& context, const LoopInputs& loop) {
  std::vector<Formal> formals = {{{DType::kI64, Shape(), ValueKind::kTensor}},
                                 {{DType::kBool, Shape(), ValueKind::kTensor}}};
  for (const Value& value : loop.carried) {
    formals.push_back({value.type()});
    if (value.type().kind != ValueKind::kTensor) {
      formals.back().elements = context.scope().Elements(value);
    }
  }
  return formals;
}

TensorType SequenceOf(DType dtype) {
  return {dtype, Shape(), ValueKind::kSequence};
}

// Makes `formal` say no more than what holds for output `i` of the body too,
// which the next trip gets; whether it did so already. `last`: no further such
// step is wanted. What cannot be is left to Fits.
bool Widen(const Body& body, size_t i, bool boxes, bool last, Formal* formal) {
  const TensorType& next = body.outputs[i].type();
  const bool tensor = next.kind == ValueKind::kTensor;
  if (formal->type.kind == ValueKind::kTensor) {
    if (!boxes || !tensor || next == formal->type ||
        next.dtype != formal->type.dtype) {
      return true;
    }
    formal->elements = Join(ElementShape::Of(formal->type.shape),
                            ElementShape::Of(next.shape));
    formal->type = SequenceOf(next.dtype);
    formal->kind = Formal::Kind::kBoxed;
    return false;
  }
  const bool boxed = formal->kind == Formal::Kind::kBoxed;
  if (boxed != tensor) return true;
  ElementShape joined =
      Join(formal->elements,
           boxed ? ElementShape::Of(next.shape) : body.elements[i]);
  if (joined == formal->elements) return true;
  if (last) joined.dims.assign(joined.dims.size(), std::nullopt);
  formal->elements = std::move(joined);
  return false;
}

// Gathers the stacked outputs whose extents are data-dependent within a trip;
// whether all of them were already.
bool Gather(LoopBody* loop) {
  const size_t first = loop->formals.size() - 1 - loop->gathered.size();
  const size_t before = loop->gathered.size();
  for (size_t i = first; i < loop->body.outputs.size(); ++i) {
    const TensorType& type = loop->body.outputs[i].type();
    if (IsKnownOutside(type.shape, loop->symbols) ||
        std::ranges::count(loop->gathered, i, &LoopBody::Gathered::output)) {
      continue;
    }
    loop->gathered.push_back({i});
    loop->formals.push_back(
        {SequenceOf(type.dtype), ElementShape(), Formal::Kind::kHidden});
  }
  return loop->gathered.size() == before;
}

// The body of a loop; what is known of a carried sequence's tensors holds for
// those that the body makes too. Without `boxes` none is made.
StatusOr<LoopBody> MakeLoopBody(NodeContext& context, const Graph& graph,
                                const LoopInputs& inputs,
                                const Captures& captures, bool boxes,
                                Obstacle* obstacle) {
  LoopBody loop;
  loop.symbols = context.builder().graph().symbols().size();
  loop.formals = FormalsOf(context, inputs);
  for (int pass = 1;; ++pass) {
    ENCORE_ASSIGN_OR_RETURN(
        loop.body, MakeBody(context, context.builder(), graph, captures,
                            loop.formals, {.obstacle = obstacle}));
    bool holds = true;
    for (size_t i = 0; i < inputs.carried.size(); ++i) {
      holds &= Widen(loop.body, 1 + i, boxes, pass >= kMaxPasses,
                     &loop.formals[2 + i]);
    }
    if (boxes) holds &= Gather(&loop);
    if (holds) return loop;
  }
}

// Moves the gathered outputs behind the carried ones, as longer sequences.
void AppendGathered(LoopBody* loop) {
  Body& body = loop->body;
  GraphBuilder& g = *body.builder;
  const size_t count = loop->gathered.size();
  const size_t carried = loop->formals.size() - 2 - count;
  std::vector<Value> outputs(body.outputs.begin(),
                             body.outputs.begin() + 1 + carried);
  for (size_t n = 0; n < count; ++n) {
    const Value sequence = body.inputs[2 + carried + n];
    const Value tensor = body.outputs[loop->gathered[n].output];
    loop->gathered[n].shape = ElementShape::Of(tensor.shape());
    outputs.push_back(
        g.Node1(Op::kSequenceInsert,
                {sequence, tensor, g.Node1(Op::kSequenceLength, {sequence})}));
  }
  for (size_t i = 1 + carried; i < body.outputs.size(); ++i) {
    if (!std::ranges::count(loop->gathered, i, &LoopBody::Gathered::output)) {
      outputs.push_back(body.outputs[i]);
    }
  }
  body.outputs = std::move(outputs);
}

// Brings what the body gives into the types that the loop carries and gives;
// whether that is possible.
bool Fit(size_t carried, LoopBody* loop) {
  Body& body = loop->body;
  GraphBuilder& g = *body.builder;
  for (size_t i = 0; i < carried; ++i) {
    Value& output = body.outputs[1 + i];
    const Formal& formal = loop->formals[2 + i];
    const Shape shape = output.shape();
    const bool tensor = output.type().kind == ValueKind::kTensor;
    if (formal.kind == Formal::Kind::kBoxed && tensor) output = Box(g, output);
    loop->wrapped.push_back(Wrap(formal.type, g, &output));
    if (loop->wrapped[i] && output.type().kind == ValueKind::kOptional) {
      body.elements[1 + i] = ElementShape::Of(shape);
    }
    if (output.type() != formal.type) return false;
  }
  AppendGathered(loop);
  return std::ranges::all_of(body.outputs, [&](const Value& output) {
    return IsKnownOutside(output.shape(), loop->symbols);
  });
}

// The loop as one node: its results.
StatusOr<std::vector<Value>> AddLoop(NodeContext& context,
                                     const LoopInputs& inputs,
                                     const Captures& captures, LoopBody* loop) {
  GraphBuilder& g = context.builder();
  Body& body = loop->body;
  Value& condition = body.outputs[0];
  condition = body.builder->Reshape(condition, {});
  const bool stays_true = condition.constant() != nullptr
                              ? condition.constant()->AsInt(0) != 0
                              : condition.id() == body.inputs[1].id();
  const size_t carried = loop->formals.size() - 2;
  LoopAttrs attrs;
  attrs.carried = static_cast<int64_t>(carried);
  if (inputs.known_trips) attrs.max_trips = *inputs.known_trips;
  if (body.outputs.size() > 1 + carried) {
    const bool counted = inputs.known_trips && inputs.starts_true && stays_true;
    attrs.trips = {counted ? Dim(*inputs.known_trips)
                           : RunTimeSize(g, inputs.most_trips)};
  }
  std::vector<Value> operands = {inputs.trips, inputs.condition};
  for (size_t i = 0; i < carried; ++i) {
    const Formal& formal = loop->formals[2 + i];
    switch (formal.kind) {
      case Formal::Kind::kPlain:
        operands.push_back(inputs.carried[i]);
        break;
      case Formal::Kind::kBoxed:
        operands.push_back(Box(g, inputs.carried[i]));
        break;
      case Formal::Kind::kHidden:
        operands.push_back(
            g.Node(Op::kSequence, {}, ElementTypeAttrs{formal.type.dtype})[0]);
        break;
    }
  }
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  ENCORE_ASSIGN_OR_RETURN(encore::Graph built, body.Build());
  std::vector<encore::Graph> bodies;
  bodies.push_back(std::move(built));
  std::vector<Value> results =
      g.Node(Op::kLoop, operands, std::move(attrs), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(g.status());
  return results;
}

// The value of carried value `i` after the last trip, as the node gives it.
StatusOr<Value> TakeCarried(NodeContext& context, const LoopInputs& inputs,
                            const LoopBody& loop, size_t i, Value result) {
  const Formal& formal = loop.formals[2 + i];
  if (formal.kind == Formal::Kind::kBoxed) {
    return Unbox(context.scope(), result, formal.elements);
  }
  if (formal.type.kind == ValueKind::kTensor) return result;
  context.scope().SetElements(result,
                              Join(context.scope().Elements(inputs.carried[i]),
                                   loop.body.elements[1 + i]));
  if (!loop.wrapped[i]) return result;
  return ValueOf(context, result);
}

// Binds the node's outputs to what the loop's results are.
Status BindResults(NodeContext& context, const LoopInputs& inputs,
                   const LoopBody& loop, std::span<const Value> results) {
  const size_t carried = inputs.carried.size();
  std::vector<Value> outputs;
  for (size_t i = 0; i < carried; ++i) {
    ENCORE_ASSIGN_OR_RETURN(outputs.emplace_back(),
                            TakeCarried(context, inputs, loop, i, results[i]));
  }
  outputs.insert(outputs.end(),
                 results.begin() + carried + loop.gathered.size(),
                 results.end());
  // In the order in which they were found.
  std::map<size_t, Value> gathered;
  for (size_t n = 0; n < loop.gathered.size(); ++n) {
    ENCORE_ASSIGN_OR_RETURN(
        gathered[loop.gathered[n].output - 1],
        Stack(context.scope(), results[carried + n], loop.gathered[n].shape));
  }
  for (const auto& [output, value] : gathered) {
    outputs.insert(outputs.begin() + output, value);
  }
  return BindOutputs(context, outputs);
}

Status Loop(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(0, INT16_MAX));
  ENCORE_ASSIGN_OR_RETURN(const Graph* graph,
                          context.attributes().RequiredGraph("body"));
  const LoopInputs inputs = ReadLoop(context);
  const size_t carried = inputs.carried.size();
  if (graph->inputs.size() != 2 + carried ||
      graph->outputs.size() < 1 + carried) {
    return NodeContext::Error(StrCat(
        "attribute body has ", graph->inputs.size(), " inputs and ",
        graph->outputs.size(), " outputs for ", carried, " carried values"));
  }
  if (context.HasInput(1)) {
    ENCORE_RETURN_IF_ERROR(CheckFormal(context.scope(), graph->inputs[1],
                                       context.Input(1).type()));
  }
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {graph}));
  // A known, small number of trips is better taken one by one than with boxes.
  Obstacle obstacle = Obstacle::kNone;
  StatusOr<LoopBody> made =
      MakeLoopBody(context, *graph, inputs, captures,
                   /*boxes=*/!inputs.known_trips, &obstacle);
  if (!made.ok() && !IsForTheRun(obstacle)) {
    return context.scope().Stop(obstacle, made.status());
  }
  bool fits = made.ok() && Fit(carried, &*made);
  if (!fits) {
    ENCORE_ASSIGN_OR_RETURN(const bool unrolled,
                            Unroll(context, *graph, inputs));
    if (unrolled) return OkStatus();
  }
  if (!fits && inputs.known_trips) {
    made = MakeLoopBody(context, *graph, inputs, captures, /*boxes=*/true,
                        &obstacle);
    fits = made.ok() && Fit(carried, &*made);
  }
  if (!made.ok()) return context.scope().Stop(obstacle, made.status());
  if (!fits) {
    return NodeContext::Error(
        "a loop-carried value changes its type between iterations");
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          AddLoop(context, inputs, captures, &*made));
  return BindResults(context, inputs, *made, results);
}

constexpr Converter kConverters[] = {
    {"Loop", Loop, Op::kLoop},
};

}  // namespace

std::span<const Converter> LoopConverters() { return kConverters; }

}  // namespace encore::onnx
