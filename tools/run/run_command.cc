#include "encore/tools/run/run_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/session/session.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/io/onnx_value.h"
#include "encore/tools/json_output.h"
#include "encore/tools/run/call_file.h"
#include "encore/tools/run/examples.h"
#include "encore/tools/run/inputs.h"
#include "encore/tools/run/model_source.h"
#include "encore/tools/run/report.h"
#include "encore/tools/run/run_model.h"
#include "encore/tools/session_flags.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

constexpr const char* kDescription =
    "Compile models or recall them from the cache, replay them, check their "
    "outputs, report.\nWithout a model: the example models on real inputs, "
    "with what they make of them.";
constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 outputs are not as expected, 2 unusable input or "
    "arguments, 3 an internal error.";

// Replays of an example where nothing else is asked for.
constexpr int64_t kExampleReplays = 10;

struct Flags {
  std::vector<std::string> models, bindings;
  std::string calls, save;
  GivenFiles given;
  JsonOutput json;
  int64_t repeat = -1;
  SessionFlags session;
  RunRequest request;
};

void AddInputFlags(CLI::App& app, Flags* flags) {
  app.add_option("MODEL", flags->models,
                 "models (.onnx), graphs as text (.txt) or protobuf (.pb), "
                 "packages or recordings (.encore)");
  app.add_option(
      "--input", flags->given.inputs,
      "an input, NAME=FILE with .npy or .pb, or FILE.npz with several; "
      "missing ones are generated; a map NAME is a .pb, or two tensors, "
      "NAME.keys and NAME.values");
  app.add_option(
      "--data", flags->given.data,
      "a folder of input_0.pb … and output_0.pb …, as in ONNX's test data");
  app.add_option(
      "--calls", flags->calls,
      "an .npz with inputs and expected outputs of several calls, in/NAME and "
      "out/NAME for all, each/in/NAME and each/out/NAME by call; "
      "carry/INPUT=OUTPUT hands an output to the next call");
  app.add_option("--expect", flags->given.expect,
                 "expected outputs by name, an .npz");
  app.add_option("--rtol", flags->request.relative, "relative tolerance")
      ->check(NonNegativeNumber())
      ->capture_default_str();
  app.add_option("--atol", flags->request.absolute, "absolute tolerance")
      ->check(NonNegativeNumber())
      ->capture_default_str();
  app.add_option("--bind", flags->bindings,
                 "NAME=VALUE for a symbolic dim; otherwise taken from the "
                 "inputs");
  app.add_flag("--strict", flags->request.strict, kStrictHelp);
  app.add_option("--seed", flags->request.seed, "of generated inputs")
      ->check(WholeNumber())
      ->capture_default_str();
}

void AddRunFlags(CLI::App& app, Flags* flags) {
  app.add_option("--repeat", flags->repeat,
                 "replays to measure; 0 ends when the model is ready [1; "
                 "examples 10]")
      ->check(WholeNumber());
  app.add_option("--seconds", flags->request.seconds,
                 "measure as many replays as fit into this time")
      ->check(NonNegativeNumber());
  app.add_option("--warmup", flags->request.warmup, "replays before that")
      ->check(WholeNumber())
      ->capture_default_str();
  app.add_option(
      "--save", flags->save,
      "write the outputs to an .npz, to FOLDER/ as output_0.pb …, or an only "
      "one to a .pb; .pb files have strings, sequences, optionals and maps "
      "too");
  flags->json.AddFlagWithFile(app);
  app.add_option("--trace", flags->request.trace,
                 "write the times of a replay's steps for Perfetto or "
                 "chrome://tracing");
  app.add_flag("--explain-fusion", flags->request.explain_fusion,
               kExplainFusionHelp);
  app.add_option("--record", flags->request.record,
                 "write model, inputs and outputs to a recording, which "
                 "encore replay run takes");
  app.add_flag("--trust", flags->request.trust,
               "run the code in a package; otherwise its graph is compiled "
               "here");
}

Status SaveOutputs(const std::string& path, const std::string& model,
                   const RunReport& report) {
  std::vector<std::pair<std::string, Literal>> values;
  if (!report.values.empty()) {
    for (size_t i = 0; i < report.values[0].size(); ++i) {
      values.emplace_back(report.outputs[i].name, report.values[0][i]);
    }
  }
  // Of what is no model, parts of maps are saved by themselves.
  const auto types = ReadModelTypes(model);
  return SaveValues(path, values,
                    types.ok() ? std::span(types->outputs)
                               : std::span<const ModelTypes::Value>());
}

// Flags that make no sense together.
Status CheckFlags(const Flags& flags) {
  const auto several = [&](const std::string& value, std::string_view flag) {
    if (value.empty() || flags.models.size() == 1) return OkStatus();
    return InvalidArgumentError(StrCat(flag, " takes exactly one model"));
  };
  ENCORE_RETURN_IF_ERROR(several(flags.save, "--save"));
  ENCORE_RETURN_IF_ERROR(several(flags.request.trace, "--trace"));
  ENCORE_RETURN_IF_ERROR(several(flags.request.record, "--record"));
  if (flags.models.empty() &&
      !(flags.given.inputs.empty() && flags.bindings.empty() &&
        flags.given.data.empty() && flags.given.expect.empty() &&
        flags.calls.empty())) {
    return InvalidArgumentError(
        "--input, --data, --calls, --expect and --bind need a model");
  }
  if (!flags.calls.empty() &&
      !(flags.given.inputs.empty() && flags.given.data.empty() &&
        flags.given.expect.empty())) {
    return InvalidArgumentError(
        "--calls has the inputs and what is expected; --input, --data and "
        "--expect cannot be given beside it");
  }
  if (!flags.save.empty() && flags.repeat == 0 && flags.request.seconds == 0) {
    return InvalidArgumentError(
        "--save: nothing is computed at --repeat 0, so there are no outputs");
  }
  return OkStatus();
}

// Whether SaveValues may write a file of that name into a folder.
bool IsSaved(std::string_view name) {
  constexpr std::string_view kBegin = "output_", kEnd = ".pb";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(std::min(name.size(), kEnd.size()));
  return !name.empty() &&
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

// What is written must be apart from what is read.
Status CheckFiles(const Flags& flags) {
  CommandFiles files;
  files.Writes("--save", flags.save);
  files.WritesInto("--save", flags.save, IsSaved);
  files.Writes("--trace", flags.request.trace);
  files.Writes("--record", flags.request.record);
  files.WritesData("--json", flags.json.path());
  AddGivenFiles(flags.given, &files);
  files.Reads("--calls", flags.calls);
  for (const std::string& model : flags.models) {
    files.Reads("the model", model);
    if (!files.replaces_any()) continue;
    for (const std::string& file : FilesOfModel(model)) {
      files.Reads("a file of the model", file);
    }
  }
  return files.CheckApart();
}

StatusOr<RunReport> RunOne(Flags& flags, cache::Session& session) {
  if (flags.calls.empty()) {
    ENCORE_ASSIGN_OR_RETURN(flags.request.calls[0],
                            ReadGivenTensors(flags.given, flags.request.model));
  }
  return RunModel(flags.request, session);
}

// Runs every model; the exit code is that of the worst.
StatusOr<int> RunAll(const CLI::App& app, Flags& flags) {
  flags.request.repeat = flags.repeat >= 0      ? flags.repeat
                         : flags.models.empty() ? kExampleReplays
                                                : 1;
  ENCORE_RETURN_IF_ERROR(CheckFlags(flags));
  ENCORE_RETURN_IF_ERROR(CheckFiles(flags));
  ENCORE_RETURN_IF_ERROR(flags.json.Open());
  flags.session.write_behind = true;
  ENCORE_ASSIGN_OR_RETURN(const auto tool, OpenSession(flags.session));
  ENCORE_ASSIGN_OR_RETURN(flags.request.bindings,
                          ParseBindings(flags.bindings));
  if (!flags.calls.empty()) {
    ENCORE_ASSIGN_OR_RETURN(flags.request.calls, ReadCalls(flags.calls));
  }
  // Nothing but JSON goes where JSON goes.
  const TextSink print = flags.json.on_stdout() ? PrintError : Print;
  const auto write_json = [&](const RunReport& report) {
    flags.json.Write(ToJson(report));
    return flags.json.status();
  };
  if (flags.models.empty()) {
    ENCORE_ASSIGN_OR_RETURN(
        const bool ok,
        RunExamples(flags.request, tool->session, print, write_json));
    return ok ? kExitOk : kExitMismatch;
  }
  int exit_code = kExitOk;
  for (const std::string& model : flags.models) {
    flags.request.model = model;
    const auto report = RunOne(flags, tool->session);
    if (!report.ok()) {
      exit_code = std::max(exit_code, Fail(app, report.status()));
      continue;
    }
    ENCORE_RETURN_IF_ERROR(write_json(*report));
    if (!flags.json.on_stdout()) print(ToText(*report));
    std::fflush(stdout);
    if (!flags.save.empty()) {
      ENCORE_RETURN_IF_ERROR(SaveOutputs(flags.save, model, *report));
    }
    if (!report->ok()) exit_code = std::max(exit_code, kExitMismatch);
  }
  return exit_code;
}

}  // namespace

int RunMain(int argc, char** argv) {
  CLI::App app(kDescription, "encore run");
  Flags flags;
  AddInputFlags(app, &flags);
  AddRunFlags(app, &flags);
  AddSessionFlags(app, &flags.session);
  app.footer(kFooter);
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  const StatusOr<int> exit_code = RunAll(app, flags);
  return exit_code.ok() ? *exit_code : Fail(app, exit_code.status());
}

}  // namespace encore::tools
