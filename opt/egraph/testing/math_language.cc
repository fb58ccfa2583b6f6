#include "encore/opt/egraph/testing/math_language.h"

#include <string>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore::egraph {
namespace {

constexpr std::string_view kRules[] = {
    "(+ ?a ?b) => (+ ?b ?a)",
    "(* ?a ?b) => (* ?b ?a)",
    "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)",
    "(* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)",
    "(- ?a ?b) => (+ ?a (* -1 ?b))",
    "(+ ?a 0) => ?a",
    "(* ?a 0) => 0",
    "(* ?a 1) => ?a",
    "(- ?a ?a) => 0",
    "(* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))",
    "(+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))",
    "(* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))",
    "(pow ?x 1) => ?x",
    "(pow ?x 2) => (* ?x ?x)",
    "(d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b))",
    "(d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))",
    "(d ?x (sin ?x)) => (cos ?x)",
    "(d ?x (cos ?x)) => (* -1 (sin ?x))",
    "(i 1 ?x) => ?x",
    "(i (cos ?x) ?x) => (sin ?x)",
    "(i (sin ?x) ?x) => (* -1 (cos ?x))",
    "(i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x))",
    "(i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x))",
    "(i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))",
};

constexpr std::string_view kTerms[] = {
    "(i (ln x) x)",
    "(i (+ x (cos x)) x)",
    "(i (* (cos x) x) x)",
    "(d x (+ 1 (* 2 x)))",
    "(d x (- (pow x 3) (* 7 (pow x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
};

}  // namespace

Language MathLanguage() {
  Language language;
  const SortId math = *language.AddClassSort("Math");
  for (const std::string_view name : {"+", "-", "*", "/", "pow", "d", "i"}) {
    ENCORE_CHECK(language
                     .AddOp({.name = std::string(name),
                             .args = {math, math},
                             .result = math})
                     .ok());
  }
  for (const std::string_view name : {"sin", "cos", "ln", "sqrt"}) {
    ENCORE_CHECK(
        language
            .AddOp({.name = std::string(name), .args = {math}, .result = math})
            .ok());
  }
  ENCORE_CHECK(
      language.AddOp({.name = "Const", .args = {kI64Sort}, .result = math})
          .ok());
  ENCORE_CHECK(
      language.AddOp({.name = "Var", .args = {kStringSort}, .result = math})
          .ok());
  return language;
}

Syntax MathSyntax(const Language& language) {
  return {.number = language.FindOp("Const"), .symbol = language.FindOp("Var")};
}

std::span<const std::string_view> MathMicroRules() { return kRules; }
std::span<const std::string_view> MathMicroTerms() { return kTerms; }

std::vector<RuleId> AddRules(EGraph* graph, const Syntax& syntax,
                             std::span<const std::string_view> rules,
                             RuleBook* book) {
  std::vector<RuleId> ids;
  for (const std::string_view text : rules) {
    StatusOr<Rule> rule = ParseRule(&graph->language(), "", text, syntax);
    ENCORE_CHECK(rule.ok()) << rule.status();
    ids.push_back(book->Add(*std::move(rule)));
  }
  return ids;
}

}  // namespace encore::egraph
