#include "encore/tools/run/report.h"

#include <algorithm>
#include <cstdio>

#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

std::string_view CacheText(const RunReport& report) {
  if (!report.cached && report.found_in != cache::FoundIn::kMemory) {
    return "off";
  }
  return report.found_in == cache::FoundIn::kCompiled ? "miss" : "hit";
}

// A number with `digits` digits after the point.
std::string Fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", digits, value);
  return buffer;
}

std::string Short(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.1e", value);
  return buffer;
}

}  // namespace

Json ToJson(const RunReport& report) {
  Json json;
  json["model"] = report.model;
  json["target"] = report.target;
  json["cache"] = CacheText(report);
  json["import_ms"] = report.import_ms;
  json["passes_ms"] = report.passes.PassesMs();
  json["optimize_ms"] = report.passes.OptimizeMs();
  json["compile_ms"] = report.found_in == cache::FoundIn::kCompiled
                           ? Json(report.compile_ms)
                           : Json(nullptr);
  json["why"] = report.why ? Json(*report.why) : Json(nullptr);
  json["kernels"] = {{"found", report.kernels_found},
                     {"made", report.kernels_made}};
  json["rewrites"] = {{"found", report.rewrites_found},
                      {"made", report.rewrites_made}};
  json["weight_parts"] = {{"found", report.parts_found},
                          {"made", report.parts_made}};
  json["load_ms"] = report.load_ms;
  json["runs"] = report.runs;
  if (report.latency) {
    json["latency_us"] = {{"min", report.latency->min},
                          {"median", report.latency->median},
                          {"p90", report.latency->p90},
                          {"p99", report.latency->p99}};
  } else {
    json["latency_us"] = nullptr;
  }
  json["steps"] = report.steps;
  json["arena_bytes"] = report.arena_bytes;
  json["peak_rss_bytes"] = report.peak_rss_bytes;
  json["host_kernels"] = report.host_kernels;
  json["device_kernels"] = report.device_kernels;
  json["outputs"] = Json::array();
  for (const OutputReport& output : report.outputs) {
    Json entry;
    entry["name"] = output.name;
    entry["dtype"] = std::string(Name(output.type.dtype));
    entry["shape"] = output.type.shape.is_constant()
                         ? Json(output.type.shape.ConstantDims())
                         : Json(nullptr);
    const auto& difference = output.difference;
    entry["max_abs_err"] =
        difference ? Json(difference->max_absolute) : Json(nullptr);
    entry["max_rel_err"] =
        difference ? Json(difference->max_relative) : Json(nullptr);
    entry["ok"] = difference ? Json(difference->ok) : Json(nullptr);
    json["outputs"].push_back(std::move(entry));
  }
  return json;
}

std::string ToText(const RunReport& report) {
  std::string out =
      StrCat(PrintableName(report.model), "\n  ", CacheText(report),
             ", ready in ", Fixed(report.load_ms, 1), " ms (import ",
             Fixed(report.import_ms, 1), " ms, compile ",
             Fixed(report.compile_ms, 1), " ms), ", report.steps, " steps\n");
  if (CacheText(report) == "miss") {
    StrAppend(&out, "  compiled: ",
              report.why ? StrCat("the nearest entry and this differ in ",
                                  PrintableName(*report.why))
                         : "the cache has no other entry",
              "; rewrites ", report.rewrites_found, " found, ",
              report.rewrites_made, " made; kernels ", report.kernels_found,
              " found, ", report.kernels_made, " made; parts of weights ",
              report.parts_found, " found, ", report.parts_made, " made\n");
  }
  if (report.latency) {
    StrAppend(&out, "  ", report.runs, " runs: min ",
              Fixed(report.latency->min, 1), " us, median ",
              Fixed(report.latency->median, 1), " us, p99 ",
              Fixed(report.latency->p99, 1), " us; arena ",
              Fixed(static_cast<double>(report.arena_bytes) / (1 << 20), 1),
              " MiB\n");
  }
  for (const OutputReport& output : report.outputs) {
    StrAppend(&out, "  ", PrintableName(output.name), ": ", output.type);
    if (output.difference) {
      StrAppend(
          &out,
          output.difference->ok ? ", as expected (max error " : ", WRONG: ",
          output.difference->ok
              ? StrCat(Short(output.difference->max_absolute), ")")
              : output.difference->text);
    }
    out += '\n';
  }
  return out;
}

std::string TableHead() {
  char line[160];
  std::snprintf(line, sizeof(line), "%-13s %-6s %10s %6s %10s %10s %9s  %s\n",
                "model", "cache", "ready, ms", "steps", "best, ms",
                "median, ms", "MiB", "check");
  return line;
}

std::string ToRow(const RunReport& report) {
  double worst = 0;
  std::string check = report.runs == 0 ? "not replayed" : "nothing expected";
  for (const OutputReport& output : report.outputs) {
    if (!output.difference) continue;
    worst = std::max(worst, output.difference->max_absolute);
    check = StrCat("ok, max error ", Short(worst));
  }
  for (const OutputReport& output : report.outputs) {
    if (!output.difference || output.difference->ok) continue;
    check = StrCat("WRONG: ", PrintableName(output.name), ": ",
                   output.difference->text);
  }
  const Latency latency = report.latency.value_or(Latency());
  char line[256];
  std::snprintf(line, sizeof(line),
                "%-13s %-6s %10.1f %6lld %10.2f %10.2f %9.1f  ",
                report.model.c_str(), std::string(CacheText(report)).c_str(),
                report.load_ms, static_cast<long long>(report.steps),
                latency.min / 1000, latency.median / 1000,
                static_cast<double>(report.arena_bytes) / (1 << 20));
  return StrCat(line, check, "\n");
}

}  // namespace encore::tools
