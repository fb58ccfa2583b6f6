#include "encore/tools/run/run_command.h"

#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/io/tensor_file.h"
#include "encore/tools/run/inputs.h"
#include "encore/tools/run/report.h"
#include "encore/tools/run/run_model.h"
#include "encore/tools/session_flags.h"

namespace encore::tools {
namespace {

struct Flags {
  std::vector<std::string> models, inputs, bindings;
  std::string data, expect, save, json;
  SessionFlags session;
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
  AddSessionFlags(app, &flags->session);
  app.footer(
      "Exit codes: 0 ok, 1 outputs are not as expected, 2 unusable input or "
      "arguments, 3 a fault of ours.");
}

Status SaveOutputs(const std::string& path, const RunReport& report) {
  std::vector<std::pair<std::string, Literal>> tensors;
  for (size_t i = 0; i < report.values.size(); ++i) {
    tensors.emplace_back(report.outputs[i].name, report.values[i]);
  }
  return WriteTensors(path, tensors);
}

// Runs every model; the exit code is that of the worst.
StatusOr<int> RunAll(Flags& flags, std::ostream* json) {
  ENCORE_ASSIGN_OR_RETURN(const auto tool, OpenSession(flags.session));
  ENCORE_ASSIGN_OR_RETURN(flags.request.bindings,
                          ParseBindings(flags.bindings));
  ENCORE_ASSIGN_OR_RETURN(
      flags.request.given,
      ReadGivenTensors(flags.inputs, flags.data, flags.expect));
  int exit_code = kExitOk;
  for (const std::string& model : flags.models) {
    flags.request.model = model;
    ENCORE_ASSIGN_OR_RETURN(const RunReport report,
                            RunModel(flags.request, tool->session));
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
