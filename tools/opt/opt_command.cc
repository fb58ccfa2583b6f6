#include "encore/tools/opt/opt_command.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/backends/compile.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/import/import.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/improve.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/io/write_output.h"
#include "encore/tools/json_output.h"
#include "encore/tools/pass_report.h"
#include "encore/tools/run/model_source.h"
#include "encore/tools/session_flags.h"
#include "encore/tools/terminal.h"
#include "re2/re2.h"

namespace encore::tools {
namespace {

struct Flags {
  std::string model, output = "-", emit = "text";
  std::vector<std::string> passes, bindings;
  std::string rewrites =
      std::string(backends::Name(backends::CompileOptions().rewrites));
  std::string rules;
  opt::ImproveReport improved;
  bool list = false;
  ImportOptions import;
  PassReport report;
  JsonOutput json;
};

void AddFlags(CLI::App& app, Flags* flags) {
  app.add_option("FILE", flags->model,
                 "a model: .onnx, a graph as text (.txt) or as protobuf (.pb)");
  app.add_option("--passes", flags->passes,
                 "the passes to run, in this order; all, unless given")
      ->type_name("PASS,...")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  app.add_flag("--list", flags->list,
               "the passes, in the order of a compile, with what each takes, "
               "gives and keeps");
  app.add_option("--bind", flags->bindings,
                 "NAME=VALUE for a symbolic dim, which specialize puts in");
  const auto levels = backends::ValueNames<backends::Rewrites>();
  app.add_option("--rewrites", flags->rewrites,
                 "rules that the pass rewrite may use, by tag: none, exact, "
                 "reassociate or fast")
      ->check(
          CLI::IsMember(std::vector<std::string>(levels.begin(), levels.end())))
      ->capture_default_str();
  app.add_option("--rules", flags->rules,
                 "of these rules those whose name the regular expression "
                 "matches")
      ->type_name("REGEX");
  app.add_flag("--strict", flags->import.strict, kStrictHelp);
  app.add_option("-o,--output", flags->output,
                 "where the graph goes; - for standard output, text only")
      ->capture_default_str();
  app.add_option("--emit", flags->emit, "text or proto")
      ->check(CLI::IsMember({"text", "proto"}))
      ->capture_default_str();
  flags->report.AddFlags(app);
  flags->json.AddFlagWithFile(app);
  app.footer(
      "Exit codes: 0 ok, 2 unusable input or arguments, 3 an internal error.");
}

std::string ListText() {
  std::string text;
  const auto add = [&](std::string_view when, std::span<const opt::Pass> list) {
    StrAppend(&text, when, "\n");
    for (const opt::Pass& pass : list) {
      StrAppend(&text, "  ", pass.name, "\n    takes  ", pass.takes,
                "\n    gives  ", pass.gives, "\n    keeps  ", pass.keeps, "\n");
    }
  };
  add("before the cache key", opt::PassesBeforeKey());
  add("after the cache key", opt::PassesAfterKey());
  return text;
}

StatusOr<std::vector<opt::Pass>> PassesOf(const Flags& flags) {
  if (flags.passes.empty()) return opt::AllPasses();
  std::vector<opt::Pass> passes;
  for (const std::string& name : flags.passes) {
    ENCORE_ASSIGN_OR_RETURN(const opt::Pass pass, opt::FindPass(name));
    passes.push_back(pass);
  }
  return passes;
}

// The rules that the flags allow; what they do is told to `flags->improved`.
Status AddRules(Flags* flags, opt::ImproveOptions* options) {
  options->level = backends::RewriteLevelOf(
      *backends::ParseValue<backends::Rewrites>(flags->rewrites));
  options->report = &flags->improved;
  if (flags->rules.empty()) return OkStatus();
  const auto regex = std::make_shared<RE2>(flags->rules, RE2::Quiet);
  if (!regex->ok()) {
    return InvalidArgumentError(
        StrCat("--rules ", flags->rules, ": ", regex->error()));
  }
  options->filter = [regex](std::string_view rule) {
    return RE2::FullMatch(rule, *regex);
  };
  return OkStatus();
}

StatusOr<opt::PassOptions> OptionsOf(const Flags& flags, const Graph& graph) {
  ENCORE_ASSIGN_OR_RETURN(const auto values, ParseBindings(flags.bindings));
  SymbolBinding binding(graph.symbols());
  for (const auto& [name, value] : values) {
    const auto symbol = std::ranges::find(graph.symbols(), name, &Symbol::name);
    if (symbol == graph.symbols().end()) {
      return InvalidArgumentError(
          StrCat("--bind ", name, ": the graph has no symbol of that name"));
    }
    const auto number = static_cast<uint32_t>(symbol - graph.symbols().begin());
    ENCORE_RETURN_IF_ERROR(binding.BindSymbol(number, value));
  }
  opt::PassOptions options;
  const auto replacements = binding.replacements();
  options.replacements.assign(replacements.begin(), replacements.end());
  return options;
}

Status CheckFiles(const Flags& flags) {
  if (flags.model.empty()) {
    return InvalidArgumentError("FILE is missing: the graph to run passes on");
  }
  if (flags.output == "-" && (flags.emit != "text" || flags.json.on_stdout())) {
    return InvalidArgumentError(
        "-o -: only text goes to standard output, and nothing beside it");
  }
  CommandFiles files;
  files.WritesData("-o", flags.output);
  files.WritesData("--json", flags.json.path());
  files.Reads("the model", flags.model);
  if (files.replaces_any()) {
    for (const std::string& file : FilesOfModel(flags.model)) {
      files.Reads("a file of the model", file);
    }
  }
  return files.CheckApart();
}

Json ToJson(const opt::ImproveReport& report) {
  Json json;
  json["nodes"] = report.nodes;
  json["enodes"] = report.enodes;
  json["classes"] = report.classes;
  json["iterations"] = report.iterations;
  json["stop"] = report.stop;
  json["improved"] = report.improved;
  json["cost_before"] = report.cost_before;
  json["cost"] = report.cost_after;
  json["choice"] = report.best_choice;
  if (report.bound) {
    json["bound"] = *report.bound;
    json["gap"] = report.best_choice - *report.bound;
  }
  for (const opt::ImproveReport::Rule& rule : report.rules) {
    json["rules"][rule.name] = rule.count.applications;
  }
  return json;
}

Json ToJson(const Flags& flags, const Graph& before, const Graph& after) {
  Json json;
  json["model"] = flags.model;
  json["output"] = flags.output;
  json["nodes_before"] = before.node_count();
  json["nodes"] = after.node_count();
  if (flags.rewrites != "none") json["rewrite"] = ToJson(flags.improved);
  json["passes_ms"] = flags.report.PassesMs();
  json["optimize_ms"] = flags.report.OptimizeMs();
  return json;
}

Status Optimize(Flags& flags) {
  if (flags.list) {
    Print(ListText());
    return OkStatus();
  }
  ENCORE_RETURN_IF_ERROR(CheckFiles(flags));
  ENCORE_RETURN_IF_ERROR(flags.json.Open());
  ENCORE_ASSIGN_OR_RETURN(const std::vector<opt::Pass> passes, PassesOf(flags));
  ENCORE_ASSIGN_OR_RETURN(const ImportedModel model,
                          ImportAndWarn(flags.model, flags.import));
  ENCORE_ASSIGN_OR_RETURN(opt::PassOptions options,
                          OptionsOf(flags, model.graph));
  ENCORE_RETURN_IF_ERROR(AddRules(&flags, &options.rewrite));
  ENCORE_ASSIGN_OR_RETURN(
      const Graph graph,
      opt::RunPasses(passes, model.graph, options, &flags.report));
  ENCORE_RETURN_IF_ERROR(flags.improved.fault);
  std::string bytes;
  if (flags.emit == "proto") {
    ENCORE_ASSIGN_OR_RETURN(bytes, ToProto(graph));
  } else {
    bytes = Print(graph);
  }
  ENCORE_RETURN_IF_ERROR(WriteOutput(flags.output, bytes));
  flags.json.Write(ToJson(flags, model.graph, graph));
  return flags.json.status();
}

}  // namespace

int OptMain(int argc, char** argv) {
  CLI::App app("Run the compiler's passes on a graph and write what they give.",
               "encore opt");
  Flags flags;
  AddFlags(app, &flags);
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  const Status status = Optimize(flags);
  return status.ok() ? kExitOk : Fail(app, status);
}

}  // namespace encore::tools
