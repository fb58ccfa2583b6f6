// Rules, queries and terms as text.
//
//   term       (+ x (* 2 y))    operators by name; columns of literal sorts
//                               take -12, 1.5, "s", true
//   pattern    a term with variables: ?x
//   rule       pattern => pattern [if condition, ...]
//              ?v = pattern, ?w = pattern, ...
//                => ?v = pattern [if condition, ...]
//   condition  name ?x ...      a primitive of that name without result
//
// A variable that stands for a class in one place and a literal in another is
// an error; ?x twice means equal. Where a class is wanted and a bare number or
// name stands, Syntax may wrap it: 2 into (Const 2), x into (Var "x"); a bare
// name that is an operator without columns is that operator.
#ifndef ENCORE_OPT_EGRAPH_MATCH_PATTERN_H_
#define ENCORE_OPT_EGRAPH_MATCH_PATTERN_H_

#include <optional>
#include <string_view>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

struct Syntax {
  std::optional<OpId> number;  // of one i64 column
  std::optional<OpId> symbol;  // of one String column
};

// Adds the term; its class. InvalidArgument says what is wrong.
StatusOr<ClassId> AddTerm(EGraph* graph, std::string_view text,
                          const Syntax& syntax = {});
// The class of the term where it is in the graph. REQUIRES: graph->rebuilt().
StatusOr<std::optional<ClassId>> FindTerm(EGraph* graph, std::string_view text,
                                          const Syntax& syntax = {});

// A rule; its name is `name`, or the text where that is empty.
StatusOr<Rule> ParseRule(Language* language, std::string_view name,
                         std::string_view text, const Syntax& syntax = {});

// Whether a term of the pattern is in class `c`. REQUIRES: graph->rebuilt().
StatusOr<bool> Contains(EGraph* graph, ClassId c, std::string_view pattern,
                        const Syntax& syntax = {});

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_PATTERN_H_
