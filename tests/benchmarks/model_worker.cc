// One model in Encore, for tests/benchmarks/models.py: a process that stays and
// answers a line with a line.
//
//   model_worker MODEL INPUTS.npz THREADS CACHE
//
//   (ready)     {"compile_ms":…, "load_ms":…, "base_mib":…, "steps":…,
//                "arena_bytes":…, "live_bytes":…}
//   time N      N calls, host to host: {"us":[…]}
//   save FILE   the outputs of the last call to an .npz: {}
//   (end of input)
//
// load_ms is from threads and session to where the first call can be made;
// base_mib the process's peak memory before. One call is made before the first
// that is timed.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/tests/benchmarks/live_bytes.h"
#include "encore/tools/io/tensor_file.h"
#include "encore/tools/run/inputs.h"
#include "encore/tools/run/model_source.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

// Calls with outputs in memory of the caller's; binding is part of a call.
class Calls {
 public:
  Calls(std::unique_ptr<runtime::Replayer> replayer,
        std::vector<Literal> inputs)
      : replayer_(std::move(replayer)), inputs_(std::move(inputs)) {}

  Status Call() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto bytes = inputs_[i].bytes();
      ENCORE_RETURN_IF_ERROR(
          replayer_->BindInput(i, bytes.data(), bytes.size()));
    }
    return replayer_->Replay();
  }

  StatusOr<std::string> Time(int64_t count) {
    std::string times;
    for (int64_t i = 0; i < count; ++i) {
      const Clock::time_point begin = Clock::now();
      ENCORE_RETURN_IF_ERROR(Call());
      StrAppend(&times, i == 0 ? "" : ",", MicrosecondsSince(begin));
    }
    return StrCat("{\"us\":[", times, "]}");
  }

  Status Save(const std::string& path, const Graph& graph) {
    std::vector<std::pair<std::string, Literal>> outputs;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const auto output = replayer_->output(i);
      ENCORE_ASSIGN_OR_RETURN(
          Literal value,
          Literal::Copy(graph.dtype(graph.outputs()[i].value),
                        {output.dims.begin(), output.dims.end()},
                        {static_cast<const std::byte*>(output.data),
                         static_cast<size_t>(output.bytes)}));
      outputs.emplace_back(graph.outputs()[i].name, std::move(value));
    }
    return WriteTensors(path, outputs);
  }

 private:
  const std::unique_ptr<runtime::Replayer> replayer_;
  const std::vector<Literal> inputs_;
};

// The most memory that the process has had, in MiB.
double PeakMebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int64_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %" SCNd64, &kibibytes) == 1) {
      return static_cast<double>(kibibytes) / 1024;
    }
  }
  return 0;
}

Status Serve(const Graph& graph, Calls& calls) {
  std::string verb;
  bool called = false;
  while (std::cin >> verb) {
    std::string argument;
    std::cin >> argument;
    if (!std::exchange(called, true)) ENCORE_RETURN_IF_ERROR(calls.Call());
    if (verb == "time") {
      ENCORE_ASSIGN_OR_RETURN(const std::string answer,
                              calls.Time(ParseInt64(argument).value_or(1)));
      std::cout << answer << std::endl;
    } else if (verb == "save") {
      ENCORE_RETURN_IF_ERROR(calls.Save(argument, graph));
      std::cout << "{}" << std::endl;
    } else {
      return InvalidArgumentError(StrCat("no command ", Quote(verb)));
    }
  }
  return OkStatus();
}

Status Run(char** arguments) {
  const std::string model = arguments[1];
  const int thread_count =
      static_cast<int>(ParseInt64(arguments[3]).value_or(1));
  ENCORE_ASSIGN_OR_RETURN(const GivenTensors given,
                          ReadGivenTensors({{arguments[2]}, "", ""}, model));
  const double base_mib = PeakMebibytes();
  const Clock::time_point begin = Clock::now();
  backends::CompileOptions options;
  options.threads = thread_count;
  runtime::ThreadPool threads(thread_count);
  cache::SessionOptions session_options =
      cache::StandardSessionOptions(options, arguments[4]);
  session_options.write_behind = true;
  cache::Session session(std::move(session_options), &threads);
  ENCORE_ASSIGN_OR_RETURN(const ModelSource source,
                          OpenModel(model, {}, given));
  cache::LoadOptions load;
  load.files = source.files;
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, session.Load(source.graph, load));
  ENCORE_ASSIGN_OR_RETURN(auto replayer, loaded->NewReplayer());
  const double load_ms = MicrosecondsSince(begin) / 1000;
  session.Flush();  // disturbs none of what is measured from here on
  const auto& compiled = loaded->graph();
  std::cout << StrCat("{\"load_ms\":", load_ms, ",\"base_mib\":", base_mib,
                      ",\"compile_ms\":", session.statistics().compile_ms,
                      ",\"steps\":", compiled.plan(compiled.run).steps.size(),
                      ",\"arena_bytes\":", replayer->arena_bytes(),
                      ",\"live_bytes\":", MostLiveBytes(compiled), "}")
            << std::endl;
  ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> inputs,
                          MakeInputs(source.graph, given, 1));
  Calls calls(std::move(replayer), std::move(inputs));
  return Serve(source.graph, calls);
}

}  // namespace
}  // namespace encore::tools

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr,
                 "usage: model_worker MODEL INPUTS.npz THREADS CACHE\n");
    return 2;
  }
  const encore::Status status = encore::tools::Run(argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "model_worker: %s\n", encore::Message(status).c_str());
  return 1;
}
