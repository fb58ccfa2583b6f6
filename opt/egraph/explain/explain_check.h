// Re-checks an explanation. It knows rules, primitives and terms, and nothing
// of how the engine works: each step must turn one subterm into another so that
// some union of the rule, with one substitution for all variables, has these as
// its sides. The literals of the match that the step names must be those of the
// sides, every condition on literals must hold for them, and what the rule
// computes from literals is computed again.
//
// What a step does not show is not proven again: premises that are no part of a
// side, and conditions on classes.
#ifndef ENCORE_OPT_EGRAPH_EXPLAIN_EXPLAIN_CHECK_H_
#define ENCORE_OPT_EGRAPH_EXPLAIN_EXPLAIN_CHECK_H_

#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/egraph/explain/explain.h"
#include "encore/opt/egraph/explain/lemmas.h"
#include "encore/opt/egraph/explain/term_store.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// What is taken as true; terms are of the explanation's store.
struct Axioms {
  // Pairs that the user made equal.
  std::vector<std::pair<TermStore::Id, TermStore::Id>> unions{};
  // The terms of classes that rules name (RuleBuilder::Constant).
  std::vector<std::pair<Value, TermStore::Id>> classes{};
  // Steps by analyses, and terms that an ApplyFn returned.
  bool trust_code = false;
};

// OK, or DataLoss naming the step that does not hold. Linear in the sizes of
// the steps' terms along the way to what changes. The language is not const
// because primitives may intern literals.
Status CheckExplanation(Language* language, const RuleBook& rules,
                        const Explanation& explanation,
                        const Axioms& axioms = {});

// The same for lemmas: each step as above, but at the roots of its terms; each
// congruence and chain, each goal and what a step takes as equal by lemmas that
// come before. Linear in what they are made of.
Status CheckLemmas(Language* language, const RuleBook& rules,
                   const Lemmas& lemmas, const Axioms& axioms = {});

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_EXPLAIN_EXPLAIN_CHECK_H_
