#include "encore/tools/compile/compile_command.h"

#include <string>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/compile/compile_model.h"
#include "encore/tools/json_output.h"
#include "encore/tools/progress.h"
#include "encore/tools/run/inputs.h"
#include "encore/tools/run/model_source.h"
#include "encore/tools/session_flags.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

struct Flags {
  CompileRequest request;
  std::vector<std::string> bindings;
  GivenFiles given;
  std::string emit;
  CompileReport report;
  SessionFlags session;
  JsonOutput json;
};

// Where a compile can stop, in its order.
std::vector<std::string> StopNames() {
  std::vector<std::string> names = {std::string(kAfterImport)};
  for (const opt::Pass& pass : opt::AllPasses()) names.emplace_back(pass.name);
  names.emplace_back(kAfterOptimize);
  names.emplace_back(kAfterLower);
  return names;
}

void AddFlags(CLI::App& app, Flags* flags) {
  CompileRequest& request = flags->request;
  app.add_option("MODEL", request.model,
                 "a model: .onnx, a graph as text (.txt) or as protobuf (.pb)")
      ->required();
  app.add_option("-o,--output", request.output,
                 "what to write; - for standard output, text only")
      ->required();
  app.add_option("--emit", flags->emit,
                 "text, proto, package or recording; a package, unless "
                 "--stop-after leaves a graph")
      ->check(CLI::IsMember({"text", "proto", "package", "recording"}));
  app.add_option("--stop-after", request.stop_after,
                 "import, a pass (encore opt --list tells them), or optimize, "
                 "the last one: write the graph at that point; lower: the "
                 "compiled graph without weights")
      ->check(CLI::IsMember(StopNames()));
  flags->report.passes.AddFlags(app);
  app.add_flag(
      "--explain", request.explain,
      "where the file or --json goes to standard output, print on standard "
      "error what is printed there otherwise: among it whether the cache had "
      "the graph, and what differs first from the nearest entry");
  app.add_flag("--explain-fusion", request.explain_fusion, kExplainFusionHelp);
  app.add_option("--bind", flags->bindings, "NAME=VALUE for a symbolic dim");
  app.add_flag("--strict", request.strict, kStrictHelp);
  app.add_option("--input", flags->given.inputs,
                 "an input of a recording's call, NAME=FILE with .npy or .pb, "
                 "or FILE.npz with several; missing ones are generated");
  app.add_option("--data", flags->given.data,
                 "a folder of input_0.pb …, as in ONNX's test data");
  app.add_option("--seed", request.seed,
                 "of generated inputs, and of parameters without data")
      ->capture_default_str();
  AddSessionFlags(app, &flags->session);
  flags->json.AddFlag(app);
  app.footer(
      "Exit codes: 0 ok, 2 unusable input or arguments, 3 an internal error.");
}

// What --emit and --stop-after ask for together.
Status SetWanted(const Flags& flags, CompileRequest* request) {
  const bool graph = request->stops_at_graph();
  request->emit = graph ? Emit::kText : Emit::kPackage;
  if (flags.emit == "text") request->emit = Emit::kText;
  if (flags.emit == "proto") request->emit = Emit::kProto;
  if (flags.emit == "package") request->emit = Emit::kPackage;
  if (flags.emit == "recording") request->emit = Emit::kRecording;
  if (graph && request->emit >= Emit::kPackage) {
    return InvalidArgumentError(StrCat(
        "--emit package and recording need the whole compile; "
        "--stop-after ",
        request->stop_after, " leaves a graph, for --emit text or proto"));
  }
  if (graph && request->explain_fusion) {
    return InvalidArgumentError(
        StrCat("--explain-fusion: --stop-after ", request->stop_after,
               " ends before there are kernels; leave one of the two out"));
  }
  if (!graph && request->emit == Emit::kProto) {
    return InvalidArgumentError(
        "--emit proto writes a graph: it needs --stop-after with import, "
        "optimize or the name of a pass");
  }
  if (request->stop_after == kAfterLower && request->emit == Emit::kRecording) {
    return InvalidArgumentError(
        "a recording has weights and calls: --stop-after lower leaves none");
  }
  if (request->output == "-" && request->emit != Emit::kText) {
    return InvalidArgumentError("-o -: only text goes to standard output");
  }
  return OkStatus();
}

// What is written must be apart from what is read.
Status CheckFiles(const Flags& flags) {
  CommandFiles files;
  files.WritesData("-o", flags.request.output);
  files.WritesData("--json", flags.json.path());
  AddGivenFiles(flags.given, &files);
  files.Reads("the model", flags.request.model);
  if (files.replaces_any()) {
    for (const std::string& file : FilesOfModel(flags.request.model)) {
      files.Reads("a file of the model", file);
    }
  }
  return files.CheckApart();
}

Status Compile(Flags& flags) {
  CompileRequest& request = flags.request;
  ENCORE_RETURN_IF_ERROR(SetWanted(flags, &request));
  ENCORE_RETURN_IF_ERROR(CheckFiles(flags));
  ENCORE_RETURN_IF_ERROR(flags.json.Open());
  ENCORE_ASSIGN_OR_RETURN(request.bindings, ParseBindings(flags.bindings));
  ENCORE_ASSIGN_OR_RETURN(request.given,
                          ReadGivenTensors(flags.given, request.model));
  ENCORE_ASSIGN_OR_RETURN(const auto tool, OpenSession(flags.session));
  CompileReport& report = flags.report;
  ENCORE_RETURN_IF_ERROR([&] {
    const Progress progress("compiling");
    return CompileModel(request, tool->session, &report);
  }());
  flags.json.Write(ToJson(report));
  if (!flags.json.on_stdout() && request.output != "-") {
    Print(ToText(report));
  } else if (request.explain) {
    PrintError(ToText(report));
  }
  return flags.json.status();
}

}  // namespace

int CompileMain(int argc, char** argv) {
  CLI::App app("Compile a model into a file that replays anywhere.",
               "encore compile");
  Flags flags;
  AddFlags(app, &flags);
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  const Status status = Compile(flags);
  return status.ok() ? kExitOk : Fail(app, status);
}

}  // namespace encore::tools
