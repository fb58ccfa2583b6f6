#include "encore/tools/replay/calls.h"

#include <map>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/tools/io/generate.h"
#include "encore/tools/io/npy.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using cache::Package;

// The tensors of --input by name.
StatusOr<std::map<std::string, Literal>> ReadInputs(
    const ReplayContext& context) {
  std::map<std::string, Literal> inputs;
  for (const std::string& input : context.flags.inputs) {
    const size_t equals = input.find('=');
    if (equals != std::string::npos) {
      ENCORE_ASSIGN_OR_RETURN(
          Literal tensor, context.host.read_tensor(input.substr(equals + 1)));
      inputs.insert_or_assign(input.substr(0, equals), std::move(tensor));
    } else if (input.ends_with(".npz")) {
      ENCORE_ASSIGN_OR_RETURN(auto tensors, ReadTensors(input));
      for (auto& [name, tensor] : tensors) {
        inputs.insert_or_assign(name, std::move(tensor));
      }
    } else {
      return InvalidArgumentError(
          StrCat("--input ", input, ": expected NAME=FILE or FILE.npz"));
    }
  }
  return inputs;
}

StatusOr<Literal> GenerateInput(const ReplayFile& file, size_t i,
                                uint64_t seed) {
  const runtime::CompiledGraph& graph = *file.package.graph;
  const TensorType& type = graph.slot(graph.inputs[i]).type;
  if (type.shape.is_constant() && type.kind == ValueKind::kTensor) {
    return Generate(type.dtype, type.shape.ConstantDims(), seed + i);
  }
  return InvalidArgumentError(
      StrCat(file.path, ": input ", Quote(file.package.names.inputs[i]), " is ",
             type, ", which cannot be generated; give it with --input"));
}

Json OutputJson(const std::string& name, const Literal& value,
                const LiteralDifference* difference) {
  Json json;
  json["name"] = name;
  json["dtype"] = std::string(Name(value.dtype()));
  json["shape"] = value.dims();
  json["max_abs_err"] =
      difference != nullptr ? Json(difference->max_absolute) : Json(nullptr);
  json["max_rel_err"] =
      difference != nullptr ? Json(difference->max_relative) : Json(nullptr);
  json["ok"] = difference != nullptr ? Json(difference->ok) : Json(nullptr);
  return json;
}

// Adds what a call gave, beside what it should have.
void ReportCall(const ReplayFlags& flags, const cache::Loaded& loaded,
                const Package::Call& call, CallsReport* report) {
  Json outputs = Json::array();
  for (size_t i = 0; i < report->outputs.size(); ++i) {
    const std::string& name = loaded.names().outputs[i];
    const Literal& value = report->outputs[i];
    StrAppend(&report->text, "  ", PrintableName(name), ": ", value.type());
    if (call.outputs.empty()) {
      outputs.push_back(OutputJson(name, value, nullptr));
    } else {
      const LiteralDifference difference = CompareLiterals(
          value, call.outputs[i], {flags.relative, flags.absolute});
      report->ok &= difference.ok;
      outputs.push_back(OutputJson(name, value, &difference));
      StrAppend(&report->text,
                difference.ok ? ", as expected (max error " : ", WRONG: ",
                difference.ok ? StrCat(difference.max_absolute, ")")
                              : difference.text);
    }
    report->text += '\n';
  }
  Json json;
  json["outputs"] = std::move(outputs);
  report->calls.push_back(std::move(json));
}

// That replays take longer than they might.
void SayIfSmaller(const runtime::Replayer& replayer) {
  if (!replayer.is_smaller()) return;
  PrintLog("too little memory for the plan: a smaller one is replayed");
}

}  // namespace

StatusOr<std::shared_ptr<const cache::Loaded>> LoadFile(
    ReplayContext& context, const ReplayFile& file) {
  ENCORE_ASSIGN_OR_RETURN(
      auto loaded,
      context.host.load(file, context.flags.load, &context.threads));
  for (const std::string& note : loaded->compiled().executable->Notes()) {
    PrintLog(note);
  }
  return loaded;
}

StatusOr<std::vector<Package::Call>> CallsOf(const ReplayContext& context,
                                             const ReplayFile& file) {
  if (!file.package.calls.empty() && context.flags.inputs.empty()) {
    return file.package.calls;
  }
  ENCORE_ASSIGN_OR_RETURN(auto given, ReadInputs(context));
  Package::Call call;
  for (size_t i = 0; i < file.package.names.inputs.size(); ++i) {
    const auto named = given.find(file.package.names.inputs[i]);
    if (named == given.end()) {
      ENCORE_ASSIGN_OR_RETURN(Literal input,
                              GenerateInput(file, i, context.flags.seed));
      call.inputs.push_back(std::move(input));
    } else {
      const runtime::CompiledGraph& graph = *file.package.graph;
      call.inputs.push_back(
          FromNpyType(named->second, graph.slot(graph.inputs[i]).type.dtype)
              .Aligned());
      given.erase(named);
    }
  }
  if (!given.empty()) {
    return InvalidArgumentError(
        StrCat(file.path, " has no input ", Quote(given.begin()->first)));
  }
  return std::vector<Package::Call>{std::move(call)};
}

StatusOr<CallsReport> MakeCalls(const ReplayFlags& flags,
                                const cache::Loaded& loaded,
                                std::span<const Package::Call> calls) {
  CallsReport report;
  ENCORE_ASSIGN_OR_RETURN(const auto replayer, loaded.NewReplayer());
  for (const Package::Call& call : calls) {
    ENCORE_ASSIGN_OR_RETURN(report.outputs, loaded.Run(*replayer, call.inputs));
    ReportCall(flags, loaded, call, &report);
  }
  SayIfSmaller(*replayer);
  return report;
}

Status BoundReplayer::Replay(runtime::Profiler* profiler) const {
  return Annotate(loaded->Replay(*replayer, profiler), path);
}

StatusOr<BoundReplayer> Bind(ReplayContext& context, const ReplayFile& file) {
  BoundReplayer bound;
  bound.path = file.path;
  ENCORE_ASSIGN_OR_RETURN(bound.loaded, LoadFile(context, file));
  ENCORE_ASSIGN_OR_RETURN(const auto calls, CallsOf(context, file));
  ENCORE_ASSIGN_OR_RETURN(bound.replayer, bound.loaded->NewReplayer());
  for (const Literal& input : calls[0].inputs) {
    bound.inputs.push_back(input.Aligned());
  }
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    const Literal& input = bound.inputs[i];
    const Status status =
        IsString(input.dtype()) || input.kind() != ValueKind::kTensor
            ? UnimplementedError(StrCat("is ", input.type()))
            : bound.replayer->BindHostInput(
                  i, input.bytes().data(),
                  static_cast<int64_t>(input.bytes().size()), input.dims());
    ENCORE_RETURN_IF_ERROR(Annotate(
        status,
        StrCat(file.path, ": input ", bound.loaded->names().inputs[i])));
  }
  SayIfSmaller(*bound.replayer);
  return bound;
}

std::string SourceText(const cache::Loaded& loaded) {
  switch (loaded.found_in()) {
    case cache::FoundIn::kPackage:
      return "package";
    case cache::FoundIn::kCompiled:
      return "miss";
    default:
      return "hit";
  }
}

}  // namespace encore::tools
