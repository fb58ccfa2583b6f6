// Explanations: why two terms are equal, as a chain of rule applications.
//
// The graph must have been made with Options::explanations. Each step rewrites
// one subterm of the term before it, by a rule read from left to right or from
// right to left, by a union that the user gave, or by an analysis.
// explain_check.h re-checks a chain without any of the engine.
#ifndef ENCORE_OPT_EGRAPH_EXPLAIN_EXPLAIN_H_
#define ENCORE_OPT_EGRAPH_EXPLAIN_EXPLAIN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/explain/term_store.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// A name to be written in place of a term, where it has one.
using StoredTermNameFn =
    std::function<std::optional<std::string>(const TermStore::Term&)>;

struct ExplainStep {
  ProofStep::Kind kind;  // kRule, kGiven or kAnalysis
  RuleId rule;           // of kRule
  bool forward;          // left to right; for given unions as they were given
  TermStore::Id from;
  TermStore::Id to;
  // Of kRule, where the rule tests or computes literals: the match's literals
  // by slot, kNoValue for slots of terms.
  std::vector<Value> literals;
};

struct Explanation {
  TermStore terms;
  TermStore::Id start;
  TermStore::Id end;
  std::vector<ExplainStep> steps;  // empty where start is end

  // The start term, then a line per step: the term it leads to, the rule, "->"
  // or "<-". ResourceExhausted where that is longer than `max_bytes`. `name`
  // may be empty.
  StatusOr<std::string> Text(const EGraph& graph, const RuleBook& rules,
                             size_t max_bytes = size_t{1} << 24,
                             const StoredTermNameFn& name = nullptr) const;
};

// The chain from the term that `a` was added as to that of `b`.
// FailedPrecondition where the graph keeps no proofs, NotFound where the
// classes are not equal, ResourceExhausted for more than `max_steps` steps or
// 16 times as many distinct terms on the way.
// REQUIRES: graph.rebuilt(), `rules` as they were run. No recursion.
StatusOr<Explanation> Explain(const EGraph& graph, const RuleBook& rules,
                              ClassId a, ClassId b,
                              size_t max_steps = 1'000'000);

// The terms that the classes `ids` were added as, in `terms`. REQUIRES:
// graph.proofs() != nullptr, and no id is of Unit.
std::vector<TermStore::Id> AddedTerms(const EGraph& graph,
                                      std::span<const ClassId> ids,
                                      TermStore* terms);

// As Explanation::Text writes a term.
StatusOr<std::string> TermText(const Language& language, const TermStore& terms,
                               TermStore::Id term, size_t max_bytes,
                               const StoredTermNameFn& name = nullptr);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_EXPLAIN_EXPLAIN_H_
