// Whether a step of an explanation holds, by evaluation.
#ifndef ENCORE_OPT_TENSOR_EXPLAIN_CHECK_STEP_H_
#define ENCORE_OPT_TENSOR_EXPLAIN_CHECK_STEP_H_

#include <cstdint>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/explain/lemmas.h"
#include "encore/opt/tensor/explain/step_sides.h"
#include "encore/opt/tensor/improve_observer.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

struct StepCheck {
  int compared = 0;  // draws of arguments on which both sides were evaluated
  int skipped = 0;   // those at whose sizes the evaluator refuses the left side
};

// Where both sides give the same on random arguments, by the evaluator, at
// small sizes where sizes are symbols: of exact rules and definitions bit by
// bit (any NaN for any NaN), on numbers of moderate size and on hostile ones
// (infinities, NaN, signed zeros, the ends of integers); of others within what
// rounding may add up to, on numbers of moderate size. DataLoss says what
// differs and shows the sides.
//
// A step may hold for what its variables are, and not for every number: the
// application knew more than the rule shows. So where the sides differ, more
// and more of what computes the variables is evaluated with them.
StatusOr<StepCheck> CheckStep(const Extraction& extraction,
                              const egraph::Lemma& lemma, RuleTag tag,
                              uint64_t seed, egraph::Lemmas* lemmas);

// The same of two sides as they are. REQUIRES the extents of all symbols to be
// those of arguments.
StatusOr<StepCheck> CompareSides(const StepSides& sides, RuleTag tag,
                                 uint64_t seed);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_EXPLAIN_CHECK_STEP_H_
