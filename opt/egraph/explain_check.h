// Re-checks an explanation. It knows rules and terms and nothing of how the
// engine works: each step must turn one subterm into another so that some union
// of the rule, with one substitution for all variables, has these as its sides.
//
// Variables that occur in neither side, premises that are no part of a side,
// and literal conditions are not proven again.
#ifndef ENCORE_OPT_EGRAPH_EXPLAIN_CHECK_H_
#define ENCORE_OPT_EGRAPH_EXPLAIN_CHECK_H_

#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/explain.h"
#include "encore/opt/egraph/language.h"
#include "encore/opt/egraph/rule.h"

namespace encore::egraph {

// OK, or DataLoss naming the step that does not hold. `given`: the pairs of
// terms (in the explanation's store) that the user made equal. Analyses' steps
// are accepted when `trust_analyses`.
Status CheckExplanation(
    const Language& language, const RuleBook& rules,
    const Explanation& explanation,
    const std::vector<std::pair<TermStore::Id, TermStore::Id>>& given,
    bool trust_analyses);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_EXPLAIN_CHECK_H_
