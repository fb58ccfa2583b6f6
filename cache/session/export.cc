#include "encore/cache/session/export.h"

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "encore/cache/key/ingredients.h"
#include "encore/cache/key/key.h"
#include "encore/cache/session/plan_maker.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/session/weight_identity.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

namespace {

// All but the compiled graph, the derived slots and the calls.
Package Described(const SessionRequest& request, const LoadOptions& options) {
  Package package;
  package.ingredients = EncodeIngredients(request.ingredients);
  package.constants = request.ingredients.constants;
  package.names = {request.names.inputs, request.names.outputs,
                   request.parameter_names, request.names.origins};
  package.parameters = request.parameters;
  package.files = options.files;
  return package;
}

// Whether `loaded` is what a load for `request` gives, under whatever names:
// the package would otherwise have a plan beside the constants of another
// graph, or prepared weights beside those of others.
Status CheckIsOf(const SessionRequest& request, const Loaded& loaded,
                 const MappedFiles& files, DiskStore* store) {
  const auto difference =
      Explain(loaded.compiled().ingredients, request.ingredients);
  if (difference) {
    return InvalidArgumentError(
        StrCat("export: what was loaded is of another graph than the one that "
               "is given, or of other options: ",
               *difference));
  }
  if (!loaded.weights_digest() ||
      WeightIdentity(request.parameters, files, store).digest() ==
          *loaded.weights_digest()) {
    return OkStatus();
  }
  return InvalidArgumentError(
      "export: what was loaded has other weights than the graph that is given");
}

Status AddLoaded(const Loaded& loaded, std::span<const Package::Call> calls,
                 Package* package) {
  const auto& executable = loaded.compiled().executable;
  package->graph = std::shared_ptr<const runtime::CompiledGraph>(
      executable, &executable->graph());
  for (size_t i = 0; i < executable->derived().size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(runtime::Blob blob,
                            loaded.weights()->DerivedBytes(i));
    // A view of the weights, which the session may drop before the package.
    if (blob.owner == nullptr) blob.owner = loaded.weights();
    package->derived.push_back(std::move(blob));
  }
  if (calls.empty()) return OkStatus();
  ENCORE_ASSIGN_OR_RETURN(const auto replayer, loaded.NewReplayer());
  for (const Package::Call& call : calls) {
    package->calls.push_back(call);
    if (!call.outputs.empty()) continue;
    ENCORE_ASSIGN_OR_RETURN(package->calls.back().outputs,
                            loaded.Run(*replayer, call.inputs));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Package> Export(Session& session, const Graph& graph,
                         std::span<const Package::Call> calls,
                         const LoadOptions& options) {
  const auto load = session.Load(graph, options);
  if (load.ok()) return Export(session, graph, **load, calls, options);
  if (!MayBeForElsewhere(load.status()) || !calls.empty()) {
    return load.status();
  }
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  ENCORE_RETURN_IF_ERROR(request.parameters_status);
  Package package = Described(request, options);
  ENCORE_ASSIGN_OR_RETURN(MeasuredPlan plan, session.graphs().PlanOf(request));
  package.graph = std::move(plan.graph);
  return package;
}

StatusOr<Package> Export(Session& session, const Graph& graph,
                         const Loaded& loaded,
                         std::span<const Package::Call> calls,
                         const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  ENCORE_RETURN_IF_ERROR(request.parameters_status);
  ENCORE_RETURN_IF_ERROR(
      CheckIsOf(request, loaded, options.files, session.options().disk.get()));
  Package package = Described(request, options);
  ENCORE_RETURN_IF_ERROR(AddLoaded(loaded, calls, &package));
  return package;
}

Status Record(Session& session, const std::string& path, const Graph& graph,
              std::span<const Package::Call> calls,
              const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const Package package,
                          Export(session, graph, calls, options));
  return WritePackage(package, path);
}

Status Record(Session& session, const std::string& path, const Graph& graph,
              const Loaded& loaded, std::span<const Package::Call> calls,
              const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const Package package,
                          Export(session, graph, loaded, calls, options));
  return WritePackage(package, path);
}

}  // namespace encore::cache
