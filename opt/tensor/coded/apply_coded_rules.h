// The coded rules (coded_rules.h) that may be used, before and after those of
// the book.
#ifndef ENCORE_OPT_TENSOR_CODED_APPLY_CODED_RULES_H_
#define ENCORE_OPT_TENSOR_CODED_APPLY_CODED_RULES_H_

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

class CodedRuleSet {
 public:
  // `use`: which ones.
  CodedRuleSet(const std::function<bool(RuleTag, std::string_view name)>& use,
               RoundedFloats floats);

  bool empty() const { return used_.empty(); }

  // REQUIRES a rebuilt e-graph in which no rule has been applied; leaves one.
  // Puts them into the book, so that proofs name them.
  void Before(TensorEGraph* tensors, egraph::RuleBook* book);
  // What `Before` did for the rules' sake is undone where that shows: on the
  // same e-graph.
  void After(TensorEGraph* tensors);

  // What each did on all e-graphs so far.
  const std::vector<std::pair<std::string_view, RuleCount>>& counts() const {
    return used_;
  }

 private:
  RuleCount* CountOf(std::string_view name);

  const RoundedFloats floats_;
  std::vector<std::pair<std::string_view, RuleCount>> used_;
  egraph::RuleId nesting_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CODED_APPLY_CODED_RULES_H_
