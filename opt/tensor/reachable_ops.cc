#include "encore/opt/tensor/reachable_ops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"

namespace encore::opt {
namespace {

// Calls visit(term) for each node of the sides.
template <typename Visit>
void VisitTerms(const TextRule& rule, std::span<const RuleSide> sides,
                Visit visit) {
  std::vector<uint32_t> left;
  for (const RuleSide& side : sides) left.push_back(side.term);
  while (!left.empty()) {
    const RuleTerm& term = rule.terms[left.back()];
    left.pop_back();
    if (!term.variable.empty() || term.decomposition) continue;
    visit(term);
    left.insert(left.end(), term.operands.begin(), term.operands.end());
  }
}

}  // namespace

ReachableOps::ReachableOps(std::span<const TextRule> rules,
                           const TensorEGraph& tensors)
    : reachable_(AllOps().size()) {
  const egraph::EGraph& graph = tensors.graph();
  for (uint32_t n = 0; n < graph.node_limit(); ++n) {
    const egraph::NodeId node(n);
    if (!graph.live(node)) continue;
    const TensorOp& op = tensors.op(node);
    if (op.kind == TensorOp::Kind::kOp) Add(op.op);
  }
  // What local rewrites make of what rules do (ir/build/simplify.h).
  Add(Op::kConstant);
  std::vector<const TextRule*> left;
  for (const TextRule& rule : rules) left.push_back(&rule);
  for (bool any = true; any;) {
    any = false;
    std::erase_if(left, [&](const TextRule* rule) {
      const bool can_match = rule->range.empty()
                                 ? CanMatch(*rule, Op::kInput)
                                 : std::ranges::any_of(rule->range, [&](Op op) {
                                     return Has(op) && CanMatch(*rule, op);
                                   });
      if (can_match) any |= AddWhatIsMadeBy(*rule);
      return can_match;
    });
  }
}

bool ReachableOps::CanMatch(const TextRule& rule, Op ranged) const {
  bool all = true;
  VisitTerms(rule, rule.left, [&](const RuleTerm& term) {
    all = all && Has(term.ranged ? ranged : term.op);
  });
  return all;
}

bool ReachableOps::Add(Op op) {
  const auto at = static_cast<size_t>(op);
  const bool is_new = !reachable_[at];
  reachable_[at] = true;
  return is_new;
}

bool ReachableOps::AddWhatIsMadeBy(const TextRule& rule) {
  bool any = false;
  VisitTerms(rule, rule.right, [&](const RuleTerm& term) {
    if (!term.ranged) any |= Add(term.op);
  });
  for (const Op op : rule.decomposed) any |= Add(op);
  return any;
}

}  // namespace encore::opt
