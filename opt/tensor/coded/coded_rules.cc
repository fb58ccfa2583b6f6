#include "encore/opt/tensor/coded/coded_rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr CodedRule kRules[] = {kNestConcats, kMergeProducts, kGatherTerms,
                                kGatherFactors};

}  // namespace

std::span<const CodedRule> CodedRules() { return kRules; }

const CodedRule* FindCodedRule(std::string_view name) {
  const auto* const it = std::ranges::find(kRules, name, &CodedRule::name);
  return it == std::end(kRules) ? nullptr : it;
}

eg::Rule EngineRule(const CodedRule& rule, const TensorEGraph& tensors) {
  const eg::SlotInfo tensor{.sort = tensors.tensor_sort()};
  const eg::Slot left(0), right(1);
  return {.name = std::string(rule.name),
          .slots = {tensor, tensor},
          .atoms = {},
          .guards = {},
          .actions = {
              {.kind = eg::Action::Kind::kCall, .args = {left}, .out = right},
              {.kind = eg::Action::Kind::kUnion, .args = {left, right}}}};
}

bool UniteByCode(TensorEGraph* tensors, eg::RuleId rule, eg::ClassId left,
                 eg::ClassId right, TensorEGraph::EqualIds equal) {
  if (tensors->graph().proofs() != nullptr) {
    tensors->SetPremises(left, right, std::move(equal));
  }
  const eg::Value slots[2] = {left.value(), right.value()};
  return tensors->graph().Union(left, right,
                                {eg::ProofStep::Kind::kRule, rule, slots});
}

}  // namespace encore::opt
