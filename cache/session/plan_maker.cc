#include "encore/cache/session/plan_maker.h"

#include <utility>
#include <vector>

#include "encore/cache/store/artifact_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

// The graph that is compiled: without names, which it so cannot depend on, and
// over copies of the constants. Reading the stencil finds constants by their
// digests.
StatusOr<Graph> CanonicalGraph(const SessionRequest& request) {
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

}  // namespace

PlanMaker::PlanMaker(const SessionOptions* options,
                     runtime::ThreadPool* threads)
    : options_(options), threads_(threads) {
  if (options_->disk != nullptr) {
    artifacts_ = std::make_unique<DiskArtifactStore>(options_->disk);
  }
}

StatusOr<MeasuredPlan> PlanMaker::Compile(const SessionRequest& request) const {
  RecordingStore store(artifacts_.get());
  ENCORE_ASSIGN_OR_RETURN(MeasuredPlan plan,
                          CompileWith(request, request.options, &store));
  plan.measurements = store.table();
  plan.kernels = store.kernels();
  plan.cut_short = store.cut_short();
  if (plan.cut_short && options_->log) {
    options_->log(StrCat("the search for a better graph ended after ",
                         request.options.max_seconds,
                         " s (--max-seconds): the compiled graph is not kept"));
  }
  if (request.options.tune_seconds > 0 && options_->log) {
    options_->log(StrCat("tune: ", store.measured(), " kernels measured, ",
                         store.changed(), " of them changed, ",
                         plan.measurements.gaps(), " left to measure"));
  }
  return plan;
}

StatusOr<MeasuredPlan> PlanMaker::CompileRecorded(
    const SessionRequest& request, const MeasurementTable& measurements) const {
  RecordedStore store(measurements, /*store=*/nullptr);
  backends::CompileOptions options = request.options;
  options.tune_seconds = 0;
  options.max_seconds = 0;
  ENCORE_ASSIGN_OR_RETURN(MeasuredPlan plan,
                          CompileWith(request, options, &store));
  plan.measurements = measurements;
  return plan;
}

StatusOr<MeasuredPlan> PlanMaker::CompileWith(
    const SessionRequest& request, const backends::CompileOptions& options,
    backends::ArtifactStore* store) const {
  ENCORE_ASSIGN_OR_RETURN(const Graph canonical, CanonicalGraph(request));
  ENCORE_ASSIGN_OR_RETURN(
      runtime::CompiledGraph graph,
      options_->compiler.compile(canonical, options, store, request.passes));
  return MeasuredPlan{
      .graph = std::make_shared<const runtime::CompiledGraph>(std::move(graph)),
      .measurements = {}};
}

StatusOr<std::shared_ptr<const runtime::Executable>> PlanMaker::OnDevices(
    const MeasuredPlan& plan) const {
  ENCORE_ASSIGN_OR_RETURN(auto devices,
                          options_->compiler.devices(*plan.graph));
  ENCORE_ASSIGN_OR_RETURN(
      auto executable,
      runtime::Executable::Load(plan.graph, std::move(devices), threads_));
  for (const std::string& note : executable->Notes()) options_->log(note);
  return executable;
}

StatusOr<RecalledPlan> PlanMaker::Recall(
    std::shared_ptr<const Container> container) const {
  ENCORE_ASSIGN_OR_RETURN(runtime::CompiledGraph graph, ReadEntry(container));
  ENCORE_ASSIGN_OR_RETURN(MeasurementTable measurements,
                          ReadEntryMeasurements(*container));
  RecalledPlan recalled;
  recalled.plan = {
      .graph = std::make_shared<const runtime::CompiledGraph>(std::move(graph)),
      .measurements = std::move(measurements)};
  auto executable = OnDevices(recalled.plan);
  // A plan that does not verify was not compiled, whatever its checksum says.
  if (executable.status().code() == StatusCode::kInvalidArgument) {
    return DataLossError(StrCat("plan: ", Message(executable.status())));
  }
  if (!executable.ok()) return executable.status();
  recalled.executable = *std::move(executable);
  recalled.container = std::move(container);
  return recalled;
}

StatusOr<CompiledPtr> PlanMaker::Load(const MeasuredPlan& plan,
                                      const SessionRequest& request,
                                      FoundIn found_in) const {
  ENCORE_ASSIGN_OR_RETURN(auto executable, OnDevices(plan));
  return AsCompiled(request, plan, std::move(executable), found_in);
}

CompiledPtr AsCompiled(const SessionRequest& request, const MeasuredPlan& plan,
                       std::shared_ptr<const runtime::Executable> executable,
                       FoundIn found_in, CodeOrigin origin) {
  return std::make_shared<const Compiled>(
      Compiled{request.key, request.ingredients, plan.measurements.Encode(),
               std::move(executable), found_in, origin, plan.cut_short});
}

}  // namespace encore::cache
