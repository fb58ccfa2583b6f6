// Whether two graphs give the same results, as far as the tag of a rule asks.
#ifndef ENCORE_OPT_TENSOR_CHECK_COMPARE_SIDES_H_
#define ENCORE_OPT_TENSOR_CHECK_COMPARE_SIDES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// A literal per argument; symbols have values within their bounds. Among the
// numbers are -0, subnormals, the ends of integers; for exact rules NaN,
// infinities and the largest floats; for reassociating ones now and then NaN
// and infinities, where no tensor is empty: a sum of no terms is 0, and whether
// an infinite factor stands before or behind it does make a difference. 0 is
// the simplest choice of each element.
std::vector<Literal> DrawArguments(const Graph& graph, RuleTag tag,
                                   Choices* choices);

// Choices that give each argument of `graph` one number everywhere: the least
// simple one that `choices` give the argument of the same name of `like`.
std::vector<int64_t> SplatChoices(const Graph& like,
                                  std::vector<int64_t> choices, RuleTag tag,
                                  const Graph& graph);

struct SidesCompared {
  // The first element that differs by more than it may; empty where none does.
  std::string difference;
  // Whether there was anything to compare: elements of bounds.
  bool compared = false;
};

// Integers are equal; so are floats, to the bit (any NaN for any NaN), by the
// tags exact and definition; by definition with all composites decomposed, as
// what computes a composite is its decomposition. By the others they differ by
// at most the sum of both sides' running error bounds (forward_error.h). Where
// there is none, as something is infinite or NaN, a reassociating rule has to
// leave finite what is, and may not make a number that does not depend on it of
// what is not; which of infinities and NaN it is counts for nothing. Other
// elements without bounds are not compared. REQUIRES graphs of
// one signature. Errors are the evaluator's, of `before`.
StatusOr<SidesCompared> CompareSides(const Graph& before, const Graph& after,
                                     RuleTag tag,
                                     const std::vector<Literal>& arguments);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_COMPARE_SIDES_H_
