// ExplainText: why two terms of a program are equal, in the program's words.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_EXPLANATIONS_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_EXPLANATIONS_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/program/ast.h"

namespace encore::opt::program {

using ClassPair = std::pair<egraph::ClassId, egraph::ClassId>;

// What (explain a b) prints: the first term, then a line for each step with the
// term it leads to, the rule and its direction. `unions` are those that the
// program's own commands made, in any order; `ends` are ids as
// EGraph::AddWritten gave them. Every step has been checked again by
// explain_check.h (DataLoss where that fails). NotFound where the ends are not
// equal, ResourceExhausted for more than 50,000 steps or `max_bytes` of text.
// REQUIRES: the graph keeps proofs and is rebuilt.
StatusOr<std::string> ExplainText(const Program& program, egraph::EGraph* graph,
                                  const egraph::RuleBook& rules,
                                  std::span<const ClassPair> unions,
                                  const ClassPair& ends, size_t max_bytes);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_EXPLANATIONS_H_
