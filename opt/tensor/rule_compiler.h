// Rules of text as rules of the engine, on a TensorEGraph.
#ifndef ENCORE_OPT_TENSOR_RULE_COMPILER_H_
#define ENCORE_OPT_TENSOR_RULE_COMPILER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

// What a rule did to an e-graph.
struct RuleCount {
  uint64_t applications = 0;  // that made two classes one
  uint64_t nodes = 0;         // that were made
};

// Rules of the engine; `text[i]` is the number of the text rule behind rule i,
// as a text rule that ranges over operators is one for each.
struct CompiledRules {
  std::vector<egraph::Rule> rules;
  std::vector<uint32_t> text;
};

// Which floats rules may round differently that are not exact: all, or those of
// at least 32 bits. A narrower type's ulp is about what its results are
// compared by, so that one more rounding shows.
enum class RoundedFloats : uint8_t { kAll, kWide };

// The actions of the rules refer to `tensors` and to `counts`, which must
// outlive them and has an element per text rule. A rule whose application makes
// a node that inference refuses, or unites classes of different types, sets the
// engine's error, which names it: that is a fault of the rule.
// InvalidArgument, naming the rule: a variable that no pattern and no clause
// binds, an unknown function, arguments of the wrong kind or number.
//
// Rules that want an operator which is not there, and which no other rule can
// make, are left out.
StatusOr<CompiledRules> CompileRules(
    std::span<const TextRule> rules, TensorEGraph* tensors,
    std::span<RuleCount> counts, RoundedFloats floats = RoundedFloats::kAll);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_RULE_COMPILER_H_
