#include "encore/tools/run/report.h"

#include <cstdio>

#include "encore/ir/support/strings.h"
#include "nlohmann/json.hpp"

namespace encore::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string_view CacheText(cache::FoundIn found_in) {
  return found_in == cache::FoundIn::kCompiled ? "miss" : "hit";
}

// A number with `digits` digits after the point.
std::string Fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", digits, value);
  return buffer;
}

}  // namespace

std::string ToJson(const RunReport& report) {
  Json json;
  json["model"] = report.model;
  json["target"] = report.target;
  json["cache"] = CacheText(report.found_in);
  json["import_ms"] = report.import_ms;
  json["optimize_ms"] = nullptr;
  json["compile_ms"] = report.found_in == cache::FoundIn::kCompiled
                           ? Json(report.compile_ms)
                           : Json(nullptr);
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
  json["host_kernels"] = 0;
  json["device_kernels"] = report.kernels;
  json["outputs"] = Json::array();
  for (const OutputReport& output : report.outputs) {
    Json entry;
    entry["name"] = output.name;
    entry["dtype"] = std::string(Name(output.type.dtype));
    entry["shape"] = output.type.shape.ConstantDims();
    const auto& difference = output.difference;
    entry["max_abs_err"] =
        difference ? Json(difference->max_absolute) : Json(nullptr);
    entry["max_rel_err"] =
        difference ? Json(difference->max_relative) : Json(nullptr);
    entry["ok"] = difference ? Json(difference->ok) : Json(nullptr);
    json["outputs"].push_back(std::move(entry));
  }
  return json.dump();
}

std::string ToText(const RunReport& report) {
  std::string out =
      StrCat(report.model, "\n  ", CacheText(report.found_in), ", ready in ",
             Fixed(report.load_ms, 1), " ms (import ",
             Fixed(report.import_ms, 1), " ms, compile ",
             Fixed(report.compile_ms, 1), " ms), ", report.steps, " steps\n");
  if (report.latency) {
    StrAppend(&out, "  ", report.runs, " runs: min ",
              Fixed(report.latency->min, 1), " us, median ",
              Fixed(report.latency->median, 1), " us, p99 ",
              Fixed(report.latency->p99, 1), " us; arena ",
              Fixed(static_cast<double>(report.arena_bytes) / (1 << 20), 1),
              " MiB\n");
  }
  for (const OutputReport& output : report.outputs) {
    StrAppend(&out, "  ", output.name, ": ", output.type);
    if (output.difference) {
      StrAppend(
          &out,
          output.difference->ok ? ", as expected (max error " : ", WRONG: ",
          output.difference->ok ? StrCat(output.difference->max_absolute, ")")
                                : output.difference->text);
    }
    out += '\n';
  }
  return out;
}

}  // namespace encore::tools
