#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/latency.h"
#include "encore/tools/progress.h"
#include "encore/tools/replay/calls.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

StatusOr<double> Microseconds(const BoundReplayer& bound) {
  const Clock::time_point begin = Clock::now();
  ENCORE_RETURN_IF_ERROR(bound.Replay());
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

struct PairedTimes {
  Times file, baseline;
};

// Replays by turns, in changing order, so that what disturbs the machine
// disturbs both.
StatusOr<PairedTimes> Measure(const ReplayFlags& flags,
                              const BoundReplayer& file,
                              const BoundReplayer* baseline) {
  for (int64_t i = 0; i < flags.warmup; ++i) {
    ENCORE_RETURN_IF_ERROR(file.Replay());
    if (baseline != nullptr) ENCORE_RETURN_IF_ERROR(baseline->Replay());
  }
  PairedTimes times;
  Progress progress("replaying", flags.seconds > 0 ? 0 : flags.repeat);
  const Clock::time_point begin = Clock::now();
  const auto enough = [&] {
    if (times.file.empty()) return false;
    if (flags.seconds <= 0) {
      return times.file.count() >= flags.repeat;
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() >=
           flags.seconds;
  };
  while (!enough()) {
    const bool baseline_first = times.file.count() % 2 == 1;
    double baseline_us = 0;
    if (baseline != nullptr && baseline_first) {
      ENCORE_ASSIGN_OR_RETURN(baseline_us, Microseconds(*baseline));
    }
    ENCORE_ASSIGN_OR_RETURN(const double file_us, Microseconds(file));
    if (baseline != nullptr && !baseline_first) {
      ENCORE_ASSIGN_OR_RETURN(baseline_us, Microseconds(*baseline));
    }
    times.file.Add(file_us);
    if (baseline != nullptr) times.baseline.Add(baseline_us);
    progress.Advance();
  }
  return times;
}

// Of the pairs' ratios.
MedianInterval RatioOf(const PairedTimes& times) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times.file.kept().size(); ++i) {
    ratios.push_back(times.file.kept()[i] / times.baseline.kept()[i]);
  }
  return MedianWithInterval(std::move(ratios));
}

Json LatencyJson(const Latency& latency) {
  return {{"min", latency.min},
          {"median", latency.median},
          {"p90", latency.p90},
          {"p99", latency.p99}};
}

void PrintLatency(const std::string& path, const Latency& latency,
                  int64_t runs) {
  Printf(
      "%s: %lld runs: min %.2f us, median %.2f us, p90 %.2f us, "
      "p99 %.2f us\n",
      PrintableName(path).c_str(), static_cast<long long>(runs), latency.min,
      latency.median, latency.p90, latency.p99);
}

}  // namespace

StatusOr<int> ReplayBench(ReplayContext& context, const std::string& path) {
  const ReplayFlags& flags = context.flags;
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file, OpenReplayFile(path));
  ENCORE_ASSIGN_OR_RETURN(const BoundReplayer bound, Bind(context, file));
  std::optional<BoundReplayer> baseline;
  if (!flags.baseline.empty()) {
    ENCORE_ASSIGN_OR_RETURN(const ReplayFile other,
                            OpenReplayFile(flags.baseline));
    ENCORE_ASSIGN_OR_RETURN(baseline, Bind(context, other));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const PairedTimes times,
      Measure(flags, bound, baseline ? &*baseline : nullptr));
  const Latency latency = times.file.Percentiles();
  Json json;
  json["file"] = path;
  json["source"] = SourceText(*bound.loaded);
  json["runs"] = times.file.count();
  json["latency_us"] = LatencyJson(latency);
  json["arena_bytes"] = bound.replayer->arena_bytes();
  json["baseline"] = nullptr;
  if (!context.quiet()) PrintLatency(path, latency, times.file.count());
  if (baseline) {
    const Latency base = times.baseline.Percentiles();
    const MedianInterval ratio = RatioOf(times);
    json["baseline"] = {
        {"file", flags.baseline},
        {"source", SourceText(*baseline->loaded)},
        {"latency_us", LatencyJson(base)},
        {"ratio",
         {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}}};
    if (!context.quiet()) {
      PrintLatency(flags.baseline, base, times.baseline.count());
      Printf("  takes %.3f times as long as the baseline ", ratio.median);
      if (std::isfinite(ratio.low)) {
        Printf("(95 %%: %.3f to %.3f)\n", ratio.low, ratio.high);
      } else {
        Printf("(too few runs for an interval)\n");
      }
    }
  }
  context.flags.json.Write(json);
  return kExitOk;
}

}  // namespace encore::tools
