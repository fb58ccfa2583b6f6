#include "encore/ir/import/onnx/control/subgraphs.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "encore/ir/import/onnx/control/host_values.h"
#include "encore/ir/import/onnx/format/node_order.h"
#include "encore/ir/import/onnx/scope/declared.h"
#include "encore/ir/import/onnx/scope/scope.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Binds in `inner` what is captured; tensors are `inputs`.
Status BindCaptures(const Scope& outer, const Captures& captures,
                    std::span<const Value> inputs, Scope* inner) {
  for (size_t i = 0; i < captures.names.size(); ++i) {
    Bound bound = *outer.Find(captures.names[i]);
    bound.value = inputs[i];
    ENCORE_RETURN_IF_ERROR(inner->Bind(captures.names[i], std::move(bound)));
  }
  for (const std::string_view name : captures.known) {
    Bound bound = *outer.Find(name);
    bound.value.reset();
    ENCORE_RETURN_IF_ERROR(inner->Bind(name, std::move(bound)));
  }
  return OkStatus();
}

Status CheckCount(const Graph& graph, size_t count) {
  if (graph.inputs.size() == count) return OkStatus();
  return NodeContext::Error(StrCat("a subgraph has ", graph.inputs.size(),
                                   " inputs, expected ", count));
}

// What was imported into `inner`, or its error: hands on why it stopped.
template <typename T>
StatusOr<T> Leave(NodeContext& context, const Scope& inner, Obstacle* obstacle,
                  StatusOr<T> result) {
  context.scope().AddRestart(inner);
  if (result.ok()) return result;
  if (obstacle != nullptr) {
    *obstacle = inner.obstacle();
    return result;
  }
  return context.scope().Stop(inner.obstacle(), result.status());
}

// The outputs of `graph` in `scope`; `mixed` as in BodyOptions.
StatusOr<std::vector<Value>> OutputsOf(const Graph& graph, Scope& scope,
                                       bool mixed) {
  std::vector<Value> outputs;
  for (const ValueInfo& output : graph.outputs) {
    if (mixed && scope.IsMixed(output.name)) {
      outputs.emplace_back();
      continue;
    }
    ENCORE_RETURN_IF_ERROR(scope.CheckOutput(output.name));
    outputs.push_back(scope.Tensor(output.name));
  }
  return outputs;
}

}  // namespace

Status CheckFormal(Scope& scope, const ValueInfo& input, const TensorType& type,
                   bool extents) {
  return Annotate(CheckDeclared(input.name, input.type, type, extents, scope),
                  "a subgraph's input");
}

StatusOr<Captures> FindCaptures(NodeContext& context,
                                std::initializer_list<const Graph*> graphs) {
  std::set<std::string_view> all;
  for (const Graph* graph : graphs) all.merge(CapturesOf(*graph));
  Captures captures;
  for (const std::string_view name : all) {
    const Bound* bound = context.scope().Find(name);
    if (bound == nullptr) {
      return NodeContext::Error(
          StrCat("a subgraph reads ", Quote(name), ", which nothing produces"));
    }
    if ((bound->constant && !bound->is_weight) || bound->dims) {
      captures.known.push_back(name);
    } else {
      captures.names.push_back(name);
      captures.values.push_back(context.scope().Tensor(name));
    }
  }
  return captures;
}

StatusOr<encore::Graph> Body::Build() {
  std::vector<std::pair<std::string, Value>> named;
  for (size_t i = 0; i < outputs.size(); ++i) {
    named.emplace_back(StrCat("out", i), outputs[i]);
  }
  return builder->Build(named);
}

namespace {

// Fills `body`, of which there is only the builder: `scope` is its.
Status FillBody(NodeContext& context, const Graph& graph,
                const Captures& captures, std::span<const Formal> formals,
                bool mixed, Scope& scope, Body* body) {
  GraphBuilder& g = *body->builder;
  for (size_t i = 0; i < formals.size(); ++i) {
    const Formal& formal = formals[i];
    Value input = g.Input(StrCat("in", i), formal.type);
    body->inputs.push_back(input);
    if (formal.type.kind != ValueKind::kTensor) {
      scope.SetElements(input, formal.elements);
    }
    if (formal.kind == Formal::Kind::kHidden) continue;
    if (formal.kind == Formal::Kind::kBoxed) {
      ENCORE_ASSIGN_OR_RETURN(input, Unbox(scope, input, formal.elements));
    }
    ENCORE_RETURN_IF_ERROR(CheckFormal(scope, graph.inputs[i], input.type()));
    ENCORE_RETURN_IF_ERROR(scope.Bind(
        graph.inputs[i].name, Bound{input, std::nullopt, std::nullopt}));
  }
  for (const Value& value : captures.values) {
    body->inputs.push_back(
        g.Input(StrCat("in", body->inputs.size()), value.type()));
    if (value.type().kind != ValueKind::kTensor) {
      scope.SetElements(body->inputs.back(), context.scope().Elements(value));
    }
  }
  ENCORE_RETURN_IF_ERROR(
      BindCaptures(context.scope(), captures,
                   std::span(body->inputs).subspan(formals.size()), &scope));
  ENCORE_RETURN_IF_ERROR(context.bodies().ImportBody(graph, scope));
  ENCORE_ASSIGN_OR_RETURN(body->outputs, OutputsOf(graph, scope, mixed));
  for (const Value& output : body->outputs) {
    const bool object =
        output.valid() && output.type().kind != ValueKind::kTensor;
    body->elements.push_back(object ? scope.Elements(output) : ElementShape());
  }
  return g.status();
}

StatusOr<std::vector<Value>> InlineInto(NodeContext& context,
                                        const Graph& graph,
                                        std::span<const Value> formals,
                                        Scope& scope) {
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {&graph}));
  for (size_t i = 0; i < formals.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(
        CheckFormal(scope, graph.inputs[i], formals[i].type()));
    Bound bound{formals[i], std::nullopt, std::nullopt};
    if (const Literal* constant = formals[i].constant()) {
      bound.constant = *constant;
    }
    ENCORE_RETURN_IF_ERROR(scope.Bind(graph.inputs[i].name, std::move(bound)));
  }
  ENCORE_RETURN_IF_ERROR(
      BindCaptures(context.scope(), captures, captures.values, &scope));
  ENCORE_RETURN_IF_ERROR(context.bodies().ImportBody(graph, scope));
  return OutputsOf(graph, scope, /*mixed=*/false);
}

}  // namespace

StatusOr<Body> MakeBody(NodeContext& context, const GraphBuilder& outer,
                        const Graph& graph, const Captures& captures,
                        std::span<const Formal> formals, BodyOptions options) {
  const auto known =
      static_cast<size_t>(std::ranges::count_if(formals, [](const Formal& f) {
        return f.kind != Formal::Kind::kHidden;
      }));
  ENCORE_RETURN_IF_ERROR(CheckCount(graph, known));
  Body body;
  body.builder = std::make_unique<GraphBuilder>(outer.graph().NewBody("body"),
                                                context.builder().options());
  const auto origin = body.builder->Origin(outer.origin());
  Scope scope(body.builder.get(), context.scope().read_weights(),
              /*is_body=*/true);
  const Status filled =
      FillBody(context, graph, captures, formals, options.mixed, scope, &body);
  return Leave(context, scope, options.obstacle,
               filled.ok() ? StatusOr<Body>(std::move(body)) : filled);
}

bool IsKnownOutside(const Shape& shape, size_t symbols) {
  return std::ranges::all_of(shape.dims(), [&](const Dim& dim) {
    return dim.SymbolLimit() <= symbols;
  });
}

StatusOr<std::vector<Value>> Inline(NodeContext& context, const Graph& graph,
                                    std::span<const Value> formals,
                                    Obstacle* obstacle) {
  ENCORE_RETURN_IF_ERROR(CheckCount(graph, formals.size()));
  Scope scope(&context.builder(), context.scope().read_weights(),
              /*is_body=*/true);
  scope.ShareFacts(context.scope());
  return Leave(context, scope, obstacle,
               InlineInto(context, graph, formals, scope));
}

Status BindOutputs(NodeContext& context, std::span<const Value> values) {
  const size_t count = context.node().outputs.size();
  if (count > values.size()) {
    return NodeContext::Error(StrCat(
        count, " outputs are named, but the subgraphs give ", values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(context.Output(static_cast<int>(i), values[i]));
  }
  return OkStatus();
}

}  // namespace encore::onnx
