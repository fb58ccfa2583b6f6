#include "encore/opt/tensor/coded/apply_coded_rules.h"

#include <algorithm>

#include "encore/ir/ops/op.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/coded/gather_terms.h"
#include "encore/opt/tensor/coded/merge_products.h"
#include "encore/opt/tensor/coded/nest_concats.h"

namespace encore::opt {

namespace eg = ::encore::egraph;

CodedRuleSet::CodedRuleSet(
    const std::function<bool(RuleTag, std::string_view name)>& use,
    RoundedFloats floats)
    : floats_(floats) {
  for (const CodedRule& rule : CodedRules()) {
    if (use(rule.tag, rule.name)) used_.emplace_back(rule.name, RuleCount{});
  }
}

RuleCount* CodedRuleSet::CountOf(std::string_view name) {
  const auto it = std::ranges::find(
      used_, name, [](const auto& used) { return used.first; });
  return it == used_.end() ? nullptr : &it->second;
}

void CodedRuleSet::Before(TensorEGraph* tensors, eg::RuleBook* book) {
  const auto add = [&](const CodedRule& rule) {
    return book->Add(EngineRule(rule, *tensors));
  };
  if (RuleCount* const count = CountOf(kGatherTerms.name)) {
    GatherTerms(tensors, Op::kAdd, floats_, count, add(kGatherTerms));
  }
  if (RuleCount* const count = CountOf(kGatherFactors.name)) {
    GatherTerms(tensors, Op::kMul, floats_, count, add(kGatherFactors));
  }
  if (RuleCount* const count = CountOf(kNestConcats.name)) {
    nesting_ = add(kNestConcats);
    NestConcats(tensors, count, nesting_);
  }
  if (RuleCount* const count = CountOf(kMergeProducts.name)) {
    MergeProducts(tensors, count, add(kMergeProducts));
  }
}

void CodedRuleSet::After(TensorEGraph* tensors) {
  if (RuleCount* const count = CountOf(kNestConcats.name)) {
    FlattenConcats(tensors, count, nesting_);
  }
}

}  // namespace encore::opt
