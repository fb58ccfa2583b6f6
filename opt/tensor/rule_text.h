// Rules as text (opt/rules/README.md tells how to write them).
//
//   file      = { rule }
//   rule      = comment "rule" NAME tag [ "for" NAME "in" set ] "{"
//               sides ( "->" | "<->" ) sides { clause } "}"
//   comment   = one or more lines "// …", the algebra
//   tag       = "exact" | "definition" | "reassociating" | "finite_math"
//   set       = "unary" | "binary" | "ternary": the elementwise primitives of
//               so many operands, all of one shape
//             | "increasing": those of one operand that never decrease where it
//               increases, and have a value for every number
//   sides     = side { "," side }
//             | "decomposition"                       right only
//   side      = [ VALUE "=" ] term
//   term      = VALUE | NAME "(" [ term { "," term } ] ")" [ attributes ]
//   attributes = "{" NAME "}"                           a variable
//              | "{" NAME "(" arguments ")" "}"         a function, right only
//              | "{" NAME "=" … "}"                     as in graphs
//              | "{" "}"                                the defaults
//   clause    = "where" [ NAME { "," NAME } "=" ] NAME "(" arguments ")"
//   arguments = [ argument { "," argument } ]
//   argument  = VALUE | NAME | INTEGER | NUMBER | "-" NUMBER
//
// NAME of a term is a mnemonic of the op table or the name after "for". A rule
// with several sides says of each named one what it is equal to; a lone side
// needs no name. "decomposition" is what the op table makes of the left side, a
// composite of variables; to read it from right to left (decomposition.h), the
// composite must be elementwise, and its attributes numbers.
#ifndef ENCORE_OPT_TENSOR_RULE_TEXT_H_
#define ENCORE_OPT_TENSOR_RULE_TEXT_H_

#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/text_rule.h"

namespace encore::opt {

std::string_view Name(RuleTag tag);

// The rules of a file; one with "<->" is two, the second called NAME_back.
// InvalidArgument "line:column: …" for anything that is not as above, a name
// given twice, a rule without a comment.
StatusOr<std::vector<TextRule>> ParseRules(std::string_view text);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_RULE_TEXT_H_
