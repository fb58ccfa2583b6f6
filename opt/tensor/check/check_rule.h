// Whether a rule is right, by trying it; and where it is not, the smallest
// graph and data that show it.
//
// Random graphs are drawn that the left sides match (instantiate.h), the rule
// is applied once (apply_rule.h), and what it made is compared with what was
// there by the evaluator (compare_sides.h). A failure is made smaller by
// changing the choices that it was drawn by (choices.h), greedily: fewer
// elements, fewer symbols, lower ranks, simpler attributes, f32 before other
// dtypes; then data, element by element.
//
// Deterministic: results depend on rule and options alone.
#ifndef ENCORE_OPT_TENSOR_CHECK_CHECK_RULE_H_
#define ENCORE_OPT_TENSOR_CHECK_CHECK_RULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

struct RuleCheckOptions {
  // On so many graphs a rule is to fire, and on at least 10 with each operator
  // of its range, within so many draws.
  int graphs = 100;
  int draws = 60000;
  // Within so many it is to fire once.
  int idle_draws = 20000;
  uint64_t seed = 1;
  // Smaller graphs, and simpler data, that are tried of a failure.
  int smaller_graphs = 1500;
  int simpler_data = 600;
};

// An instance that shows that a rule is wrong.
struct RuleFailure {
  std::string reason;  // in a line
  Graph before;
  // Not there where the rule made no graph that could be run.
  std::optional<Graph> after;
  // For `before`, in order; empty where data have no part in it.
  std::vector<Literal> arguments;
};

struct RuleVerdict {
  std::string rule;
  RuleTag tag = RuleTag::kExact;
  int applications = 0;  // graphs on which the rule fired
  int compared = 0;      // of these, graphs whose results could be compared
  int symbolic = 0;      // of the former, with symbolic extents
  // Why it cannot be used: it is not complete, or no graph was found on which
  // it fires often enough to be tried. Empty otherwise.
  std::string refusal;
  std::optional<RuleFailure> failure;

  bool right() const { return refusal.empty() && !failure.has_value(); }
  // Of a rule that is not right: InvalidArgument, its name, what is wrong, and
  // both graphs with the data.
  Status ToStatus() const;
};

// A millisecond or so per graph; some 30 ms for a rule of the book.
RuleVerdict CheckRule(const TextRule& rule,
                      const RuleCheckOptions& options = {});

// Of each rule, in order.
std::vector<RuleVerdict> CheckRules(std::span<const TextRule> rules,
                                    const RuleCheckOptions& options = {});

// The failure as a person reads it: reason, data, and both graphs as text.
std::string Print(const RuleFailure& failure);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_CHECK_RULE_H_
