#include "encore/cache/session/plan_maker.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/plan_forms.h"
#include "encore/cache/store/artifact_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/improve_options.h"

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

// What came of rewriting: whether it ended at a limit on work, for the log, and
// how many e-graphs were found. What runs on is told to another observer, which
// may be null.
class RewriteWatch : public opt::PassObserver {
 public:
  explicit RewriteWatch(opt::PassObserver* other) : other_(other) {}

  bool verify() const override { return other_ != nullptr && other_->verify(); }
  void Ran(const opt::PassRun& run) override {
    if (other_ != nullptr) other_->Ran(run);
    const opt::ImproveReport* const report = run.options.rewrite.report;
    if (report == nullptr) return;
    if (!report->fault.ok() && fault_.ok()) {
      fault_ = report->fault;
      fault_origin_ = report->fault_origin;
    }
    if (!report->stops.empty()) stops_ = report->stops;
    recalled_ = report->recalled;
  }

  // What was in the store and of no use is not among them.
  int64_t recalled() const { return recalled_; }
  // Empty where no rule was wrong. `origins`: names by stencil number.
  std::string Fault(const std::vector<std::string>& origins) const {
    if (fault_.ok()) return "";
    const std::optional<uint32_t> number = StencilNumber(fault_origin_);
    const bool known = number && *number < origins.size();
    return opt::FaultText(fault_, known ? std::string_view(origins[*number])
                                        : std::string_view());
  }
  // Empty where all e-graphs were saturated, ended by the clock or by a fault.
  std::string Limits() const {
    int all = 0, limited = 0;
    std::string limits;
    for (const auto& [stop, count] : stops_) {
      all += count;
      if (stop == "saturated" || stop == "time" || stop == "failed") continue;
      StrAppend(&limits, limits.empty() ? "" : ", ", stop, " ", count);
      limited += count;
    }
    if (limited == 0) return "";
    return StrCat("rewriting ended at a limit on work in ", limited, " of ",
                  all, " e-graphs (", limits, "): more might be found");
  }

 private:
  opt::PassObserver* const other_;
  std::map<std::string, int, std::less<>> stops_;
  int64_t recalled_ = 0;
  Status fault_;
  std::string fault_origin_;  // a stencil number, or empty
};

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
  RewriteWatch watch(request.passes);
  ENCORE_ASSIGN_OR_RETURN(
      MeasuredPlan plan, CompileWith(request, request.options, &store, &watch));
  plan.measurements = store.table();
  plan.kernels = store.counts(backends::kKernelKind);
  plan.rewrites = store.counts(backends::kRewriteKind);
  plan.rewrites.found = watch.recalled();
  const auto plans = store.plan();
  const size_t form =
      plans ? backends::BestForm(*plans, request.options) : size_t{0};
  const std::string limits = watch.Limits();
  if (!limits.empty() && backends::PlanForms()[form].rewritten &&
      options_->log) {
    options_->log(limits);
  }
  const std::string fault = watch.Fault(request.names.origins);
  if (!fault.empty() && options_->log) options_->log(fault);
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
    if (plans) {
      options_->log(StrCat(
          "tune: ", plans->timings.size() - 1, " other plans timed whole, ",
          form == 0
              ? "none taken"
              : StrCat("the one called ",
                       Quote(backends::PlanForms()[form].name), " taken")));
    }
  }
  return plan;
}

StatusOr<MeasuredPlan> PlanMaker::CompileRecorded(
    const SessionRequest& request, const MeasurementTable& measurements) const {
  RecordedStore store(measurements, /*store=*/nullptr);
  backends::CompileOptions options = request.options;
  options.tune_seconds = 0;
  options.max_seconds = 0;
  ENCORE_ASSIGN_OR_RETURN(
      MeasuredPlan plan, CompileWith(request, options, &store, request.passes));
  plan.measurements = measurements;
  return plan;
}

StatusOr<MeasuredPlan> PlanMaker::CompileWith(
    const SessionRequest& request, const backends::CompileOptions& options,
    backends::ArtifactStore* store, opt::PassObserver* passes) const {
  ENCORE_ASSIGN_OR_RETURN(const Graph canonical, CanonicalGraph(request));
  ENCORE_ASSIGN_OR_RETURN(
      runtime::CompiledGraph graph,
      options_->compiler.compile(canonical, options, store, passes));
  return MeasuredPlan{
      .graph = std::make_shared<const runtime::CompiledGraph>(std::move(graph)),
      .measurements = {}};
}

StatusOr<std::shared_ptr<const runtime::Executable>> PlanMaker::OnDevices(
    const MeasuredPlan& plan) const {
  ENCORE_ASSIGN_OR_RETURN(auto devices,
                          options_->compiler.devices(*plan.graph));
  return runtime::Executable::Load(plan.graph, std::move(devices), threads_);
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
  return Use(request, plan, std::move(executable), found_in);
}

CompiledPtr PlanMaker::Use(
    const SessionRequest& request, const MeasuredPlan& plan,
    std::shared_ptr<const runtime::Executable> executable, FoundIn found_in,
    CodeOrigin origin) const {
  if (options_->log) {
    for (const std::string& note : executable->Notes()) options_->log(note);
  }
  return std::make_shared<const Compiled>(
      Compiled{request.key, request.ingredients, plan.measurements.Encode(),
               std::move(executable), found_in, origin, plan.cut_short});
}

}  // namespace encore::cache
