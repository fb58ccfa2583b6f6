// Whether a rule is right, by trying it.
#ifndef ENCORE_OPT_TENSOR_TESTING_CHECK_RULE_H_
#define ENCORE_OPT_TENSOR_TESTING_CHECK_RULE_H_

#include <cstdint>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

struct RuleTrial {
  int applications = 0;  // graphs on which the rule fired
  int compared = 0;      // of these, graphs that were evaluated and compared
  int symbolic = 0;      // of the former, with symbolic extents
};

// Draws graphs that the rule's left side matches until it fired on `wanted` of
// them, or `attempts` were drawn; on each applies it once and compares the
// terms that it made with the left side through the evaluator: of exact rules
// bit by bit (any NaN for any NaN), on data with signed zeros, subnormals, NaN,
// infinities and the ends of integers; of others on moderate numbers, within
// what the rounding of each operation may add up to, computed in f64, and bit
// by bit on integers.
//
// An error says what is wrong and shows the graph: the rule does not compile,
// makes nodes that are ill-typed, of another type, only sometimes well-typed
// where sizes are symbols, or too many; or gives other values.
StatusOr<RuleTrial> TryRule(const TextRule& rule, int wanted, int attempts,
                            uint64_t seed);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_CHECK_RULE_H_
