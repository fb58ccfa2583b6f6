// Rules that are a small mistake away from a given one.
#ifndef ENCORE_OPT_TENSOR_TESTING_MUTATE_RULE_H_
#define ENCORE_OPT_TENSOR_TESTING_MUTATE_RULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

enum class Mistake : uint8_t {
  kDroppedGuard,      // a condition is missing
  kSwappedArguments,  // two of a function, of one kind
  kSwappedResults,    // two of a function
  kOtherConstant,     // an integer one off, or of the other sign
  kOtherFunction,     // of the same parameters and results
  kSwappedOperands,   // two of a node on the right
  kOtherAttributes,   // of another node or function, of a node on the right
};
std::string_view Name(Mistake mistake);

struct RuleMutant {
  Mistake mistake = Mistake::kDroppedGuard;
  // What was changed, "compose(p, q): p and q swapped"; no two of a rule's
  // mutants have the same mistake and text.
  std::string what;
  TextRule rule;
};

// All of them, in a fixed order. They need not be wrong: operands of a sum may
// stand in any order.
std::vector<RuleMutant> Mutants(const TextRule& rule);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_MUTATE_RULE_H_
