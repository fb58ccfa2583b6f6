// Rules that are code, for they look at any number of nodes, which no pattern
// says: gather_terms.h, merge_products.h, nest_concats.h.
#ifndef ENCORE_OPT_TENSOR_CODED_CODED_RULES_H_
#define ENCORE_OPT_TENSOR_CODED_CODED_RULES_H_

#include <span>
#include <string_view>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

struct CodedRule {
  std::string_view name;  // in reports and filters, beside those of the book
  RuleTag tag;
  std::string_view algebra;
};

inline constexpr CodedRule kMergeProducts = {
    "merge_products", RuleTag::kExact, "x·a, x·b, … = the parts of x·[a b …]"};
inline constexpr CodedRule kGatherTerms = {
    "gather_terms", RuleTag::kReassociating,
    "a·x + b + c·x + … = (a·x + c·x) + b + …"};
inline constexpr CodedRule kGatherFactors = {
    "gather_factors", RuleTag::kReassociating,
    "v·x·w·… = (v·w)·x·…, v and w repeated alike"};
inline constexpr CodedRule kNestConcats = {"nest_concats", RuleTag::kExact,
                                           "[a b c …] = [a [b [c …]]]"};

std::span<const CodedRule> CodedRules();
// Null where none has the name.
const CodedRule* FindCodedRule(std::string_view name);

// What stands in a rule book for it: two tensors that it says are equal, so
// that proofs name it.
egraph::Rule EngineRule(const CodedRule& rule, const TensorEGraph& tensors);

// Unites two ids by an application of `rule`, which is that of EngineRule, and
// says what it took for one beside that. Whether they were not one.
bool UniteByCode(TensorEGraph* tensors, egraph::RuleId rule,
                 egraph::ClassId left, egraph::ClassId right,
                 TensorEGraph::EqualIds equal = {});

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CODED_CODED_RULES_H_
