#include "encore/tools/compile/compile_model.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/compile.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/options.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/cache/session/checked_rules.h"
#include "encore/cache/session/explain_lowering.h"
#include "encore/cache/session/explain_miss.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/plan_file.h"
#include "encore/cache/store/artifact_store.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/improve_options.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/tools/io/generate.h"
#include "encore/tools/io/write_output.h"
#include "encore/tools/latency.h"
#include "encore/tools/run/model_source.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

StatusOr<ImportedModel> Import(const CompileRequest& request) {
  ImportOptions options;
  options.bindings = request.bindings;
  options.strict = request.strict;
  for (const auto& [name, tensor] : request.given.inputs) {
    if (auto extents = ExtentsOf(tensor)) {
      options.input_shapes[name] = *std::move(extents);
    }
  }
  for (const Literal& tensor : request.given.positional_inputs) {
    options.positional_shapes.push_back(ExtentsOf(tensor));
  }
  ENCORE_ASSIGN_OR_RETURN(ImportedModel model,
                          ImportAndWarn(request.model, options));
  ENCORE_RETURN_IF_ERROR(CheckGiven(model.graph, request.given));
  return model;
}

// Gives parameters without data generated values: a graph written by hand has
// none.
Status FillParameters(Graph* graph, uint64_t seed) {
  for (size_t i = 0; i < graph->arguments().size(); ++i) {
    const Graph::Argument& argument = graph->arguments()[i];
    const Shape& shape = graph->shape(argument.value);
    if (!argument.is_parameter || argument.data || !shape.is_constant()) {
      continue;
    }
    auto data =
        Generate(graph->dtype(argument.value), shape.ConstantDims(), seed + i);
    if (!data.ok()) return Annotate(data.status(), argument.name);
    graph->set_parameter_data(static_cast<int>(i), *std::move(data));
  }
  return OkStatus();
}

Status WriteGraph(const CompileRequest& request, const Graph& graph) {
  if (request.emit == Emit::kText) {
    return WriteOutput(request.output, Print(graph));
  }
  ENCORE_ASSIGN_OR_RETURN(const std::string bytes, ToProto(graph));
  return WriteOutput(request.output, bytes);
}

Status WriteLoaded(const CompileRequest& request, const Graph& graph,
                   const cache::Loaded& loaded, const cache::LoadOptions& load,
                   cache::Session& session) {
  std::vector<cache::Package::Call> calls;
  if (request.emit == Emit::kRecording) {
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> inputs,
                            MakeInputs(graph, request.given, request.seed));
    calls.push_back({std::move(inputs), {}});
  }
  return Record(session, request.output, graph, loaded, calls, load);
}

// A compile that failed may have wanted a symbol's value: says how to give it.
Status WithOpenShape(const Status& status, const Graph& graph) {
  if (status.code() != StatusCode::kInvalidArgument) return status;
  for (const Graph::Argument& argument : graph.arguments()) {
    const Shape& shape = graph.shape(argument.value);
    if (shape.is_constant()) continue;
    return InvalidArgumentError(
        StrCat(Message(status), "; input ", Quote(argument.name),
               " has the dynamic shape ", shape.ToString(graph.symbols()),
               "; --bind NAME=VALUE fixes a symbol of it"));
  }
  return status;
}

// The graph after the pass that the request stops after, or after all. Sizes
// have been bound by the importer. What rewrites gain is estimated by rates
// alone, as in `encore opt`: kernels are known in a compile only.
StatusOr<Graph> AfterPasses(const CompileRequest& request, const Graph& graph,
                            const cache::SessionOptions& session,
                            PassReport* passes) {
  std::vector<opt::Pass> wanted;
  for (const opt::Pass& pass : opt::AllPasses()) {
    wanted.push_back(pass);
    if (pass.name == request.stop_after) break;
  }
  opt::PassOptions options;
  options.rewrite.level = backends::RewriteLevelOf(session.compile.rewrites);
  std::optional<cache::DiskArtifactStore> store;
  if (session.disk != nullptr) store.emplace(session.disk);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<opt::TextRule> user_rules,
                          cache::CheckedRules(session.compile.user_rules,
                                              store ? &*store : nullptr));
  options.rewrite.user_rules = user_rules;
  const double max_seconds = session.compile.max_seconds;
  std::optional<opt::Deadline> deadline;
  if (max_seconds > 0) deadline.emplace(max_seconds);
  options.rewrite.deadline = deadline ? &*deadline : nullptr;
  opt::ImproveReport report;
  options.rewrite.report = &report;
  options.rewrite.report_costs = false;
  ENCORE_ASSIGN_OR_RETURN(Graph better,
                          opt::RunPasses(wanted, graph, options, passes));
  if (!session.log) return better;
  if (deadline && deadline->cut_short()) {
    session.log(StrCat("the search for a better graph ended after ",
                       max_seconds, " s (--max-seconds)"));
  }
  if (!report.fault.ok()) {
    session.log(opt::FaultText(report.fault, report.fault_origin));
  }
  return better;
}

void CountSteps(const runtime::CompiledGraph& compiled, CompileReport* report) {
  report->steps =
      static_cast<int64_t>(compiled.plan(compiled.run).steps.size());
  report->kernel_binaries =
      static_cast<int64_t>(compiled.kernel_binaries.size());
}

Status WritePlanText(const CompileRequest& request,
                     const runtime::CompiledGraph& compiled,
                     const std::vector<std::string>& origins) {
  return WriteOutput(request.output,
                     runtime::CompiledGraphText(compiled, [&](uint32_t number) {
                       return number < origins.size() ? origins[number]
                                                      : std::string();
                     }));
}

// What was compiled and could not be loaded here for the reason `why`; that
// reason where it was not compiled either.
Status WriteForElsewhere(const CompileRequest& request, const Graph& graph,
                         const cache::LoadOptions& load, const Status& why,
                         cache::Session& session, CompileReport* report) {
  ENCORE_ASSIGN_OR_RETURN(const cache::Package package,
                          Export(session, graph, {}, load));
  report->found_in = cache::FoundIn::kCompiled;
  ENCORE_ASSIGN_OR_RETURN(report->explanation,
                          ExplainCompiled(session, graph, load));
  report->compile_ms = session.statistics().compile_ms;
  report->key = package.key().ToHex();
  report->elsewhere = Message(why);
  CountSteps(*package.graph, report);
  if (request.emit == Emit::kText) {
    return WritePlanText(request, *package.graph, package.names.origins);
  }
  if (request.stop_after == kAfterLower) {
    return SavePlan(session, request.output, graph, load);
  }
  return cache::WritePackage(package, request.output);
}

// Everything beyond the graph.
Status CompileAndWrite(const CompileRequest& request,
                       const ImportedModel& model, cache::Session& session,
                       CompileReport* report) {
  const Graph& graph = model.graph;
  cache::LoadOptions load;
  load.files = model.files;
  load.passes = &report->passes;
  if (request.explain_fusion) {
    cache::LoadOptions options = load;
    options.passes = nullptr;
    const auto lowering =
        ExplainLowering(session, graph, options, PrintableName);
    if (!lowering.ok()) return WithOpenShape(lowering.status(), graph);
    PrintError(FusionText(*lowering));
  }
  const auto load_result = session.Load(graph, load);
  if (cache::MayBeForElsewhere(load_result.status()) &&
      request.emit != Emit::kRecording) {
    return WriteForElsewhere(request, graph, load, load_result.status(),
                             session, report);
  }
  if (!load_result.ok()) return WithOpenShape(load_result.status(), graph);
  const cache::Loaded& loaded = **load_result;
  report->found_in = loaded.found_in();
  if (loaded.found_in() == cache::FoundIn::kCompiled) {
    ENCORE_ASSIGN_OR_RETURN(report->explanation,
                            ExplainCompiled(session, graph, load));
  }
  report->key = loaded.compiled().key.ToHex();
  report->compile_ms = session.statistics().compile_ms;
  CountSteps(loaded.graph(), report);
  if (request.emit != Emit::kText) {
    return request.stop_after == kAfterLower
               ? SavePlan(session, request.output, graph, load)
               : WriteLoaded(request, graph, loaded, load, session);
  }
  return WritePlanText(request, loaded.graph(), loaded.names().origins);
}

}  // namespace

Status CompileModel(const CompileRequest& request, cache::Session& session,
                    CompileReport* report) {
  report->model = request.model;
  report->output = request.output;
  report->target = session.options().compile.target;
  report->stage = request.stop_after.empty() ? "all" : request.stop_after;
  const Clock::time_point begin = Clock::now();
  ENCORE_ASSIGN_OR_RETURN(ImportedModel model, Import(request));
  Graph& graph = model.graph;
  report->import_ms = MillisecondsSince(begin);
  report->nodes = graph.node_count();
  if (request.stop_after == kAfterImport) {
    ENCORE_RETURN_IF_ERROR(WriteGraph(request, graph));
  } else if (request.stops_at_graph()) {
    ENCORE_ASSIGN_OR_RETURN(
        const Graph better,
        AfterPasses(request, graph, session.options(), &report->passes));
    report->nodes = better.node_count();
    ENCORE_RETURN_IF_ERROR(WriteGraph(request, better));
  } else {
    // What a cache has compiled runs no passes.
    if (report->passes.wants_all()) {
      ENCORE_RETURN_IF_ERROR(
          AfterPasses(request, graph, session.options(), &report->passes)
              .status());
      report->passes.Restart();
    }
    ENCORE_RETURN_IF_ERROR(FillParameters(&graph, request.seed));
    ENCORE_RETURN_IF_ERROR(CompileAndWrite(request, model, session, report));
  }
  const auto written = StampOf(request.output);
  if (written.ok()) report->output_bytes = static_cast<int64_t>(written->size);
  return OkStatus();
}

Json ToJson(const CompileReport& report) {
  const bool compiled = report.found_in.has_value();
  Json json;
  json["model"] = report.model;
  json["output"] = report.output;
  json["stage"] = report.stage;
  json["target"] = report.target;
  json["nodes"] = report.nodes;
  json["import_ms"] = report.import_ms;
  json["passes_ms"] = report.passes.PassesMs();
  json["optimize_ms"] = report.passes.OptimizeMs();
  json["cache"] = !compiled                                      ? Json(nullptr)
                  : report.found_in == cache::FoundIn::kCompiled ? Json("miss")
                                                                 : Json("hit");
  json["key"] = compiled ? Json(report.key) : Json(nullptr);
  json["compile_ms"] =
      report.compile_ms > 0 ? Json(report.compile_ms) : Json(nullptr);
  json["steps"] = compiled ? Json(report.steps) : Json(nullptr);
  json["kernel_binaries"] =
      compiled ? Json(report.kernel_binaries) : Json(nullptr);
  json["elsewhere"] =
      report.elsewhere ? Json(*report.elsewhere) : Json(nullptr);
  json["explanation"] =
      report.explanation ? Json(*report.explanation) : Json(nullptr);
  json["output_bytes"] = report.output_bytes;
  return json;
}

std::string ToText(const CompileReport& report) {
  std::string out =
      StrCat(PrintableName(report.model), " -> ", PrintableName(report.output),
             ": ", report.nodes, " nodes");
  if (report.found_in) {
    const bool miss = report.found_in == cache::FoundIn::kCompiled;
    StrAppend(&out, ", ", report.steps, " steps, ",
              miss ? "compiled" : "found in the cache", "; ",
              report.output_bytes, " bytes\n");
    if (report.elsewhere) {
      StrAppend(&out,
                "  for another machine: ", PrintableName(*report.elsewhere),
                "\n");
    }
    if (report.explanation) {
      StrAppend(&out, "  cache miss: ", PrintableName(*report.explanation),
                "\n");
    }
  } else {
    out += '\n';
  }
  return out;
}

}  // namespace encore::tools
