// ReachableOps: the operators that there can be in an e-graph whatever rules
// do.
#ifndef ENCORE_OPT_TENSOR_REACHABLE_OPS_H_
#define ENCORE_OPT_TENSOR_REACHABLE_OPS_H_

#include <span>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/text_rule.h"

namespace encore::opt {

class ReachableOps {
 public:
  // Those that are there, and those that rules make of these, and so on.
  ReachableOps(std::span<const TextRule> rules, const TensorEGraph& tensors);

  // Whether all operators on the left are among them; `ranged` is the one after
  // "for", where there is such.
  bool CanMatch(const TextRule& rule, Op ranged) const;

 private:
  bool Has(Op op) const { return reachable_[static_cast<size_t>(op)]; }
  // Whether it is new.
  bool Add(Op op);
  bool AddWhatIsMadeBy(const TextRule& rule);

  std::vector<bool> reachable_;  // by Op
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_REACHABLE_OPS_H_
