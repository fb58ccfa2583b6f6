#include "encore/tools/run/run_model.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "encore/ir/graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

int64_t PeakRss() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// The model with its symbols bound by name, or by the shapes of the inputs
// given.
StatusOr<Graph> ImportRequest(const RunRequest& request) {
  ImportOptions options;
  options.bindings = request.bindings;
  for (const auto& [name, tensor] : request.given.inputs) {
    options.input_shapes[name] = tensor.dims();
  }
  if (request.given.positional_inputs.empty()) {
    return ImportFile(request.model, options);
  }
  // A data set knows positions: the names come from a first look at the model.
  ENCORE_ASSIGN_OR_RETURN(const Graph first,
                          ImportFile(request.model, options));
  size_t position = 0;
  for (const Graph::Argument& argument : first.arguments()) {
    if (argument.is_parameter) continue;
    if (position == request.given.positional_inputs.size()) break;
    options.input_shapes[argument.name] =
        request.given.positional_inputs[position++].dims();
  }
  return ImportFile(request.model, options);
}

// Replays until enough has been measured; the times in microseconds.
StatusOr<std::vector<double>> Measure(const RunRequest& request,
                                      runtime::Replayer& replayer) {
  for (int64_t i = 0; i < request.warmup; ++i) {
    ENCORE_RETURN_IF_ERROR(replayer.Replay());
  }
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  const auto enough = [&] {
    if (request.seconds > 0) {
      return MillisecondsSince(begin) >= request.seconds * 1000 &&
             !times.empty();
    }
    return static_cast<int64_t>(times.size()) >= request.repeat;
  };
  while (!enough()) {
    const Clock::time_point start = Clock::now();
    ENCORE_RETURN_IF_ERROR(replayer.Replay());
    times.push_back(MillisecondsSince(start) * 1000);
  }
  return times;
}

void CompareOutputs(const RunRequest& request, RunReport* report) {
  for (size_t i = 0; i < report->outputs.size(); ++i) {
    const Literal* expected = nullptr;
    const auto named = request.given.expected.find(report->outputs[i].name);
    if (named != request.given.expected.end()) {
      expected = &named->second;
    } else if (i < request.given.positional_expected.size()) {
      expected = &request.given.positional_expected[i];
    }
    if (expected == nullptr) continue;
    report->outputs[i].difference = Compare(report->values[i], *expected,
                                            request.relative, request.absolute);
  }
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
  report.model = request.model;
  report.target = session.options().compile.target;
  const Clock::time_point begin = Clock::now();
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, ImportRequest(request));
  report.import_ms = MillisecondsSince(begin);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> inputs,
                          MakeInputs(graph, request.given, request.seed));
  cache::LoadOptions load;
  load.weight_files = {request.model};
  const double compiled_before = session.statistics().compile_ms;
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, session.Load(graph, load));
  report.load_ms = MillisecondsSince(begin);
  report.compile_ms = session.statistics().compile_ms - compiled_before;
  report.found_in = loaded->found_in();
  const runtime::CompiledGraph& compiled = loaded->graph();
  report.steps = static_cast<int64_t>(compiled.plan(compiled.run).steps.size());
  report.kernels = static_cast<int64_t>(compiled.programs.size());
  ENCORE_ASSIGN_OR_RETURN(const auto replayer, loaded->NewReplayer());
  if (request.repeat == 0 && request.seconds <= 0) {
    report.peak_rss_bytes = PeakRss();
    return report;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = inputs[i].bytes();
    ENCORE_RETURN_IF_ERROR(replayer->BindInput(
        i, bytes.data(), static_cast<int64_t>(bytes.size()), inputs[i].dims()));
  }
  ENCORE_ASSIGN_OR_RETURN(std::vector<double> times,
                          Measure(request, *replayer));
  report.runs = static_cast<int64_t>(times.size());
  report.latency = Percentiles(std::move(times));
  ENCORE_ASSIGN_OR_RETURN(report.values, loaded->Run(*replayer, inputs));
  for (size_t i = 0; i < report.values.size(); ++i) {
    report.outputs.push_back(
        {graph.outputs()[i].name, report.values[i].type(), std::nullopt});
  }
  report.arena_bytes = replayer->arena_bytes();
  report.peak_rss_bytes = PeakRss();
  CompareOutputs(request, &report);
  return report;
}

}  // namespace encore::tools
