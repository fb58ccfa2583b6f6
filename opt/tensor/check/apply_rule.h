// What one application of a rule to a graph makes of it.
#ifndef ENCORE_OPT_TENSOR_CHECK_APPLY_RULE_H_
#define ENCORE_OPT_TENSOR_CHECK_APPLY_RULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// An application may make so many nodes, but for a decomposition.
inline constexpr uint64_t kMostNodesOfAnApplication = 12;

struct RuleApplication {
  // Whether it fired: two classes became one, or something was wrong.
  bool fired = false;
  // What was wrong: a node that inference refuses, two types of one class, a
  // node that is well-typed for some sizes only, too many nodes. Empty where
  // nothing was.
  std::string fault;
  // The graph with what the rule made in place of the left sides; there where
  // it fired and nothing was wrong.
  std::optional<Graph> after;
  size_t matches = 0;  // that there were
};

// All matches in `graph`, once; or that of number `match` alone. REQUIRES a
// rule whose range is empty or of one operator. Errors: those of CompileRules,
// which say that the rule cannot be used at all.
StatusOr<RuleApplication> ApplyRule(const TextRule& rule, const Graph& graph,
                                    std::optional<size_t> match = {});

// The same of a rule that is code (coded/coded_rules.h), wherever it applies;
// how many nodes it may make is not looked at.
RuleApplication ApplyCodedRule(std::string_view name, const Graph& graph);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_APPLY_RULE_H_
