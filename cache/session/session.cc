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

StatusOr<Session::Wanted> Session::Want(const Graph& graph,
                                        const LoadOptions& options) const {
  if (!UsesSymbols(graph) || options_.compiler.symbolic_sizes) {
    return WantAsItIs(graph);
  }
  SymbolBinding binding(graph.symbols());
  for (uint32_t i = 0; i < options.sizes.size(); ++i) {
    if (!options.sizes[i]) continue;
    ENCORE_RETURN_IF_ERROR(binding.BindSymbol(i, *options.sizes[i]));
  }
  ENCORE_ASSIGN_OR_RETURN(const Graph special,
                          Specialize(graph, binding.replacements()));
  return WantAsItIs(special);
}

StatusOr<Session::Wanted> Session::WantAsItIs(const Graph& graph) const {
  Wanted wanted;
  wanted.options = options_.compile;
  wanted.options.placement =
      CanonicalPlacement(graph, options_.compile.placement);
  ENCORE_ASSIGN_OR_RETURN(const Target target,
                          options_.compiler.target(options_.compile));
  Stencil stencil = MakeStencil(graph);
  wanted.names = NamesOf(graph, stencil);
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) wanted.parameter_names.push_back(argument.name);
  }
  wanted.ingredients =
      IngredientsOf(std::move(stencil), wanted.options, target);
  if (!wanted.ingredients.unkeyable) wanted.key = KeyOf(wanted.ingredients);
  StatusOr<std::vector<Literal>> parameters = ParametersOf(graph);
  wanted.parameters_status = parameters.status();
  if (parameters.ok()) wanted.parameters = *std::move(parameters);
  return wanted;
}

StatusOr<std::shared_ptr<const Loaded>> Session::Load(
    const Graph& graph, const LoadOptions& options) {
  const Stopwatch time;
  ENCORE_ASSIGN_OR_RETURN(Wanted wanted, Want(graph, options));
  wanted.guess = FindGuess(options);
  const auto before = FromMemory(wanted);
  ENCORE_ASSIGN_OR_RETURN(const CompiledPtr compiled, Obtain(wanted));
  Learn(wanted);
  const FoundIn found_in =
      before == compiled ? FoundIn::kMemory : compiled->found_in;
  if (options_.check && found_in != FoundIn::kCompiled) {
    ENCORE_RETURN_IF_ERROR(Check(wanted, *compiled));
  }
  ENCORE_RETURN_IF_ERROR(wanted.parameters_status);
  const bool keep =
      !wanted.ingredients.unkeyable && compiled->origin == CodeOrigin::kOwn;
  bool restored = false;
  ENCORE_ASSIGN_OR_RETURN(
      std::shared_ptr<const runtime::Weights> weights,
      GetWeights(compiled->executable, WeightsKeyOf(*compiled),
                 wanted.parameters, {options.files, options_.verify},
                 keep ? options_.disk.get() : nullptr, threads_, &restored));
  Count(restored ? &SessionStatistics::weights_restored
                 : &SessionStatistics::weights_prepared);
  auto loaded = std::make_shared<const Loaded>(
      compiled, std::move(weights), wanted.names, found_in, threads_);
  const std::lock_guard lock(mutex_);
  statistics_.load_ms += time.ms();
  return loaded;
}

CompiledPtr Session::FromMemory(const Wanted& wanted) {
  auto found = memory_.GetAs<Compiled>(wanted.key.view());
  return found != nullptr && wanted.IsMetBy(*found) ? found : nullptr;
}

void Session::ToMemory(const Wanted& wanted, const CompiledPtr& compiled) {
  memory_.Put(wanted.key.view(), compiled,
              FootprintOf(compiled->executable->graph()));
}

StatusOr<CompiledPtr> Session::Obtain(const Wanted& wanted) {
  if (wanted.ingredients.unkeyable) {
    Count(&SessionStatistics::uncached);
    if (options_.log) {
      options_.log(
          StrCat("compiled and not cached: ", *wanted.ingredients.unkeyable));
    }
    ENCORE_ASSIGN_OR_RETURN(const Plan plan, CompileGraph(wanted));
    return MakeLoadable(plan, wanted, FoundIn::kCompiled);
  }
  std::shared_ptr<Flight> flight;
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = FromMemory(wanted)) {
      ++statistics_.memory_hits;
      return found;
    }
    auto& entry = flights_[wanted.key];
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
      if (result.ok()) ToMemory(wanted, *result);
      flights_.erase(wanted.key);
    }
    flight->Land(result);
  };
  const std::unique_ptr<void, decltype(land)> landing(this, land);
  result = ObtainAlone(wanted);
  return result;
}

StatusOr<CompiledPtr> Session::ObtainAlone(const Wanted& wanted) {
  Plan plan;
  if (options_.disk == nullptr) return Compile(wanted, &plan);
  Found found = FromDisk(wanted);
  if (found.compiled != nullptr) return found.compiled;
  // Another process may be at it, and be done once the lock is free.
  const auto lock = options_.disk->LockKey(wanted.key, options_.max_wait);
  if (!found.keep) {
    found = FromDisk(wanted);
    if (found.compiled != nullptr) return found.compiled;
  }
  ENCORE_ASSIGN_OR_RETURN(CompiledPtr compiled, Compile(wanted, &plan));
  if (!found.keep) ToDisk(wanted, plan);
  return compiled;
}

StatusOr<CompiledPtr> Session::Compile(const Wanted& wanted, Plan* plan) {
  const Stopwatch time;
  ENCORE_ASSIGN_OR_RETURN(*plan, CompileGraph(wanted));
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.misses;
    statistics_.compile_ms += time.ms();
  }
  return MakeLoadable(*plan, wanted, FoundIn::kCompiled);
}

StatusOr<Session::Plan> Session::CompileGraph(const Wanted& wanted) {
  RecordingStore store(artifacts_.get());
  ENCORE_ASSIGN_OR_RETURN(Plan plan,
                          CompileGraph(wanted, wanted.options, &store));
  plan.measurements = store.table();
  if (wanted.options.tune_seconds > 0 && options_.log) {
    options_.log(StrCat("tune: ", store.measured(), " kernels measured, ",
                        store.changed(), " of them changed, ",
                        plan.measurements.gaps(), " left to measure"));
  }
  return plan;
}

// The graph that is compiled: without names, which it so cannot depend on, and
// over copies of the constants, which nobody can change under the compiler.
// Reading the stencil finds constants by their digests.
StatusOr<Graph> Session::CanonicalGraph(const Wanted& wanted) {
  std::vector<Literal> constants;
  for (const Literal& constant : wanted.ingredients.constants) {
    if (IsHost(constant.dtype())) {
      constants.push_back(constant);
      continue;
    }
    ENCORE_ASSIGN_OR_RETURN(
        Literal copy,
        Literal::Copy(constant.dtype(), constant.dims(), constant.bytes()));
    constants.push_back(std::move(copy));
  }
  auto graph = ReadStencil(wanted.ingredients.stencil, constants);
  if (graph.ok() || constants.empty()) return graph;
  return FailedPreconditionError(
      StrCat("a file of the model changed while it was read (",
             Message(graph.status()), "); run again"));
}

StatusOr<Session::Plan> Session::CompileGraph(
    const Wanted& wanted, const backends::CompileOptions& options,
    backends::ArtifactStore* store) const {
  ENCORE_ASSIGN_OR_RETURN(const Graph canonical, CanonicalGraph(wanted));
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
                                            const Wanted& wanted,
                                            FoundIn found_in) const {
  ENCORE_ASSIGN_OR_RETURN(auto executable, OnDevices(plan));
  return Loadable(wanted, plan, std::move(executable), found_in);
}

CompiledPtr Session::Loadable(
    const Wanted& wanted, const Plan& plan,
    std::shared_ptr<const runtime::Executable> executable, FoundIn found_in,
    CodeOrigin origin) {
  return std::make_shared<const Compiled>(
      Compiled{wanted.key, wanted.ingredients, plan.measurements.Encode(),
               std::move(executable), found_in, origin});
}

StatusOr<Session::Plan> Session::CompileRecorded(
    const Wanted& wanted, const MeasurementTable& measurements) const {
  RecordedStore store(measurements, artifacts_.get());
  backends::CompileOptions options = wanted.options;
  options.tune_seconds = 0;
  ENCORE_ASSIGN_OR_RETURN(Plan plan, CompileGraph(wanted, options, &store));
  plan.measurements = measurements;
  return plan;
}

Status Session::Check(const Wanted& wanted, const Compiled& compiled) {
  ENCORE_ASSIGN_OR_RETURN(const MeasurementTable measurements,
                          MeasurementTable::Decode(compiled.measurements));
  ENCORE_ASSIGN_OR_RETURN(const Plan again,
                          CompileRecorded(wanted, measurements));
  if (runtime::SerializeCompiledGraph(*again.graph) ==
      runtime::SerializeCompiledGraph(compiled.executable->graph())) {
    return OkStatus();
  }
  return InternalError(StrCat("the cached plan ", wanted.key.ToHex(),
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
