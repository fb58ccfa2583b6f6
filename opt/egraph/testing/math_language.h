// The language of the math microbenchmark and of egg's math suite, its rules
// and start terms, for tests and benchmarks.
#ifndef ENCORE_OPT_EGRAPH_TESTING_MATH_LANGUAGE_H_
#define ENCORE_OPT_EGRAPH_TESTING_MATH_LANGUAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/core/analysis.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/pattern.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// Operators + - * / pow d i sin cos ln sqrt, (Const i64), (Var String), all of
// one sort.
Language MathLanguage();
// Numbers are Const, names are Var.
Syntax MathSyntax(const Language& language);

// The 24 rules and 7 start terms of egglog's math microbenchmark.
std::span<const std::string_view> MathMicroRules();
std::span<const std::string_view> MathMicroTerms();

// The largest analysis of egg's math suite: a class may be known to be a
// number, and then it loses its other nodes. No folding on overflow or a
// remainder.
class ConstantFold : public FactAnalysis<std::optional<int64_t>> {
 public:
  explicit ConstantFold(const Language& language);
  void Modify(EGraph* graph, ClassId cls) override;
  std::unique_ptr<Analysis> Clone() const override {
    return std::make_unique<ConstantFold>(*this);
  }

 protected:
  std::optional<int64_t> Of(const EGraph& graph, NodeId node) override;
  bool Join(EGraph* graph, std::optional<int64_t>* into,
            const std::optional<int64_t>& from) override;

 private:
  OpId number_, add_, sub_, mul_, div_;
};

// Math with ConstantFold and the conditions nz ?x (not known to be 0), const ?x
// (known to be a number), sym ?x (holds a Var) and dist ?c ?x (another class
// than x, and a number or a Var).
struct FoldingMath {
  FoldingMath();
  EGraph graph;
  Syntax syntax;
};

// The rules, parsed; every text must be one. A bare variable on the left
// becomes a rule for each operator.
std::vector<RuleId> AddRules(EGraph* graph, const Syntax& syntax,
                             std::span<const std::string_view> rules,
                             RuleBook* book);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_TESTING_MATH_LANGUAGE_H_
