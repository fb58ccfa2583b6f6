// WalkBackward: worse programs that compute the same as a good one.
#ifndef ENCORE_OPT_TENSOR_TESTING_WALK_BACKWARD_H_
#define ENCORE_OPT_TENSOR_TESTING_WALK_BACKWARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// A rule that leads away from what the book's rules lead to.
struct BackwardRule {
  TextRule rule;
  // A rule of the book read from right to left, whose left side has attributes
  // that functions compute others from: by name, with the operator that has
  // them. They are guessed, and a guess counts where `forward`, the rule as it
  // stands in the book, leads back to the letter.
  std::map<std::string, Op> unknown;
  std::optional<TextRule> forward;
};

// Of that level: each rule of the book from right to left, where its right side
// binds all tensors of its left side; and each as it is, for those whose
// reverse is in the book too. A rule for a range of operators is one for each.
std::vector<BackwardRule> BackwardRules(RewriteLevel level);

struct BackwardWalk {
  Graph graph;
  std::vector<std::string> rules;  // a step each
};

// Up to `steps` steps from `good`, drawn by `seed`: each is one application of
// one rule to one match, and gives a graph that was not there before, has at
// most `most_nodes` nodes and does not cost less than the one before it. Fewer
// where no rule gives such a graph.
BackwardWalk WalkBackward(const Graph& good,
                          const std::vector<BackwardRule>& rules,
                          const Costs& costs, size_t steps, int most_nodes,
                          uint64_t seed);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_WALK_BACKWARD_H_
