#include "encore/tools/run/run_command.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/options.h"
#include "encore/cache/standard_session.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/thread_pool.h"
#include "encore/tools/command.h"
#include "encore/tools/io/tensor_file.h"
#include "encore/tools/run/inputs.h"
#include "encore/tools/run/report.h"
#include "encore/tools/run/run_model.h"

namespace encore::tools {
namespace {

struct Flags {
  std::vector<std::string> models, inputs, bindings;
  std::string data, expect, save, json, target = "cpu", precision = "f32";
  std::string rewrites = "reassociate", placement;
  std::string cache = cache::DefaultCacheFolder();
  bool no_cache = false, check_cache = false, verify = false,
       deterministic = false;
  int threads = 0;
  RunRequest request;
};

void AddFlags(CLI::App& app, Flags* flags) {
  app.add_option("MODEL", flags->models, "ONNX models")->required();
  app.add_option(
      "--input", flags->inputs,
      "an input, NAME=FILE with .npy or .pb, or FILE.npz with several; "
      "missing ones are generated");
  app.add_option(
      "--data", flags->data,
      "a folder of input_0.pb … and output_0.pb …, as in ONNX's test data");
  app.add_option("--expect", flags->expect,
                 "expected outputs by name, an .npz");
  app.add_option("--rtol", flags->request.relative, "relative tolerance")
      ->capture_default_str();
  app.add_option("--atol", flags->request.absolute, "absolute tolerance")
      ->capture_default_str();
  app.add_option("--bind", flags->bindings, "NAME=VALUE for a symbolic dim");
  app.add_option("--seed", flags->request.seed, "of generated inputs")
      ->capture_default_str();
  app.add_option("--target", flags->target, "cpu or ref")
      ->capture_default_str();
  app.add_option("--placement", flags->placement,
                 "NAME=BACKEND,… for inputs, outputs or origins");
  app.add_option("--threads", flags->threads,
                 "0: the cores this process may use")
      ->capture_default_str();
  app.add_option("--precision", flags->precision, "f32, tf32, bf16 or f16")
      ->capture_default_str();
  app.add_option("--rewrites", flags->rewrites, "exact, reassociate or fast")
      ->capture_default_str();
  app.add_flag("--deterministic", flags->deterministic,
               "bit-equal results for any number of threads");
  app.add_option("--repeat", flags->request.repeat,
                 "replays to measure; 0 ends when the model is ready")
      ->capture_default_str();
  app.add_option("--seconds", flags->request.seconds,
                 "measure as many replays as fit into this time");
  app.add_option("--warmup", flags->request.warmup, "replays before that")
      ->capture_default_str();
  app.add_option("--save", flags->save, "write the outputs to an .npz");
  app.add_option("--json", flags->json,
                 "write an object per model, one a line; - for "
                 "standard output");
  app.add_option("--cache", flags->cache, "the cache's folder")
      ->capture_default_str();
  app.add_flag("--no-cache", flags->no_cache, "keep nothing on disk");
  app.add_flag("--check-cache", flags->check_cache,
               "compile on a hit too, and compare");
  app.add_flag("--verify", flags->verify, "check every checksum");
  app.footer(
      "Exit codes: 0 ok, 1 outputs are not as expected, 2 unusable input or "
      "arguments, 3 a fault of ours.");
}

StatusOr<backends::CompileOptions> CompileOptionsOf(const Flags& flags) {
  backends::CompileOptions options;
  options.target = flags.target;
  options.placement = flags.placement;
  options.deterministic = flags.deterministic;
  const auto precision = backends::ParsePrecision(flags.precision);
  const auto rewrites = backends::ParseRewrites(flags.rewrites);
  if (!precision) {
    return InvalidArgumentError(StrCat("--precision ", flags.precision,
                                       ": expected f32, tf32, bf16 or f16"));
  }
  if (!rewrites) {
    return InvalidArgumentError(
        StrCat("--rewrites ", flags.rewrites,
               ": expected exact, reassociate or fast"));
  }
  options.precision = *precision;
  options.rewrites = *rewrites;
  return options;
}

Status ReadBindings(const std::vector<std::string>& texts,
                    std::map<std::string, int64_t>* bindings) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const auto value =
        equals == std::string::npos
            ? std::nullopt
            : ParseInt64(std::string_view(text).substr(equals + 1));
    if (!value || *value < 0) {
      return InvalidArgumentError(
          StrCat("--bind ", text, ": expected NAME=VALUE"));
    }
    (*bindings)[text.substr(0, equals)] = *value;
  }
  return OkStatus();
}

Status SaveOutputs(const std::string& path, const RunReport& report) {
  std::vector<std::pair<std::string, Literal>> tensors;
  for (size_t i = 0; i < report.values.size(); ++i) {
    tensors.emplace_back(report.outputs[i].name, report.values[i]);
  }
  return WriteTensors(path, tensors);
}

// The number of threads asked for; 0 means the cores that this process may use.
StatusOr<int> ThreadCount(int asked) {
  constexpr int kMost = 1024;
  if (asked < 0 || asked > kMost) {
    return InvalidArgumentError(
        StrCat("--threads ", asked, ": expected 0 to ", kMost));
  }
  if (asked > 0) return asked;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::clamp(CPU_COUNT(&cores), 1, kMost);
}

// Runs every model; the exit code is that of the worst.
StatusOr<int> RunAll(Flags& flags, std::ostream* json) {
  ENCORE_ASSIGN_OR_RETURN(const int thread_count, ThreadCount(flags.threads));
  ENCORE_ASSIGN_OR_RETURN(backends::CompileOptions options,
                          CompileOptionsOf(flags));
  options.threads = thread_count;
  ENCORE_RETURN_IF_ERROR(ReadBindings(flags.bindings, &flags.request.bindings));
  ENCORE_ASSIGN_OR_RETURN(
      flags.request.given,
      ReadGivenTensors(flags.inputs, flags.data, flags.expect));
  runtime::ThreadPool threads(thread_count);
  cache::SessionOptions session_options =
      cache::StandardSessionOptions(options, flags.no_cache ? "" : flags.cache);
  session_options.check = flags.check_cache;
  session_options.verify = flags.verify;
  cache::Session session(std::move(session_options), &threads);
  int exit_code = kExitOk;
  for (const std::string& model : flags.models) {
    flags.request.model = model;
    ENCORE_ASSIGN_OR_RETURN(const RunReport report,
                            RunModel(flags.request, session));
    if (json != nullptr) *json << ToJson(report) << "\n";
    if (json != &std::cout) std::cout << ToText(report);
    if (!flags.save.empty())
      ENCORE_RETURN_IF_ERROR(SaveOutputs(flags.save, report));
    if (!report.ok()) exit_code = kExitMismatch;
  }
  return exit_code;
}

}  // namespace

int RunMain(int argc, char** argv) {
  CLI::App app("Compile models or recall them, replay, check, report.",
               "encore run");
  Flags flags;
  AddFlags(app, &flags);
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  std::ofstream file;
  std::ostream* json = nullptr;
  if (flags.json == "-") {
    json = &std::cout;
  } else if (!flags.json.empty()) {
    file.open(flags.json);
    if (!file) {
      return Fail(app, PermissionDeniedError(StrCat("--json ", flags.json,
                                                    " cannot be written")));
    }
    json = &file;
  }
  const StatusOr<int> exit_code = RunAll(flags, json);
  return exit_code.ok() ? *exit_code : Fail(app, exit_code.status());
}

}  // namespace encore::tools
