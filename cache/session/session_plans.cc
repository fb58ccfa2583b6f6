// The session's named entries, plans in files, and explanations.

#include <algorithm>
#include <utility>

#include "encore/cache/session/session.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

constexpr std::string_view kNameKind = "named";

Digest NameKey(std::string_view name) { return Sha256Of(name); }

// How many ingredients two keys share, from the first on.
size_t Shared(const KeyIngredients& a, const KeyIngredients& b) {
  const auto end = std::mismatch(a.parts.begin(), a.parts.end(),
                                 b.parts.begin(), b.parts.end());
  const auto shared = static_cast<size_t>(end.first - a.parts.begin());
  return shared == a.parts.size() && a.stencil == b.stencil ? shared + 1
                                                            : shared;
}

Status NoKey(const KeyIngredients& ingredients) {
  return FailedPreconditionError(
      StrCat("the graph cannot be cached: ", *ingredients.unkeyable));
}

}  // namespace

StatusOr<Digest> Session::Put(std::string_view name, const Graph& graph,
                              const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const SessionRequest request,
                          Request(graph, options));
  if (request.ingredients.unkeyable) return NoKey(request.ingredients);
  ENCORE_RETURN_IF_ERROR(GetOrCompile(request).status());
  if (options_.disk != nullptr) {
    ContainerWriter writer = MakeKeyEntry(request.key);
    writer.AddOwned(SectionType::kHeadline, std::string(name));
    options_.disk->Put(kNameKind, NameKey(name), writer);
  }
  return request.key;
}

std::optional<Digest> Session::Get(std::string_view name) {
  if (options_.disk == nullptr) return std::nullopt;
  return ReadKeyEntry(*options_.disk, kNameKind, NameKey(name));
}

bool Session::Contains(std::string_view name) {
  const auto key = Get(name);
  return key && options_.disk->Contains(kGraphKind, *key);
}

// The plan, also where it does not run on this machine and so is not kept.
StatusOr<Session::Plan> Session::PlanOf(const SessionRequest& request) {
  const auto compiled = GetOrCompile(request);
  if (compiled.ok()) {
    const auto& executable = (*compiled)->executable;
    ENCORE_ASSIGN_OR_RETURN(
        MeasurementTable measurements,
        MeasurementTable::Decode((*compiled)->measurements));
    return Plan{std::shared_ptr<const runtime::CompiledGraph>(
                    executable, &executable->graph()),
                std::move(measurements)};
  }
  if (compiled.status().code() != StatusCode::kFailedPrecondition) {
    return compiled.status();
  }
  return CompileGraph(request);
}

Status Session::SavePlan(const std::string& path, const Graph& graph,
                         const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const SessionRequest request,
                          Request(graph, options));
  if (request.ingredients.unkeyable) return NoKey(request.ingredients);
  ENCORE_ASSIGN_OR_RETURN(const Plan plan, PlanOf(request));
  return WriteFile(
      MakeEntry(request.ingredients, *plan.graph, plan.measurements), path);
}

StatusOr<bool> Session::LoadPlan(const std::string& path, const Graph& graph,
                                 CodeTrust trust, const LoadOptions& options) {
  const auto none = [&](std::string_view why) {
    if (options_.log) options_.log(StrCat("no plan from ", path, ": ", why));
    return false;
  };
  auto container = Container::Open(path);
  if (container.status().code() == StatusCode::kNotFound) {
    return none("it is not there");
  }
  if (!container.ok()) return container.status();
  ENCORE_ASSIGN_OR_RETURN(const SessionRequest request,
                          Request(graph, options));
  const Status fits = CheckEntry(**container, request.ingredients);
  if (fits.code() == StatusCode::kFailedPrecondition) {
    return none(Message(fits));
  }
  ENCORE_RETURN_IF_ERROR(fits);
  if (trust == CodeTrust::kRun) {
    ENCORE_ASSIGN_OR_RETURN(Recalled recalled, Recall(*std::move(container)));
    ToMemory(request,
             Loadable(request, recalled.plan, std::move(recalled.executable),
                      FoundIn::kDisk, CodeOrigin::kForeign));
    return true;
  }
  ENCORE_ASSIGN_OR_RETURN(const MeasurementTable measurements,
                          ReadEntryMeasurements(**container));
  if (measurements.rows.empty()) {
    ENCORE_RETURN_IF_ERROR(GetOrCompile(request).status());
    return true;
  }
  // What somebody else measured decides in this session alone.
  ENCORE_ASSIGN_OR_RETURN(const Plan plan,
                          CompileRecorded(request, measurements));
  ENCORE_ASSIGN_OR_RETURN(const CompiledPtr compiled,
                          MakeLoadable(plan, request, FoundIn::kCompiled));
  ToMemory(request, compiled);
  return true;
}

StatusOr<Package> Session::Export(const Graph& graph,
                                  std::span<const Package::Call> calls,
                                  const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const SessionRequest request,
                          Request(graph, options));
  ENCORE_RETURN_IF_ERROR(request.parameters_status);
  Package package;
  package.ingredients = EncodeIngredients(request.ingredients);
  package.constants = request.ingredients.constants;
  package.names = {request.names.inputs, request.names.outputs,
                   request.parameter_names, request.names.origins};
  package.parameters = request.parameters;
  package.files = options.files;
  const auto load = Load(graph, options);
  if (load.status().code() == StatusCode::kFailedPrecondition &&
      calls.empty()) {
    ENCORE_ASSIGN_OR_RETURN(Plan plan, PlanOf(request));
    package.graph = std::move(plan.graph);
    return package;
  }
  if (!load.ok()) return load.status();
  const std::shared_ptr<const Loaded>& loaded = *load;
  const auto& executable = loaded->compiled().executable;
  package.graph = std::shared_ptr<const runtime::CompiledGraph>(
      executable, &executable->graph());
  for (size_t i = 0; i < executable->derived().size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(runtime::Blob blob,
                            loaded->weights()->DerivedBytes(i));
    // A view of the weights, which the session may drop before the package.
    if (blob.owner == nullptr) blob.owner = loaded->weights();
    package.derived.push_back(std::move(blob));
  }
  ENCORE_ASSIGN_OR_RETURN(const auto replayer, loaded->NewReplayer());
  for (const Package::Call& call : calls) {
    package.calls.push_back(call);
    if (!call.outputs.empty()) continue;
    ENCORE_ASSIGN_OR_RETURN(package.calls.back().outputs,
                            loaded->Run(*replayer, call.inputs));
  }
  return package;
}

Status Session::Record(const std::string& path, const Graph& graph,
                       std::span<const Package::Call> calls,
                       const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const Package package, Export(graph, calls, options));
  return WritePackage(package, path);
}

StatusOr<std::optional<std::string>> Session::ExplainMiss(
    const Graph& graph, const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const SessionRequest request,
                          Request(graph, options));
  std::optional<KeyIngredients> nearest;
  if (options_.disk == nullptr) return std::optional<std::string>();
  for (const DiskStore::Entry& entry : options_.disk->List()) {
    if (entry.kind != kGraphKind) continue;
    const auto container = options_.disk->Get(entry.kind, entry.key);
    if (container == nullptr) continue;
    auto stored = ReadEntryIngredients(*container);
    if (!stored.ok()) continue;
    if (!nearest || Shared(*stored, request.ingredients) >
                        Shared(*nearest, request.ingredients)) {
      nearest = *std::move(stored);
    }
  }
  if (!nearest) return std::optional<std::string>();
  return Explain(*nearest, request.ingredients);
}

}  // namespace encore::cache
