#include "encore/cache/session/session_request.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "encore/cache/session/placement.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/passes/pipeline.h"

namespace encore::cache {
namespace {

Loaded::Names NamesOf(const Graph& graph, const Stencil& stencil) {
  Loaded::Names names;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (!argument.is_parameter) names.inputs.push_back(argument.name);
  }
  for (const Graph::Output& output : graph.outputs()) {
    names.outputs.push_back(output.name);
  }
  for (const Stencil::Place& place : stencil.places) {
    names.origins.push_back(place.graph->origin(place.node));
  }
  return names;
}

StatusOr<std::vector<Literal>> ParametersOf(const Graph& graph) {
  std::vector<Literal> parameters;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (!argument.is_parameter) continue;
    if (!argument.data) {
      return InvalidArgumentError(
          StrCat("parameter ", argument.name, " has no data"));
    }
    parameters.push_back(*argument.data);
  }
  return parameters;
}

bool UsesSymbols(const Graph& graph) {
  return std::any_of(graph.symbols().begin(), graph.symbols().end(),
                     [](const Symbol& symbol) { return !symbol.at_run_time; });
}

StatusOr<SessionRequest> RequestAsItIs(const Graph& graph,
                                       const SessionOptions& session,
                                       opt::PassObserver* passes) {
  SessionRequest request;
  request.passes = passes;
  ENCORE_ASSIGN_OR_RETURN(const Target target,
                          session.compiler.target(session.compile));
  Stencil stencil = MakeStencil(graph);
  request.options = session.compile;
  request.options.placement =
      CanonicalPlacement(graph, stencil, session.compile.placement);
  request.names = NamesOf(graph, stencil);
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) request.parameter_names.push_back(argument.name);
  }
  request.ingredients =
      IngredientsOf(std::move(stencil), request.options, target);
  if (!request.ingredients.unkeyable) request.key = KeyOf(request.ingredients);
  StatusOr<std::vector<Literal>> parameters = ParametersOf(graph);
  request.parameters_status = parameters.status();
  if (parameters.ok()) request.parameters = *std::move(parameters);
  return request;
}

}  // namespace

StatusOr<SessionRequest> MakeSessionRequest(const Graph& graph,
                                            const SessionOptions& session,
                                            const LoadOptions& load) {
  if (!UsesSymbols(graph) || session.compiler.symbolic_sizes) {
    return RequestAsItIs(graph, session, load.passes);
  }
  SymbolBinding binding(graph.symbols());
  for (uint32_t i = 0; i < load.sizes.size(); ++i) {
    if (!load.sizes[i]) continue;
    ENCORE_RETURN_IF_ERROR(binding.BindSymbol(i, *load.sizes[i]));
  }
  opt::PassOptions options;
  options.replacements.assign(binding.replacements().begin(),
                              binding.replacements().end());
  ENCORE_ASSIGN_OR_RETURN(
      const Graph special,
      opt::RunPasses(opt::PassesBeforeKey(), graph, options, load.passes));
  return RequestAsItIs(special, session, load.passes);
}

Status CheckKeyable(const SessionRequest& request) {
  if (!request.ingredients.unkeyable) return OkStatus();
  return FailedPreconditionError(
      StrCat("the graph cannot be cached: ", *request.ingredients.unkeyable));
}

}  // namespace encore::cache
