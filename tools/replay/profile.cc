#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/calls.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

// Records beyond these are counted and dropped.
constexpr size_t kMostRecords = size_t{1} << 22;

// A step as a line of the table.
struct StepRow {
  const runtime::Profiler::StepTotal& total;
  std::string what;
  std::vector<std::string> origins;
  double share = 0;  // of all steps' time
};

std::vector<StepRow> RowsOf(
    const std::vector<runtime::Profiler::StepTotal>& totals,
    const runtime::CompiledGraph& graph,
    const std::vector<std::string>& names) {
  int64_t all = 0;
  for (const auto& total : totals) all += total.total_ns;
  std::vector<StepRow> rows;
  for (const auto& total : totals) {
    const runtime::Step& step = graph.plan(total.plan).steps[total.step];
    StepRow row{total, runtime::StepName(graph, step), {}, 0};
    for (const uint32_t origin : step.origins) {
      const bool named = origin < names.size() && !names[origin].empty();
      row.origins.push_back(named ? names[origin] : StrCat("#", origin));
    }
    row.share = static_cast<double>(total.total_ns) /
                static_cast<double>(std::max<int64_t>(all, 1));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json RowJson(const StepRow& row) {
  const auto us = [](int64_t ns) { return static_cast<double>(ns) / 1000; };
  Json json;
  json["plan"] = row.total.plan.value();
  json["step"] = row.total.step;
  json["what"] = row.what;
  json["origins"] = row.origins;
  json["runs"] = row.total.runs;
  json["total_us"] = us(row.total.total_ns);
  json["mean_us"] = row.total.mean_ns() / 1000;
  json["min_us"] = us(row.total.min_ns);
  json["max_us"] = us(row.total.max_ns);
  const std::optional<double> device = row.total.device_mean_ns();
  json["device_runs"] = row.total.device_runs;
  json["device_mean_us"] = device ? Json(*device / 1000) : Json(nullptr);
  json["share"] = row.share;
  return json;
}

void PrintRows(const std::vector<StepRow>& rows) {
  Printf("  %7s %10s %10s %10s  %-9s %-24s %s\n", "share", "mean us", "min us",
         "device us", "plan:step", "what", "origin");
  for (const StepRow& row : rows) {
    const std::string place =
        StrCat(row.total.plan.value(), ":", row.total.step);
    char device[32] = "-";
    if (const auto mean = row.total.device_mean_ns()) {
      std::snprintf(device, sizeof(device), "%.2f", *mean / 1000);
    }
    Printf("  %6.2f%% %10.2f %10.2f %10s  %-9s %-24s %s\n", row.share * 100,
           row.total.mean_ns() / 1000,
           static_cast<double>(row.total.min_ns) / 1000, device, place.c_str(),
           PrintableName(row.what).c_str(),
           PrintableName(StrJoin(row.origins, " ")).c_str());
  }
}

}  // namespace

StatusOr<int> ReplayProfile(ReplayContext& context, const std::string& path) {
  const ReplayFlags& flags = context.flags;
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file, OpenReplayFile(path));
  ENCORE_ASSIGN_OR_RETURN(const BoundReplayer bound, Bind(context, file));
  for (int64_t i = 0; i < flags.warmup; ++i) {
    ENCORE_RETURN_IF_ERROR(bound.Replay());
  }
  runtime::Profiler profiler(kMostRecords);
  for (int64_t i = 0; i < std::max<int64_t>(flags.repeat, 1); ++i) {
    ENCORE_RETURN_IF_ERROR(bound.Replay(&profiler));
  }
  // The first replay may have gone over to a smaller plan.
  const runtime::CompiledGraph& graph = bound.replayer->graph();
  const std::vector<std::string>& names = bound.loaded->names().origins;
  const auto totals = profiler.Totals();
  const std::vector<StepRow> rows = RowsOf(totals, graph, names);
  if (!flags.trace.empty()) {
    ENCORE_RETURN_IF_ERROR(WriteWholeFile(
        flags.trace, profiler.ChromeTrace(graph, [&](uint32_t number) {
          return number < names.size() ? names[number] : std::string();
        })));
  }
  if (context.flags.json.wanted()) {
    Json json;
    json["file"] = path;
    json["source"] = SourceText(*bound.loaded);
    json["replays"] = profiler.replays();
    json["dropped"] = profiler.dropped();
    json["steps"] = Json::array();
    for (const StepRow& row : rows) json["steps"].push_back(RowJson(row));
    context.flags.json.Write(json);
  }
  if (!context.quiet()) {
    Printf("%s: %u replays\n", PrintableName(path).c_str(), profiler.replays());
    PrintRows(rows);
  }
  return kExitOk;
}

}  // namespace encore::tools
