// Operands of associative-commutative operators, gathered on demand.
//
// In the e-graph an operator such as + stays binary. A rule that wants the
// operands of a whole sum asks for them here, with a bound, instead of having
// every order and nesting of it in the graph.
#ifndef ENCORE_OPT_EGRAPH_MATCH_AC_OPERANDS_H_
#define ENCORE_OPT_EGRAPH_MATCH_AC_OPERANDS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// At most `limit` (>= 1) classes that, joined by `op` in any order and nesting,
// give `root`; sorted, with repetitions, {root} where it has no node of `op`.
// A class is taken apart at its oldest node of `op` that does not lead back
// into a class that is being taken apart, and stays whole once `limit` operands
// are there. REQUIRES: `op` has two columns of the sort of its result. Reads
// the members of fewer than 2 * `limit` classes.
std::vector<ClassId> GatherOperands(const EGraph& graph, OpId op, ClassId root,
                                    size_t limit);

// The class of (op a1 (op a2 (... ak))). REQUIRES: there is an operand; `op` as
// above.
ClassId AddChain(EGraph* graph, OpId op, std::span<const ClassId> operands);

// An action of one argument, a class: the chain of its gathered operands in
// their order by class, to be united with it. Nothing where the class has no
// node of `op`.
ApplyFn SortedChain(OpId op, size_t limit);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_AC_OPERANDS_H_
