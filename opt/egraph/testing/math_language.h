// The language of the math microbenchmark and of egg's math suite, its rules
// and start terms, for tests and benchmarks.
#ifndef ENCORE_OPT_EGRAPH_TESTING_MATH_LANGUAGE_H_
#define ENCORE_OPT_EGRAPH_TESTING_MATH_LANGUAGE_H_

#include <span>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/egraph.h"
#include "encore/opt/egraph/pattern.h"
#include "encore/opt/egraph/rule.h"

namespace encore::egraph {

// Operators + - * / pow d i sin cos ln sqrt, (Const i64), (Var String), all of
// one sort.
Language MathLanguage();
// Numbers are Const, names are Var.
Syntax MathSyntax(const Language& language);

// The 24 rules and 7 start terms of egglog's math microbenchmark.
std::span<const std::string_view> MathMicroRules();
std::span<const std::string_view> MathMicroTerms();

// The rules, parsed; every text must be one.
std::vector<RuleId> AddRules(EGraph* graph, const Syntax& syntax,
                             std::span<const std::string_view> rules,
                             RuleBook* book);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_TESTING_MATH_LANGUAGE_H_
