// StepSides: the two sides of a rule's application as graphs with the same
// arguments, small enough to be read and evaluated.
#ifndef ENCORE_OPT_TENSOR_EXPLAIN_STEP_SIDES_H_
#define ENCORE_OPT_TENSOR_EXPLAIN_STEP_SIDES_H_

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/explain/lemmas.h"
#include "encore/opt/tensor/improve_observer.h"

namespace encore::opt {

struct StepSides {
  Graph left, right;  // one output each, of one type
};

struct StepSidesOptions {
  // What the rule calls variables are arguments; with more than 0, so many
  // levels of what computes them are shown, too.
  int depth = 0;
  // An argument "extent_N" of shape [N] for each symbol N, so that arguments
  // say what all symbols are.
  bool extents = false;
};

// Of a lemma of kind kStep by a rule. A variable all of whose elements are
// known to be one number is a constant, and variables that the application took
// for one (Lemma::premises) are one argument. `lemmas`: of the extraction's
// e-graph; terms may be added. Errors: none but those of nodes that are
// ill-typed, which a wrong rule can make.
StatusOr<StepSides> SidesOf(const Extraction& extraction,
                            const egraph::Lemma& lemma, egraph::Lemmas* lemmas,
                            const StepSidesOptions& options = {});

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_EXPLAIN_STEP_SIDES_H_
