#include "encore/tools/run/run_model.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <span>
#include <utility>

#include "encore/backends/lowering/lowering_report.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/explain_lowering.h"
#include "encore/cache/session/explain_miss.h"
#include "encore/cache/session/export.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/step_kinds.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/tools/io/npy.h"
#include "encore/tools/latency.h"
#include "encore/tools/progress.h"
#include "encore/tools/run/model_source.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

int64_t PeakRss() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

bool IsEmpty(const GivenTensors& given) {
  return given.inputs.empty() && given.expected.empty() &&
         given.positional_inputs.empty() && given.positional_expected.empty();
}

// A model that is ready to be replayed, and the calls to replay it with.
class LoadedModel {
 public:
  LoadedModel(const RunRequest& request, cache::Session& session)
      : request_(request), session_(session) {}

  // Imports, compiles or recalls.
  Status Load(RunReport* report);
  // Replays the first call as often as asked for.
  Status Measure(RunReport* report);
  // Every call once, and how its outputs compare.
  Status Check(RunReport* report);
  // Why the cache did not have it, where it did not.
  Status Explain(RunReport* report) const;
  // Why each kernel ends where it ends, on standard error.
  Status ExplainFusion() const;
  // A replay, after the passes of the load.
  Status Trace(const PassReport& passes);
  Status Record();

 private:
  bool NeedsInputs() const {
    return request_.repeat > 0 || request_.seconds > 0 ||
           !request_.trace.empty() || !request_.record.empty();
  }
  // Makes loaded_: from the package, where its code may be run, else from the
  // graph.
  Status LoadGraph(const cache::Package* trusted);
  Status Bind(size_t call);
  // The outputs of a call, whose carried inputs are taken from `before`.
  StatusOr<std::vector<Literal>> Call(size_t call,
                                      std::span<const Literal> before);
  void Describe(RunReport* report) const;

  const RunRequest& request_;
  cache::Session& session_;
  std::optional<Graph> graph_;
  std::vector<GivenTensors> calls_;
  std::vector<std::vector<Literal>> inputs_;
  std::deque<runtime::HostObject> objects_;  // bound, at stable addresses
  cache::LoadOptions load_options_;
  std::shared_ptr<const cache::Loaded> loaded_;
  std::unique_ptr<runtime::Replayer> replayer_;
};

Status LoadedModel::Load(RunReport* report) {
  session_.Flush();  // why this one misses is said of all models before it
  const Clock::time_point begin = Clock::now();
  load_options_.source = request_.model;
  session_.Anticipate(load_options_.source);
  Progress progress(StrCat("loading ", report->model));
  ENCORE_ASSIGN_OR_RETURN(ModelSource source,
                          OpenModel(request_.model, request_.bindings,
                                    request_.calls[0], request_.strict));
  report->import_ms = MillisecondsSince(begin);
  graph_ = std::move(source.graph);
  load_options_.files = std::move(source.files);
  calls_ = request_.calls;
  if (calls_.size() == 1 && IsEmpty(calls_[0]) && !source.calls.empty()) {
    calls_ = std::move(source.calls);
  }
  for (const GivenTensors& call : calls_) {
    ENCORE_RETURN_IF_ERROR(CheckGiven(*graph_, call));
    if (!NeedsInputs()) continue;
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> inputs,
                            MakeInputs(*graph_, call, request_.seed));
    for (Literal& input : inputs) {
      input = input.Aligned();
    }
    inputs_.push_back(std::move(inputs));
  }
  progress.SetLabel(StrCat("compiling ", report->model));
  load_options_.passes = &report->passes;
  const cache::SessionStatistics before = session_.statistics();
  ENCORE_RETURN_IF_ERROR(
      LoadGraph(request_.trust ? source.package.get() : nullptr));
  ENCORE_ASSIGN_OR_RETURN(replayer_, loaded_->NewReplayer());
  report->load_ms = MillisecondsSince(begin);
  const cache::SessionStatistics after = session_.statistics();
  report->compile_ms = after.compile_ms - before.compile_ms;
  report->cached = session_.options().disk != nullptr &&
                   after.uncached == before.uncached &&
                   loaded_->found_in() != cache::FoundIn::kPackage;
  report->found_in = loaded_->found_in();
  report->kernels_found = after.kernels_found - before.kernels_found;
  report->kernels_made = after.kernels_made - before.kernels_made;
  report->rewrites_found = after.rewrites_found - before.rewrites_found;
  report->rewrites_made = after.rewrites_made - before.rewrites_made;
  report->parts_found = after.parts_found - before.parts_found;
  report->parts_made = after.parts_made - before.parts_made;
  Describe(report);
  return OkStatus();
}

// A package's own code serves that package alone, never the session's other
// models.
Status LoadedModel::LoadGraph(const cache::Package* trusted) {
  if (trusted != nullptr) {
    auto own = cache::LoadPackage(*trusted, session_.options().compiler.devices,
                                  session_.threads());
    if (own.ok()) {
      loaded_ = *std::move(own);
      return OkStatus();
    }
    // For another machine, or for a backend that is not here.
    if (own.status().code() != StatusCode::kFailedPrecondition &&
        own.status().code() != StatusCode::kNotFound) {
      return own.status();
    }
  }
  ENCORE_ASSIGN_OR_RETURN(loaded_, session_.Load(*graph_, load_options_));
  return OkStatus();
}

void LoadedModel::Describe(RunReport* report) const {
  const runtime::Executable& executable = *loaded_->compiled().executable;
  const runtime::CompiledGraph& compiled = executable.graph();
  const auto& steps = compiled.plan(compiled.run).steps;
  report->steps = static_cast<int64_t>(steps.size());
  for (const runtime::Step& step : steps) {
    const runtime::Launch* launch = runtime::LaunchOf(step);
    if (launch == nullptr) continue;
    const bool on_host =
        executable.devices()[launch->device.value()]->runs_on_host();
    ++(on_host ? report->host_kernels : report->device_kernels);
  }
  report->arena_bytes = replayer_->arena_bytes();
  for (size_t i = 0; i < graph_->outputs().size(); ++i) {
    const Graph::Output& output = graph_->outputs()[i];
    report->outputs.push_back(
        {output.name, graph_->type(output.value), std::nullopt});
  }
}

Status LoadedModel::Bind(size_t call) {
  for (size_t i = 0; i < inputs_[call].size(); ++i) {
    const Literal& input = inputs_[call][i];
    if (IsString(input.dtype()) || input.kind() != ValueKind::kTensor) {
      objects_.push_back({input});
      ENCORE_RETURN_IF_ERROR(replayer_->BindInput(i, &objects_.back()));
      continue;
    }
    const auto bytes = input.bytes();
    ENCORE_RETURN_IF_ERROR(replayer_->BindHostInput(
        i, bytes.data(), static_cast<int64_t>(bytes.size()), input.dims()));
  }
  return OkStatus();
}

Status LoadedModel::Measure(RunReport* report) {
  ENCORE_RETURN_IF_ERROR(Bind(0));
  const bool timed = request_.seconds > 0;
  Progress progress(StrCat("replaying ", report->model),
                    timed ? 0 : request_.warmup + request_.repeat);
  for (int64_t i = 0; i < request_.warmup; ++i) {
    ENCORE_RETURN_IF_ERROR(loaded_->Replay(*replayer_));
    progress.Advance();
  }
  // What is still being written would disturb times. Nothing holds up a first
  // call.
  if (timed || request_.repeat > 1) session_.Flush();
  Times times;
  const Clock::time_point begin = Clock::now();
  const auto enough = [&] {
    if (!timed) return times.count() >= request_.repeat;
    return !times.empty() &&
           MillisecondsSince(begin) >= request_.seconds * 1000;
  };
  while (!enough()) {
    const Clock::time_point start = Clock::now();
    ENCORE_RETURN_IF_ERROR(loaded_->Replay(*replayer_));
    times.Add(MillisecondsSince(start) * 1000);
    progress.Advance();
  }
  report->runs = times.count();
  report->latency = times.Percentiles();
  return OkStatus();
}

StatusOr<std::vector<Literal>> LoadedModel::Call(
    size_t call, std::span<const Literal> before) {
  const auto& names = loaded_->names();
  for (const auto& [input, output] : calls_[call].carried) {
    const auto from = std::ranges::find(names.outputs, output);
    const auto to = std::ranges::find(names.inputs, input);
    if (from == names.outputs.end() || to == names.inputs.end()) {
      return InvalidArgumentError(StrCat("the model has no output ",
                                         Quote(output), " or no input ",
                                         Quote(input), " to carry it to"));
    }
    inputs_[call][to - names.inputs.begin()] =
        before[from - names.outputs.begin()];
  }
  return loaded_->Run(*replayer_, inputs_[call]);
}

Status LoadedModel::Check(RunReport* report) {
  std::vector<Literal> before;
  for (size_t call = 0; call < calls_.size(); ++call) {
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> values, Call(call, before));
    before = values;
    const GivenTensors& given = calls_[call];
    for (size_t i = 0; i < values.size(); ++i) {
      OutputReport& output = report->outputs[i];
      output.type = values[i].type();
      const Literal* expected = nullptr;
      const auto named = given.expected.find(output.name);
      if (named != given.expected.end()) {
        expected = &named->second;
      } else if (i < given.positional_expected.size()) {
        expected = &given.positional_expected[i];
      }
      if (expected == nullptr) continue;
      const LiteralDifference difference = CompareLiterals(
          values[i],
          given.convert ? Convert(*expected, values[i].dtype())
                        : FromNpyType(*expected, values[i].dtype()),
          {request_.relative, request_.absolute});
      if (!output.difference) output.difference = LiteralDifference();
      output.difference->Merge(difference);
    }
    report->values.push_back(std::move(values));
  }
  return OkStatus();
}

Status LoadedModel::Explain(RunReport* report) const {
  if (!report->cached || report->found_in != cache::FoundIn::kCompiled) {
    return OkStatus();
  }
  cache::LoadOptions options = load_options_;
  options.passes = nullptr;
  ENCORE_ASSIGN_OR_RETURN(report->why,
                          ExplainCompiled(session_, *graph_, options));
  return OkStatus();
}

Status LoadedModel::ExplainFusion() const {
  cache::LoadOptions options = load_options_;
  options.passes = nullptr;
  ENCORE_ASSIGN_OR_RETURN(
      const backends::LoweringReport lowering,
      ExplainLowering(session_, *graph_, options, PrintableName));
  PrintError(FusionText(lowering));
  return OkStatus();
}

Status LoadedModel::Trace(const PassReport& passes) {
  ENCORE_RETURN_IF_ERROR(Bind(0));
  runtime::Profiler profiler;
  ENCORE_RETURN_IF_ERROR(loaded_->Replay(*replayer_, &profiler));
  const auto& origins = loaded_->names().origins;
  std::vector<std::string> names;
  names.reserve(passes.times().size());
  std::vector<runtime::Profiler::Event> events;
  for (const PassReport::Time& time : passes.times()) {
    names.push_back(StrCat("pass ", time.name));
    events.push_back({names.back(), time.begin, time.end});
  }
  return Annotate(
      WriteWholeFile(request_.trace, profiler.ChromeTrace(
                                         replayer_->graph(),
                                         [&](uint32_t number) {
                                           return number < origins.size()
                                                      ? origins[number]
                                                      : std::string();
                                         },
                                         events)),
      "--trace");
}

Status LoadedModel::Record() {
  // What is carried has to be known to be recorded.
  const bool carries = std::ranges::any_of(
      calls_, [](const GivenTensors& given) { return !given.carried.empty(); });
  std::vector<Literal> before;
  for (size_t call = 0; carries && call < calls_.size(); ++call) {
    ENCORE_ASSIGN_OR_RETURN(before, Call(call, before));
  }
  std::vector<cache::Package::Call> calls;
  for (const std::vector<Literal>& inputs : inputs_) {
    calls.push_back({inputs, {}});
  }
  return cache::Record(session_, request_.record, *graph_, *loaded_, calls,
                       load_options_);
}

}  // namespace

bool RunReport::ok() const {
  return std::ranges::all_of(outputs, [](const OutputReport& output) {
    return !output.difference || output.difference->ok;
  });
}

StatusOr<RunReport> RunModel(const RunRequest& request,
                             cache::Session& session) {
  RunReport report;
  report.model = request.name.empty() ? request.model : request.name;
  report.target = session.options().compile.target;
  LoadedModel model(request, session);
  ENCORE_RETURN_IF_ERROR(model.Load(&report));
  if (request.repeat > 0 || request.seconds > 0) {
    ENCORE_RETURN_IF_ERROR(model.Measure(&report));
    ENCORE_RETURN_IF_ERROR(model.Check(&report));
  }
  ENCORE_RETURN_IF_ERROR(model.Explain(&report));
  if (request.explain_fusion) ENCORE_RETURN_IF_ERROR(model.ExplainFusion());
  if (!request.trace.empty())
    ENCORE_RETURN_IF_ERROR(model.Trace(report.passes));
  if (!request.record.empty()) ENCORE_RETURN_IF_ERROR(model.Record());
  report.peak_rss_bytes = PeakRss();
  return report;
}

}  // namespace encore::tools
