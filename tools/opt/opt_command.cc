#include "encore/tools/opt/opt_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/import/import.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/dot.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/egraph_dump.h"
#include "encore/opt/tensor/explain/explanation.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/improve_observer.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/io/write_output.h"
#include "encore/tools/json_output.h"
#include "encore/tools/machine_flags.h"
#include "encore/tools/opt/opt_report.h"
#include "encore/tools/run/model_source.h"
#include "encore/tools/session_flags.h"
#include "encore/tools/terminal.h"
#include "re2/re2.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kNoTarget = "none";

struct Flags {
  std::string model, output, emit, dump;
  std::vector<std::string> passes, bindings;
  std::string rewrites =
      std::string(backends::Name(backends::CompileOptions().rewrites));
  std::string rules, rules_file;
  double max_seconds = 0;
  std::string target = backends::CompileOptions().target;
  std::string optimizer =
      std::string(backends::Name(backends::CompileOptions().optimizer));
  MachineFlags machine;
  std::vector<opt::TextRule> user_rules;
  bool list = false, list_rules = false, explain = false, check = false;
  ImportOptions import;
  OptReport report;
  JsonOutput json;

  bool writes_graph() const { return !output.empty() || !emit.empty(); }
  bool graph_on_stdout() const {
    return writes_graph() && (output.empty() || output == "-");
  }
  // Whether the e-graphs of the pass rewrite are looked at.
  bool observes() const { return !dump.empty() || explain || check; }
  // Whether standard output has nothing but data.
  bool quiet() const {
    return graph_on_stdout() || json.on_stdout() || dump == "-";
  }
};

void AddLoweringFlags(CLI::App& app, Flags* flags) {
  app.add_option("--target", flags->target,
                 "where the table says how the graph would be cut into kernels "
                 "and laid out, as of encore run; none: it does not say")
      ->capture_default_str();
  const auto optimizers = backends::ValueNames<backends::Optimizer>();
  app.add_option("--optimizer", flags->optimizer,
                 "how: egraph or greedy, as of encore run")
      ->check(CLI::IsMember(
          std::vector<std::string>(optimizers.begin(), optimizers.end())))
      ->capture_default_str();
  AddThreadsFlag(app, &flags->machine);
}

void AddRewriteFlags(CLI::App& app, Flags* flags) {
  const auto levels = backends::ValueNames<backends::Rewrites>();
  app.add_option("--rewrites", flags->rewrites,
                 "rules that the pass rewrite may use, by tag: none, exact, "
                 "reassociate or fast")
      ->check(
          CLI::IsMember(std::vector<std::string>(levels.begin(), levels.end())))
      ->capture_default_str();
  app.add_option("--max-seconds", flags->max_seconds,
                 "seconds that the pass rewrite may take beside its limits on "
                 "work, 0 for any; the table says `time` where it took them")
      ->check(NonNegativeNumber())
      ->capture_default_str();
  app.add_option("--rules", flags->rules,
                 "of these rules those whose whole name the regular expression "
                 "matches; --list-rules tells the names")
      ->type_name("REGEX");
  app.add_flag("--list-rules", flags->list_rules,
               "the rules that --rewrites and --rules leave, each with its tag "
               "and its algebra");
  AddRulesFileFlag(app, &flags->rules_file);
  AddCacheFlag(app, &flags->machine);
}

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
  AddRewriteFlags(app, flags);
  AddLoweringFlags(app, flags);
  app.add_flag("--strict", flags->import.strict, kStrictHelp);
  app.add_option("-o,--output", flags->output,
                 "where the graph goes; - for standard output, which has "
                 "nothing else then. Without -o and --emit it goes nowhere");
  app.add_option("--emit", flags->emit,
                 "the graph as text (of which -o writes, unless given), as dot "
                 "for Graphviz, or as proto; without -o on standard output")
      ->check(CLI::IsMember({"text", "dot", "proto"}));
  app.add_option("--dump-egraph", flags->dump,
                 "what was chosen from, in egraph-serialize's JSON form, which "
                 "encore extract reads; costs are seconds")
      ->type_name("FILE");
  app.add_flag("--explain", flags->explain,
               "print, of the graph, each body and each kind of part, how the "
               "choice follows from what the pass rewrite was given, also "
               "where it was not taken: each rule that was applied, its tag, "
               "where, the nodes before and after; on standard error where "
               "data goes to standard output, unless --json has it");
  app.add_flag("--check", flags->check,
               "evaluate both sides of each of these steps on random inputs, "
               "and check the proof that they are part of");
  flags->report.passes.AddFlags(app);
  flags->json.AddFlagWithFile(app);
  app.footer(
      "Prints a table, unless data goes to standard output.\n"
      "Exit codes: 0 ok, 1 a step or the proof of --check does not hold, "
      "2 unusable input or arguments, 3 an internal error.");
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

struct NamedRule {
  std::string name;
  opt::RuleTag tag;
  std::string algebra;
};

// All that the pass may use, with those that are no text.
std::vector<NamedRule> EveryRule(std::span<const opt::TextRule> of_user) {
  std::vector<NamedRule> rules;
  for (const opt::CodedRule& rule : opt::CodedRules()) {
    rules.push_back(
        {std::string(rule.name), rule.tag, std::string(rule.algebra)});
  }
  for (const std::span<const opt::TextRule> texts :
       {std::span<const opt::TextRule>(opt::AllRules()), of_user}) {
    for (const opt::TextRule& rule : texts) {
      rules.push_back({rule.name, rule.tag, rule.algebra});
    }
  }
  return rules;
}

// Those of --rules-file, which are tried first.
Status ReadUserRules(Flags* flags) {
  ENCORE_ASSIGN_OR_RETURN(
      flags->user_rules,
      CheckedUserRules(
          flags->rules_file,
          *backends::ParseValue<backends::Rewrites>(flags->rewrites),
          flags->machine.cache));
  return OkStatus();
}

// Which rules the flags allow. InvalidArgument where --rules leaves none.
Status ChooseRules(const Flags& flags, opt::ImproveOptions* options) {
  options->level = backends::RewriteLevelOf(
      *backends::ParseValue<backends::Rewrites>(flags.rewrites));
  options->user_rules = flags.user_rules;
  if (flags.rules.empty()) return OkStatus();
  const auto regex = std::make_shared<RE2>(flags.rules, RE2::Quiet);
  if (!regex->ok()) {
    return InvalidArgumentError(
        StrCat("--rules ", flags.rules, ": ", regex->error()));
  }
  options->filter = [regex](std::string_view rule) {
    return RE2::FullMatch(rule, *regex);
  };
  bool some = false, allowed = false;
  for (const NamedRule& rule : EveryRule(flags.user_rules)) {
    if (!options->filter(rule.name)) continue;
    some = true;
    allowed |= opt::Allows(options->level, rule.tag);
  }
  if (allowed) return OkStatus();
  return InvalidArgumentError(StrCat(
      "--rules ", flags.rules, ": ",
      some ? StrCat("--rewrites ", flags.rewrites,
                    " allows none of these; --rewrites fast allows all")
           : "matches the whole name of no rule; encore opt --rewrites fast "
             "--list-rules lists them, and .* stands for any text"));
}

Status ListRules(Flags& flags) {
  ENCORE_RETURN_IF_ERROR(ReadUserRules(&flags));
  opt::ImproveOptions options;
  ENCORE_RETURN_IF_ERROR(ChooseRules(flags, &options));
  std::string text;
  for (const NamedRule& rule : EveryRule(flags.user_rules)) {
    if (!opt::Allows(options.level, rule.tag) ||
        (options.filter && !options.filter(rule.name))) {
      continue;
    }
    StrAppend(&text, rule.name, " (", Name(rule.tag), ")\n");
    for (const std::string_view line : StrSplit(rule.algebra, '\n')) {
      StrAppend(&text, "    ", line, "\n");
    }
  }
  Print(text);
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
  if (flags.graph_on_stdout() && flags.emit == "proto") {
    return InvalidArgumentError("-o -: only text goes to standard output");
  }
  if (flags.observes() && flags.rewrites == "none") {
    return InvalidArgumentError(
        "--dump-egraph, --explain, --check: --rewrites none makes no e-graph; "
        "another level does");
  }
  CommandFiles files;
  files.WritesData("-o", flags.graph_on_stdout() ? "-" : flags.output);
  files.WritesData("--dump-egraph", flags.dump);
  files.WritesData("--json", flags.json.path());
  files.Reads("the model", flags.model);
  if (files.replaces_any()) {
    for (const std::string& file : FilesOfModel(flags.model)) {
      files.Reads("a file of the model", file);
    }
  }
  return files.CheckApart();
}

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

StatusOr<std::string> GraphBytes(const Flags& flags, const Graph& graph) {
  if (flags.emit == "proto") return ToProto(graph);
  return flags.emit == "dot" ? Dot(graph) : encore::Print(graph);
}

Status Write(Flags& flags, const Graph& graph, const opt::EGraphDump& dump) {
  if (flags.writes_graph()) {
    ENCORE_ASSIGN_OR_RETURN(const std::string bytes, GraphBytes(flags, graph));
    flags.report.output = flags.output.empty() ? "-" : flags.output;
    ENCORE_RETURN_IF_ERROR(WriteOutput(flags.report.output, bytes));
  }
  if (flags.dump.empty()) return OkStatus();
  flags.report.egraphs = {dump.egraphs(), dump.cost(), dump.bound()};
  return WriteOutput(flags.dump, dump.Json());
}

// Who looks at the e-graphs, as flags ask.
class Watchers : public opt::ImproveObserver {
 public:
  explicit Watchers(const Flags& flags)
      : explainer_({.check = flags.check, .rules = flags.user_rules}) {
    if (!flags.dump.empty()) all_.push_back(&dump_);
    if (flags.explain || flags.check) all_.push_back(&explainer_);
  }

  // Null where nobody does.
  ImproveObserver* observer() { return all_.empty() ? nullptr : this; }
  const opt::EGraphDump& dump() const { return dump_; }
  std::span<const opt::Explanation> explanations() const {
    return explainer_.explanations();
  }
  // InvalidArgument where they had nothing to look at.
  Status CheckSeen() const {
    if (all_.empty() || seen_) return OkStatus();
    return InvalidArgumentError(
        "--dump-egraph, --explain, --check: there is no e-graph, as the pass "
        "rewrite is not among --passes");
  }

  bool wants_reasons() const override {
    return std::ranges::any_of(all_, &ImproveObserver::wants_reasons);
  }
  Status Extracted(const opt::Extraction& extraction) override {
    seen_ = true;
    for (ImproveObserver* observer : all_) {
      ENCORE_RETURN_IF_ERROR(observer->Extracted(extraction));
    }
    return OkStatus();
  }

 private:
  opt::EGraphDump dump_;
  opt::ChoiceExplainer explainer_;
  std::vector<ImproveObserver*> all_;
  bool seen_ = false;
};

// What each rule gained, by running the passes again with reasons kept, within
// the same limits anew.
Status FindGains(std::span<const opt::Pass> passes, const Graph& graph,
                 opt::PassOptions options, Flags* flags) {
  const auto begin = Clock::now();
  opt::Deadline deadline(flags->max_seconds);
  if (flags->max_seconds > 0) options.rewrite.deadline = &deadline;
  opt::ChoiceExplainer explainer({});
  options.rewrite.observer = &explainer;
  options.rewrite.report = nullptr;
  ENCORE_RETURN_IF_ERROR(opt::RunPasses(passes, graph, options).status());
  flags->report.gains = GainByRule(explainer.explanations());
  flags->report.gains_ms = MillisecondsSince(begin);
  return OkStatus();
}

// How the graph that all passes gave would be lowered. Nothing where that is
// not asked for.
Status FindLowering(const Flags& flags, const Graph& graph, OptReport* report) {
  if (flags.target == kNoTarget || !flags.passes.empty() ||
      (!flags.json.wanted() && flags.quiet())) {
    return OkStatus();
  }
  backends::CompileOptions options;
  options.target = flags.target;
  options.optimizer =
      *backends::ParseValue<backends::Optimizer>(flags.optimizer);
  options.rewrites = backends::Rewrites::kNone;  // they have been
  ENCORE_ASSIGN_OR_RETURN(options.threads, ThreadCount(flags.machine));
  ENCORE_RETURN_IF_ERROR(
      backends::FindBackend(options.target, backends::AllBackends()).status());
  backends::LoweringReport lowering;
  const Status status = backends::ReportLowering(
      graph, options, backends::AllBackends(), &lowering);
  if (status.ok()) {
    report->lowering = std::move(lowering);
  } else {
    report->not_lowered = Message(status);
  }
  return OkStatus();
}

// The passes on a graph, with what the report says of them.
StatusOr<Graph> Run(std::span<const opt::Pass> passes, const Graph& graph,
                    const opt::PassOptions& options, const Watchers& watchers,
                    Flags& flags) {
  OptReport& report = flags.report;
  ENCORE_ASSIGN_OR_RETURN(
      Graph result, opt::RunPasses(passes, graph, options, &report.passes));
  ENCORE_RETURN_IF_ERROR(report.improved.fault);
  ENCORE_RETURN_IF_ERROR(watchers.CheckSeen());
  report.nodes_before = graph.node_count();
  report.nodes = result.node_count();
  report.rewritten =
      options.rewrite.level != opt::RewriteLevel::kNone &&
      std::ranges::find(passes, "rewrite", &opt::Pass::name) != passes.end();
  report.checked = flags.check;
  report.explanations.assign(watchers.explanations().begin(),
                             watchers.explanations().end());
  ENCORE_RETURN_IF_ERROR(FindLowering(flags, result, &report));
  report.gains = GainByRule(report.explanations);
  if (report.explanations.empty() && report.improved.improved &&
      (flags.json.wanted() || !flags.quiet())) {
    ENCORE_RETURN_IF_ERROR(FindGains(passes, graph, options, &flags));
  }
  return result;
}

Status Optimize(Flags& flags) {
  const auto begin = Clock::now();
  OptReport& report = flags.report;
  report.model = flags.model;
  ENCORE_RETURN_IF_ERROR(CheckFiles(flags));
  ENCORE_RETURN_IF_ERROR(flags.json.Open());
  ENCORE_ASSIGN_OR_RETURN(const std::vector<opt::Pass> passes, PassesOf(flags));
  ENCORE_RETURN_IF_ERROR(ReadUserRules(&flags));
  Watchers watchers(flags);
  opt::ImproveOptions rewrite;
  ENCORE_RETURN_IF_ERROR(ChooseRules(flags, &rewrite));
  rewrite.report = &report.improved;
  rewrite.observer = watchers.observer();
  ENCORE_ASSIGN_OR_RETURN(const ImportedModel model,
                          ImportAndWarn(flags.model, flags.import));
  report.import_ms = MillisecondsSince(begin);
  ENCORE_ASSIGN_OR_RETURN(opt::PassOptions options,
                          OptionsOf(flags, model.graph));
  options.rewrite = rewrite;
  opt::Deadline deadline(flags.max_seconds);
  if (flags.max_seconds > 0) options.rewrite.deadline = &deadline;
  ENCORE_ASSIGN_OR_RETURN(const Graph graph,
                          Run(passes, model.graph, options, watchers, flags));
  const auto written = Clock::now();
  ENCORE_RETURN_IF_ERROR(Write(flags, graph, watchers.dump()));
  report.write_ms = MillisecondsSince(written);
  report.total_ms = MillisecondsSince(begin);
  flags.json.Write(ToJson(report));
  if (!flags.quiet()) Print(ToText(report));
  if (flags.quiet() && flags.json.wanted()) return flags.json.status();
  for (const opt::Explanation& explanation : report.explanations) {
    const std::string text = StrCat("\n", ToText(explanation));
    if (flags.explain) flags.quiet() ? PrintError(text) : Print(text);
  }
  return flags.json.status();
}

}  // namespace

int OptMain(int argc, char** argv) {
  CLI::App app("Run the compiler's passes on a graph and write what they give.",
               "encore opt");
  Flags flags;
  AddFlags(app, &flags);
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  if (flags.list) {
    Print(ListText());
    return kExitOk;
  }
  const Status status = flags.list_rules ? ListRules(flags) : Optimize(flags);
  if (!status.ok()) return Fail(app, status);
  const Status fault = FirstFault(flags.report.explanations);
  if (fault.ok()) return kExitOk;
  Fail(app, fault);
  return kExitMismatch;
}

}  // namespace encore::tools
