#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

Json StepsJson(const runtime::CompiledGraph& graph,
               const runtime::OriginName& origin_name) {
  Json plans = Json::array();
  for (const runtime::Plan& plan : graph.plans) {
    Json steps = Json::array();
    for (const runtime::Step& step : plan.steps) {
      steps.push_back(runtime::StepText(graph, step, origin_name));
    }
    plans.push_back(std::move(steps));
  }
  return plans;
}

}  // namespace

StatusOr<int> ReplayDump(ReplayContext& context, const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file, OpenReplayFile(path));
  if (!file.has_plan()) {
    return InvalidArgumentError(StrCat(path, ": has no compiled graph"));
  }
  const runtime::CompiledGraph& graph = *file.package.graph;
  if (const Status plan = runtime::VerifyPlan(graph); !plan.ok()) {
    return DataLossError(StrCat(path, ": plan: ", Message(plan)));
  }
  const auto origin_name = [&](uint32_t number) {
    return file.OriginName(number);
  };
  if (context.flags.json.wanted()) {
    Json json;
    json["file"] = path;
    json["prepare"] =
        graph.prepare.valid() ? Json(graph.prepare.value()) : Json(nullptr);
    json["run"] = graph.run.value();
    json["plans"] = StepsJson(graph, origin_name);
    context.flags.json.Write(json);
  }
  if (!context.quiet()) {
    Print(runtime::CompiledGraphText(graph, origin_name));
  }
  return kExitOk;
}

}  // namespace encore::tools
