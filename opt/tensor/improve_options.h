// What Improve (improve.h) is asked for, within which limits, and what it
// tells.
#ifndef ENCORE_OPT_TENSOR_IMPROVE_OPTIONS_H_
#define ENCORE_OPT_TENSOR_IMPROVE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/improve_observer.h"
#include "encore/opt/tensor/kept/choice_store.h"
#include "encore/opt/tensor/parts/improve_parts.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// Which rules may be used, by tag: none; exact ones and definitions; these and
// reassociating ones, on floats of at least 32 bits; all, on all floats.
enum class RewriteLevel : uint8_t { kNone, kExact, kReassociate, kFast };
bool Allows(RewriteLevel level, RuleTag tag);

// Work, not time, so that results do not depend on the machine.
struct ImproveLimits {
  // Nodes of the e-graph for each of the graph, and beside these.
  size_t nodes_per_node = 8;
  size_t more_nodes = 2000;
  size_t iterations = 12;
  // Matches of a rule in an iteration before it is held back for a while.
  size_t matches = 400;
  uint64_t extraction_work = 200'000;
  // Of rules of the user's: what they may add is this share of all the nodes
  // that the book's rules may, and takes nothing from these (saturate.h).
  double user_nodes = 0.25;
  size_t user_iterations = 6;
  PartsLimits parts;
};

// What happened, of the graph and all its bodies.
struct ImproveReport {
  struct Rule {
    std::string name;
    RuleCount count;
  };
  int nodes = 0;      // that rules could look at
  size_t enodes = 0;  // in the end
  size_t classes = 0;
  size_t iterations = 0;
  // Why saturation ended: "saturated" wherever it did, or else the last limit,
  // "nodes", "iterations", ….
  std::string stop;
  // How many e-graphs ended so, by that.
  std::map<std::string, int, std::less<>> stops;
  // E-graphs whose choices were kept, so that they were not saturated.
  int recalled = 0;
  // Seconds of the clock: saturating, extracting (graphs of choices included),
  // and judging these by what their kernels cost.
  double saturate_seconds = 0, extract_seconds = 0, judge_seconds = 0;
  // Into how many parts large graphs were cut, in all rounds, and how many of
  // these were unlike any before; 0: improved as a whole.
  int parts = 0, distinct_parts = 0;
  // Seconds by the costs: of the graph, and of the one that is returned.
  double cost_before = 0, cost_after = 0;
  // By extraction's additive costs: of the graph's own choice, of the best that
  // was found, and what no choice is below.
  double own_choice = 0, best_choice = 0;
  std::optional<double> bound;
  bool improved = false;
  // Those that united classes, in the order of the book, then the user's.
  std::vector<Rule> rules;
  // A rule that was wrong, which leaves the graph as it is, and the origin of
  // what it would have replaced; empty where another rule had made that.
  Status fault;
  std::string fault_origin;
};

// What a user is told of a report's fault: the rule, what it made, and the
// place in the model, unless that is empty.
std::string FaultText(const Status& fault, std::string_view place);

struct ImproveOptions {
  RewriteLevel level = RewriteLevel::kNone;
  // Null: RooflineCosts. Outlives the call.
  const Costs* costs = nullptr;
  // Rules by name; null: all.
  std::function<bool(std::string_view rule)> filter;
  ImproveLimits limits;
  // Beside those of the book, which have other names; used by their tags, as
  // these are. Somebody has checked them (check/check_rule.h). Outlive the
  // call.
  std::span<const TextRule> user_rules;
  ImproveReport* report = nullptr;  // may be null
  // Whether cost_before and cost_after are to be in it, for which whole graphs
  // are cut into kernels.
  bool report_costs = true;
  // Where choices are found and kept (kept/kept_choices.h): what they lead to
  // is the same as without. Null: nowhere. Not looked at with an observer or a
  // filter, or where the costs do not say what they are.
  ChoiceStore* kept = nullptr;
  // Ends the search as well, where it is not null: what is not done by then
  // stays as it is, and `deadline` says so.
  Deadline* deadline = nullptr;
  // Is shown every e-graph, also where no rule found anything; may be null.
  ImproveObserver* observer = nullptr;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_IMPROVE_OPTIONS_H_
