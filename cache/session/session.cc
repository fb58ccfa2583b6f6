#include "encore/cache/session/session.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "encore/cache/session/placement.h"
#include "encore/cache/store/artifact_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/specialize.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::cache {
namespace {

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

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

// About what a compiled graph takes in memory.
int64_t FootprintOf(const runtime::CompiledGraph& graph) {
  int64_t bytes =
      static_cast<int64_t>(graph.slots.size() * sizeof(runtime::Slot));
  for (const runtime::Blob& blob : graph.blobs) {
    bytes += static_cast<int64_t>(blob.bytes.size());
  }
  for (const runtime::Plan& plan : graph.plans) {
    bytes +=
        static_cast<int64_t>(plan.steps.size() * 2 * sizeof(runtime::Step));
  }
  return bytes;
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

// Other measurements under the same key may give other forms of the weights.
Digest WeightsKeyOf(const Compiled& compiled) {
  if (compiled.measurements.empty()) return compiled.key;
  return Sha256Of(StrCat(compiled.key.ToHex(), compiled.measurements));
}

bool UsesSymbols(const Graph& graph) {
  return std::any_of(graph.symbols().begin(), graph.symbols().end(),
                     [](const Symbol& symbol) { return !symbol.at_run_time; });
}

}  // namespace

struct Session::Flight {
  std::mutex mutex;
  std::condition_variable landed;
  std::optional<StatusOr<CompiledPtr>> result;

  void Land(const StatusOr<CompiledPtr>& with) {
    const std::lock_guard lock(mutex);
    result = with;
    landed.notify_all();
  }
  StatusOr<CompiledPtr> Wait() {
    std::unique_lock lock(mutex);
    landed.wait(lock, [&] { return result.has_value(); });
    return *result;
  }
};

Session::Session(SessionOptions options, runtime::ThreadPool* threads)
    : options_(std::move(options)),
      threads_(threads),
      memory_(options_.memory_bytes) {
  if (options_.disk != nullptr) {
    artifacts_ = std::make_unique<DiskArtifactStore>(options_.disk);
  }
}

StatusOr<Session::SessionRequest> Session::Request(
    const Graph& graph, const LoadOptions& options) const {
  if (!UsesSymbols(graph) || options_.compiler.symbolic_sizes) {
    return RequestAsItIs(graph);
  }
  SymbolBinding binding(graph.symbols());
  for (uint32_t i = 0; i < options.sizes.size(); ++i) {
    if (!options.sizes[i]) continue;
    ENCORE_RETURN_IF_ERROR(binding.BindSymbol(i, *options.sizes[i]));
  }
  ENCORE_ASSIGN_OR_RETURN(const Graph special,
                          Specialize(graph, binding.replacements()));
  return RequestAsItIs(special);
}

StatusOr<Session::SessionRequest> Session::RequestAsItIs(
    const Graph& graph) const {
  SessionRequest request;
  request.options = options_.compile;
  request.options.placement =
      CanonicalPlacement(graph, options_.compile.placement);
  ENCORE_ASSIGN_OR_RETURN(const Target target,
                          options_.compiler.target(options_.compile));
  Stencil stencil = MakeStencil(graph);
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

StatusOr<std::shared_ptr<const Loaded>> Session::Load(
    const Graph& graph, const LoadOptions& options) {
  const Stopwatch time;
  ENCORE_ASSIGN_OR_RETURN(SessionRequest request, Request(graph, options));
  request.prefetch = FindPrefetch(options);
  const auto before = FromMemory(request);
  ENCORE_ASSIGN_OR_RETURN(const CompiledPtr compiled, GetOrCompile(request));
  RememberKey(request);
  const FoundIn found_in =
      before == compiled ? FoundIn::kMemory : compiled->found_in;
  if (options_.check && found_in != FoundIn::kCompiled) {
    ENCORE_RETURN_IF_ERROR(Check(request, *compiled));
  }
  ENCORE_RETURN_IF_ERROR(request.parameters_status);
  const bool keep =
      !request.ingredients.unkeyable && compiled->origin == CodeOrigin::kOwn;
  bool restored = false;
  ENCORE_ASSIGN_OR_RETURN(
      std::shared_ptr<const runtime::Weights> weights,
      GetWeights(compiled->executable, WeightsKeyOf(*compiled),
                 request.parameters, {options.files, options_.verify},
                 keep ? options_.disk.get() : nullptr, threads_, &restored));
  Count(restored ? &SessionStatistics::weights_restored
                 : &SessionStatistics::weights_prepared);
  auto loaded = std::make_shared<const Loaded>(
      compiled, std::move(weights), request.names, found_in, threads_);
  const std::lock_guard lock(mutex_);
  statistics_.load_ms += time.ms();
  return loaded;
}

CompiledPtr Session::FromMemory(const SessionRequest& request) {
  auto found = memory_.GetAs<Compiled>(request.key.view());
  return found != nullptr && request.IsMetBy(*found) ? found : nullptr;
}

void Session::ToMemory(const SessionRequest& request,
                       const CompiledPtr& compiled) {
  memory_.Put(request.key.view(), compiled,
              FootprintOf(compiled->executable->graph()));
}

StatusOr<CompiledPtr> Session::GetOrCompile(const SessionRequest& request) {
  if (request.ingredients.unkeyable) {
    Count(&SessionStatistics::uncached);
    if (options_.log) {
      options_.log(
          StrCat("compiled and not cached: ", *request.ingredients.unkeyable));
    }
    ENCORE_ASSIGN_OR_RETURN(const Plan plan, CompileGraph(request));
    return MakeLoadable(plan, request, FoundIn::kCompiled);
  }
  std::shared_ptr<Flight> flight;
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = FromMemory(request)) {
      ++statistics_.memory_hits;
      return found;
    }
    auto& entry = flights_[request.key];
    mine = entry == nullptr;
    if (mine) entry = std::make_shared<Flight>();
    flight = entry;
  }
  if (!mine) {
    StatusOr<CompiledPtr> result = flight->Wait();
    if (result.ok()) Count(&SessionStatistics::memory_hits);
    return result;
  }
  StatusOr<CompiledPtr> result =
      InternalError("the compile that this one waited for ended unexpectedly");
  // Also where an exception passes: those who wait, and those who come later,
  // must not wait for ever.
  const auto land = [&](void*) {
    {
      const std::lock_guard lock(mutex_);
      if (result.ok()) ToMemory(request, *result);
      flights_.erase(request.key);
    }
    flight->Land(result);
  };
  const std::unique_ptr<void, decltype(land)> landing(this, land);
  result = GetOrCompileUnshared(request);
  return result;
}

StatusOr<CompiledPtr> Session::GetOrCompileUnshared(
    const SessionRequest& request) {
  Plan plan;
  if (options_.disk == nullptr) return Compile(request, &plan);
  Found found = FromDisk(request);
  if (found.compiled != nullptr) return found.compiled;
  // Another process may be at it, and be done once the lock is free.
  const auto lock = options_.disk->LockKey(request.key, options_.max_wait);
  if (!found.keep) {
    found = FromDisk(request);
    if (found.compiled != nullptr) return found.compiled;
  }
  ENCORE_ASSIGN_OR_RETURN(CompiledPtr compiled, Compile(request, &plan));
  if (!found.keep) ToDisk(request, plan);
  return compiled;
}

StatusOr<CompiledPtr> Session::Compile(const SessionRequest& request,
                                       Plan* plan) {
  const Stopwatch time;
  ENCORE_ASSIGN_OR_RETURN(*plan, CompileGraph(request));
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.misses;
    statistics_.compile_ms += time.ms();
  }
  return MakeLoadable(*plan, request, FoundIn::kCompiled);
}

StatusOr<Session::Plan> Session::CompileGraph(const SessionRequest& request) {
  RecordingStore store(artifacts_.get());
  ENCORE_ASSIGN_OR_RETURN(Plan plan,
                          CompileGraph(request, request.options, &store));
  plan.measurements = store.table();
  if (request.options.tune_seconds > 0 && options_.log) {
    options_.log(StrCat("tune: ", store.measured(), " kernels measured, ",
                        store.changed(), " of them changed, ",
                        plan.measurements.gaps(), " left to measure"));
  }
  return plan;
}

// The graph that is compiled: without names, which it so cannot depend on, and
// over copies of the constants, which nobody can change under the compiler.
// Reading the stencil finds constants by their digests.
StatusOr<Graph> Session::CanonicalGraph(const SessionRequest& request) {
  std::vector<Literal> constants;
  for (const Literal& constant : request.ingredients.constants) {
    if (IsString(constant.dtype())) {
      constants.push_back(constant);
      continue;
    }
    ENCORE_ASSIGN_OR_RETURN(
        Literal copy,
        Literal::Copy(constant.dtype(), constant.dims(), constant.bytes()));
    constants.push_back(std::move(copy));
  }
  auto graph = ReadStencil(request.ingredients.stencil, constants);
  if (graph.ok() || constants.empty()) return graph;
  return FailedPreconditionError(
      StrCat("a file of the model changed while it was read (",
             Message(graph.status()), "); run again"));
}

StatusOr<Session::Plan> Session::CompileGraph(
    const SessionRequest& request, const backends::CompileOptions& options,
    backends::ArtifactStore* store) const {
  ENCORE_ASSIGN_OR_RETURN(const Graph canonical, CanonicalGraph(request));
  ENCORE_ASSIGN_OR_RETURN(runtime::CompiledGraph graph,
                          options_.compiler.compile(canonical, options, store));
  return Plan{std::make_shared<const runtime::CompiledGraph>(std::move(graph)),
              {}};
}

StatusOr<std::shared_ptr<const runtime::Executable>> Session::OnDevices(
    const Plan& plan) const {
  ENCORE_ASSIGN_OR_RETURN(auto devices, options_.compiler.devices(*plan.graph));
  return runtime::Executable::Load(plan.graph, std::move(devices), threads_);
}

StatusOr<CompiledPtr> Session::MakeLoadable(const Plan& plan,
                                            const SessionRequest& request,
                                            FoundIn found_in) const {
  ENCORE_ASSIGN_OR_RETURN(auto executable, OnDevices(plan));
  return Loadable(request, plan, std::move(executable), found_in);
}

CompiledPtr Session::Loadable(
    const SessionRequest& request, const Plan& plan,
    std::shared_ptr<const runtime::Executable> executable, FoundIn found_in,
    CodeOrigin origin) {
  return std::make_shared<const Compiled>(
      Compiled{request.key, request.ingredients, plan.measurements.Encode(),
               std::move(executable), found_in, origin});
}

StatusOr<Session::Plan> Session::CompileRecorded(
    const SessionRequest& request, const MeasurementTable& measurements) const {
  RecordedStore store(measurements, artifacts_.get());
  backends::CompileOptions options = request.options;
  options.tune_seconds = 0;
  ENCORE_ASSIGN_OR_RETURN(Plan plan, CompileGraph(request, options, &store));
  plan.measurements = measurements;
  return plan;
}

Status Session::Check(const SessionRequest& request, const Compiled& compiled) {
  ENCORE_ASSIGN_OR_RETURN(const MeasurementTable measurements,
                          MeasurementTable::Decode(compiled.measurements));
  ENCORE_ASSIGN_OR_RETURN(const Plan again,
                          CompileRecorded(request, measurements));
  if (runtime::SerializeCompiledGraph(*again.graph) ==
      runtime::SerializeCompiledGraph(compiled.executable->graph())) {
    return OkStatus();
  }
  return InternalError(StrCat("the cached plan ", request.key.ToHex(),
                              " is not what compiling it gives"));
}

StatusOr<std::vector<Literal>> Session::Run(const Graph& graph,
                                            std::span<const Literal> inputs) {
  LoadOptions options;
  SymbolBinding binding(graph.symbols());
  size_t i = 0;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) continue;
    if (i == inputs.size()) {
      return InvalidArgumentError(StrCat("no value for input ", argument.name));
    }
    ENCORE_RETURN_IF_ERROR(binding.Bind(StrCat("input ", argument.name),
                                        graph.shape(argument.value),
                                        inputs[i].dims()));
    ++i;
  }
  for (uint32_t symbol = 0; symbol < graph.symbols().size(); ++symbol) {
    options.sizes.push_back(binding.value(symbol));
  }
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, Load(graph, options));
  return loaded->Run(inputs);
}

SessionStatistics Session::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Session::Count(int64_t SessionStatistics::* counter) {
  const std::lock_guard lock(mutex_);
  ++(statistics_.*counter);
}

}  // namespace encore::cache
