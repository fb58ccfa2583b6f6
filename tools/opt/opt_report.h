// What `encore opt` tells of its passes, for a person and for programs.
#ifndef ENCORE_TOOLS_OPT_OPT_REPORT_H_
#define ENCORE_TOOLS_OPT_OPT_REPORT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/lowering/lowering_report.h"
#include "encore/opt/tensor/explain/explanation.h"
#include "encore/opt/tensor/improve.h"
#include "encore/tools/json_output.h"
#include "encore/tools/pass_report.h"

namespace encore::tools {

struct OptReport {
  std::string model;
  std::string output;  // empty where the graph was not written
  int nodes_before = 0, nodes = 0;
  // Whether the pass rewrite ran with rules, and what they did.
  bool rewritten = false;
  opt::ImproveReport improved;
  // What --dump-egraph wrote.
  struct Egraphs {
    int count = 0;
    double cost = 0, bound = 0;
  };
  std::optional<Egraphs> egraphs;
  // By rule; empty where they were not asked for.
  std::map<std::string, double> gains;
  std::vector<opt::Explanation> explanations;  // of --explain and --check
  bool checked = false;
  // How the graph would be lowered, or why it cannot be.
  std::optional<backends::LoweringReport> lowering;
  std::string not_lowered;
  PassReport passes;
  double import_ms = 0, gains_ms = 0, write_ms = 0, total_ms = 0;
};

// The fields are in tools/README.md. Costs are seconds.
Json ToJson(const OptReport& report);

// A table of several lines: nodes, costs, rules, times; whether all steps hold.
std::string ToText(const OptReport& report);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPT_OPT_REPORT_H_
