#include "encore/tools/opt/opt_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using Rule = opt::ImproveReport::Rule;

double GainOf(const OptReport& report, const Rule& rule) {
  const auto it = report.gains.find(rule.name);
  return it == report.gains.end() ? 0 : it->second;
}

// Those that gained most first, then those that did most.
std::vector<Rule> SortedRules(const OptReport& report) {
  std::vector<Rule> rules = report.improved.rules;
  std::ranges::sort(rules, [&](const Rule& a, const Rule& b) {
    return std::tuple(GainOf(report, b), b.count.applications, a.name) <
           std::tuple(GainOf(report, a), a.count.applications, b.name);
  });
  return rules;
}

// Null where the step was not checked, or could not be compared.
Json OkJson(const OptReport& report, const opt::ExplainedStep& step) {
  if (!report.checked) return nullptr;
  if (step.checked.ok() && step.compared == 0) return nullptr;
  return step.checked.ok();
}

Json ExplanationsJson(const OptReport& report) {
  Json json = Json::array();
  for (const opt::Explanation& explanation : report.explanations) {
    Json entry;
    entry["graph"] = explanation.graph;
    entry["taken"] = explanation.taken;
    entry["lemmas"] = explanation.lemmas;
    entry["proof_ok"] =
        report.checked ? Json(explanation.proof.ok()) : Json(nullptr);
    entry["steps"] = Json::array();
    for (const opt::ExplainedStep& step : explanation.steps) {
      entry["steps"].push_back({{"rule", step.rule},
                                {"tag", std::string(Name(step.tag))},
                                {"reversed", step.reversed},
                                {"place", step.place},
                                {"before", step.before},
                                {"after", step.after},
                                {"gain", step.gain},
                                {"ok", OkJson(report, step)}});
    }
    json.push_back(std::move(entry));
  }
  return json;
}

Json Number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json RewriteJson(const opt::ImproveReport& report) {
  Json json;
  json["nodes"] = report.nodes;
  json["enodes"] = report.enodes;
  json["classes"] = report.classes;
  json["iterations"] = report.iterations;
  json["stop"] = report.stop;
  json["stops"] = report.stops;
  json["ms"] = {{"saturate", report.saturate_seconds * 1e3},
                {"extract", report.extract_seconds * 1e3},
                {"judge", report.judge_seconds * 1e3}};
  json["parts"] = report.parts;
  json["distinct_parts"] = report.distinct_parts;
  json["improved"] = report.improved;
  json["cost_before"] = Number(report.cost_before);
  json["cost"] = Number(report.cost_after);
  json["choice"] = Number(report.best_choice);
  if (report.bound) {
    json["bound"] = *report.bound;
    json["gap"] = report.best_choice - *report.bound;
  }
  for (const Rule& rule : report.rules) {
    json["rules"][rule.name] = rule.count.applications;
  }
  return json;
}

Json NumberOrNull(const std::optional<double>& value) {
  return value ? Number(*value) : Json(nullptr);
}

Json LayoutsJson(const backends::LayoutReport& layouts) {
  Json json;
  json["choices"] = layouts.choices;
  json["row_major"] = layouts.row_major;
  json["chosen"] = layouts.chosen;
  json["bound"] = NumberOrNull(layouts.bound);
  json["changes"] = Json::array();
  for (const backends::LayoutReport::Change& change : layouts.changes) {
    json["changes"].push_back({{"value", change.value},
                               {"from", change.from},
                               {"to", change.to},
                               {"prepare", change.prepare}});
  }
  return json;
}

Json LoweringJson(const backends::LoweringReport& lowering) {
  Json json = Json::array();
  for (const backends::ScopeReport& scope : lowering.scopes) {
    const backends::PartitionReport& partition = scope.partition;
    Json entry;
    entry["place"] = scope.place;
    entry["kernels"] = scope.kernels;
    entry["greedy"] = partition.greedy;
    entry["chosen"] = partition.chosen;
    entry["cheapest"] = partition.cheapest;
    entry["bound"] = NumberOrNull(partition.bound);
    entry["gap"] = partition.bound
                       ? Number(partition.cheapest - *partition.bound)
                       : Json(nullptr);
    entry["variants"] = partition.variants;
    entry["classes"] = partition.classes;
    entry["most_of_a_class"] = partition.most_of_a_class;
    entry["layouts"] = LayoutsJson(scope.layouts);
    json.push_back(std::move(entry));
  }
  return json;
}

// A line "name  value" of the table.
void AddLine(std::string* text, std::string_view name, std::string_view value) {
  const size_t width = std::max<size_t>(name.size() + 1, 12);
  StrAppend(text, name, std::string(width - name.size(), ' '), value, "\n");
}

std::string Format(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

// Seconds in the unit that fits.
std::string Time(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  const double size = std::abs(seconds);
  if (size >= 1) return Format("%.4g s", seconds);
  if (size >= 1e-3) return Format("%.4g ms", seconds * 1e3);
  return Format("%.4g us", seconds * 1e6);
}

std::string Right(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string Percent(double part, double whole) {
  return whole > 0 && std::isfinite(part / whole)
             ? Format("%.2f %%", 100 * part / whole)
             : "unknown";
}

void AddRewrite(const OptReport& report, std::string* text) {
  const opt::ImproveReport& improved = report.improved;
  AddLine(
      text, "cost",
      StrCat(Time(improved.cost_before), " -> ", Time(improved.cost_after),
             improved.improved
                 ? StrCat(" (",
                          Percent(improved.cost_before - improved.cost_after,
                                  improved.cost_before),
                          " less)")
                 : " (the graph stays as it was)"));
  AddLine(text, "e-graph",
          StrCat(improved.enodes, " nodes, ", improved.classes, " classes, ",
                 improved.iterations, " iterations; ended by: ",
                 improved.stop.empty() ? "nothing to do" : improved.stop));
  if (improved.parts > 0) {
    AddLine(text, "parts",
            StrCat(improved.parts, ", of which ", improved.distinct_parts,
                   " unlike any before"));
  }
  std::string choice =
      StrCat(Time(improved.own_choice), " -> ", Time(improved.best_choice));
  if (improved.bound) {
    StrAppend(
        &choice, ", no choice below ", Time(*improved.bound), ", gap ",
        Percent(improved.best_choice - *improved.bound, improved.best_choice));
  }
  AddLine(text, "choice", choice);
  if (improved.rules.empty()) return;
  StrAppend(text,
            "\nrule                                         gain  applications"
            "     nodes\n");
  for (const Rule& rule : SortedRules(report)) {
    const std::string name = PrintableName(rule.name);
    const size_t width = std::max<size_t>(name.size() + 1, 36);
    StrAppend(text, name, std::string(width - name.size(), ' '),
              Right(Time(GainOf(report, rule)), 13),
              Format("%14.0f", static_cast<double>(rule.count.applications)),
              Format("%10.0f", static_cast<double>(rule.count.nodes)), "\n");
  }
}

void AddLayouts(const backends::LayoutReport& layouts, std::string* text) {
  if (layouts.choices == 0) {
    AddLine(text, "layouts", "row-major, as no kernel asks for others");
    return;
  }
  AddLine(text, "layouts",
          StrCat(layouts.choices, " to choose from, ", Time(layouts.row_major),
                 " row-major -> ", Time(layouts.chosen)));
  for (const backends::LayoutReport::Change& change : layouts.changes) {
    AddLine(text, "",
            StrCat(PrintableName(change.value), ": ", change.from, " -> ",
                   change.to, change.prepare ? ", once a load" : ""));
  }
}

void AddLowering(const backends::LoweringReport& lowering, std::string* text) {
  for (const backends::ScopeReport& scope : lowering.scopes) {
    const backends::PartitionReport& partition = scope.partition;
    StrAppend(text, "\n");
    if (!scope.place.empty()) {
      AddLine(text, "place", PrintableName(scope.place));
    }
    std::string line =
        StrCat(scope.kernels, ", greedily ", Time(partition.greedy), " -> ",
               Time(partition.chosen));
    if (partition.bound) {
      StrAppend(
          &line, "; cheapest ", Time(partition.cheapest), ", no choice below ",
          Time(*partition.bound), ", gap ",
          Percent(partition.cheapest - *partition.bound, partition.cheapest));
    }
    AddLine(text, "kernels", line);
    if (partition.classes > 0) {
      AddLine(text, "variants",
              StrCat(partition.variants, " of ", partition.classes,
                     " values, of one at most ", partition.most_of_a_class));
    }
    AddLayouts(scope.layouts, text);
  }
}

std::string CheckText(const OptReport& report) {
  size_t compared = 0, others = 0, lemmas = 0;
  for (const opt::Explanation& explanation : report.explanations) {
    for (const opt::ExplainedStep& step : explanation.steps) {
      ++(step.compared > 0 ? compared : others);
    }
    lemmas += explanation.lemmas;
  }
  if (!FirstFault(report.explanations).ok()) {
    return "check       wrong; the message says where\n";
  }
  std::string text =
      StrCat("check       ", compared, " steps hold by evaluation, ", lemmas,
             " lemmas by the checker of proofs\n");
  if (others > 0) {
    StrAppend(&text, "            ", others,
              " steps could not be evaluated at any sizes that were tried\n");
  }
  return text;
}

}  // namespace

Json ToJson(const OptReport& report) {
  const opt::ImproveReport& improved = report.improved;
  Json json;
  json["model"] = report.model;
  json["output"] = report.output.empty() ? Json(nullptr) : Json(report.output);
  json["nodes_before"] = report.nodes_before;
  json["nodes"] = report.nodes;
  for (const char* field : {"cost_before", "cost", "bound", "gap"}) {
    json[field] = nullptr;
  }
  json["rules"] = Json::array();
  if (report.rewritten) {
    json["cost_before"] = Number(improved.cost_before);
    json["cost"] = Number(improved.cost_after);
    if (improved.bound) {
      json["bound"] = Number(*improved.bound);
      json["gap"] = Number(improved.best_choice - *improved.bound);
    }
    for (const Rule& rule : SortedRules(report)) {
      json["rules"].push_back({{"name", rule.name},
                               {"gain", GainOf(report, rule)},
                               {"applications", rule.count.applications},
                               {"nodes", rule.count.nodes}});
    }
    json["rewrite"] = RewriteJson(improved);
  }
  json["lowering"] =
      report.lowering ? LoweringJson(*report.lowering) : Json(nullptr);
  if (report.egraphs) {
    json["egraphs"] = {{"count", report.egraphs->count},
                       {"cost", report.egraphs->cost},
                       {"bound", report.egraphs->bound}};
  }
  if (!report.explanations.empty()) {
    json["explanations"] = ExplanationsJson(report);
  }
  json["passes_ms"] = report.passes.PassesMs();
  json["optimize_ms"] = report.passes.OptimizeMs();
  Json ms;
  ms["import"] = report.import_ms;
  ms.update(report.passes.PassesMs());
  ms["lowering"] =
      report.lowering ? Json(report.lowering->seconds * 1e3) : Json(nullptr);
  ms["gains"] = report.gains_ms;
  ms["write"] = report.write_ms;
  ms["total"] = report.total_ms;
  json["ms"] = std::move(ms);
  return json;
}

std::string ToText(const OptReport& report) {
  std::string text;
  AddLine(&text, "graph", PrintableName(report.model));
  AddLine(&text, "nodes", StrCat(report.nodes_before, " -> ", report.nodes));
  if (report.rewritten) AddRewrite(report, &text);
  if (report.lowering) AddLowering(*report.lowering, &text);
  if (!report.not_lowered.empty()) {
    StrAppend(&text, "\n");
    AddLine(&text, "kernels",
            StrCat("none: ", PrintableName(report.not_lowered)));
  }
  StrAppend(&text, "\nphase                       ms\n");
  const auto phase = [&](std::string_view name, double ms) {
    const size_t width = std::max<size_t>(name.size() + 1, 20);
    StrAppend(&text, name, std::string(width - name.size(), ' '),
              Format("%10.3f", ms), "\n");
  };
  phase("import", report.import_ms);
  const Json passes = report.passes.PassesMs();
  for (const auto& [name, ms] : passes.items()) {
    phase(name, ms.get<double>());
  }
  if (report.lowering) phase("lowering", report.lowering->seconds * 1e3);
  phase("gains", report.gains_ms);
  phase("write", report.write_ms);
  phase("total", report.total_ms);
  if (report.checked) StrAppend(&text, "\n", CheckText(report));
  return text;
}

}  // namespace encore::tools
