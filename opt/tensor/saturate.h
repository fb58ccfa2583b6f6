// Saturation with two sets of rules that share an e-graph and no budget: what
// rules of the user's make takes nothing from those of the book.
#ifndef ENCORE_OPT_TENSOR_SATURATE_H_
#define ENCORE_OPT_TENSOR_SATURATE_H_

#include <cstddef>
#include <limits>
#include <span>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/run/runner.h"

namespace encore::opt {

struct SaturationLimits {
  // Nodes of the e-graph beside those that are there.
  size_t nodes = 0;
  size_t iterations = 0;  // of a turn
  // Matches of a rule in an iteration before it is held back for a while.
  size_t matches = 0;
  double seconds = std::numeric_limits<double>::infinity();  // of both sets
};

struct Saturation {
  egraph::StopReason stop = egraph::StopReason::kNone;  // of the first set
  size_t iterations = 0;
  Status error;  // where a rule failed
};

// The first set runs as if it were alone, as far as its limits go; then the
// second one, within limits of its own; then by turns, each with what is left
// of its nodes (the first one with a quarter at least, so that it sees what the
// second one found), at most three times, until a turn changes nothing.
Saturation Saturate(egraph::EGraph* graph, egraph::RuleBook* book,
                    std::span<const egraph::RuleId> first,
                    const SaturationLimits& first_limits,
                    std::span<const egraph::RuleId> second,
                    const SaturationLimits& second_limits);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_SATURATE_H_
