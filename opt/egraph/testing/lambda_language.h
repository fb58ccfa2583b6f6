// A lambda calculus with let, fix and if, as in egg's lambda suite, for tests:
// two analyses, and rules that make fresh names.
//
//   (var s) (lam s t) (app t t) (let s t t) (fix s t) (if t t t) (+ t t)
//   (= t t)   integers, true, false; s is a symbol
#ifndef ENCORE_OPT_EGRAPH_TESTING_LAMBDA_LANGUAGE_H_
#define ENCORE_OPT_EGRAPH_TESTING_LAMBDA_LANGUAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "encore/opt/egraph/core/analysis.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/pattern.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// The value a class is known to have. + folds where it does not overflow, =
// where both sides are known; the value becomes a node of the class.
using Known = std::optional<std::variant<bool, int64_t>>;
class KnownValues : public FactAnalysis<Known> {
 public:
  explicit KnownValues(const Language& language);
  void Modify(EGraph* graph, ClassId cls) override;
  std::unique_ptr<Analysis> Clone() const override {
    return std::make_unique<KnownValues>(*this);
  }

 protected:
  Known Of(const EGraph& graph, NodeId node) override;
  bool Join(EGraph* graph, Known* into, const Known& from) override;

 private:
  OpId number_, true_, false_, add_, equal_;
};

// The symbols without which no term of the class can do: its free variables,
// intersected over its nodes, as sorted classes of symbols.
class FreeVariables : public FactAnalysis<std::vector<Value>> {
 public:
  explicit FreeVariables(const Language& language);
  bool Has(ClassId cls, Value symbol) const;
  std::unique_ptr<Analysis> Clone() const override {
    return std::make_unique<FreeVariables>(*this);
  }

 protected:
  std::vector<Value> Of(const EGraph& graph, NodeId node) override;
  bool Join(EGraph* graph, std::vector<Value>* into,
            const std::vector<Value>& from) override;

 private:
  OpId symbol_, var_, lam_, let_, fix_;
};

struct Lambda {
  Lambda();
  EGraph graph;
  Syntax syntax;
};

// The 17 rules.
std::vector<RuleId> AddLambdaRules(Lambda* lambda, RuleBook* book);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_TESTING_LAMBDA_LANGUAGE_H_
