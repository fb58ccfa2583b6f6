// Rules as text (opt/rules/README.md tells how to write them).
//
//   file      = { rule }
//   rule      = comment "rule" NAME tag [ "for" NAME "in" set ] "{"
//               sides ( "->" | "<->" ) sides { clause } "}"
//   comment   = one or more lines "// …", the algebra
//   tag       = "exact" | "definition" | "reassociating" | "finite_math"
//   set       = "unary" | "binary" | "ternary": the elementwise primitives of
//               so many operands, all of one shape
//   sides     = side { "," side }
//   side      = [ VALUE "=" ] term
//   term      = VALUE | NAME "(" [ term { "," term } ] ")" [ attributes ]
//   attributes = "{" NAME "}"                           a variable
//              | "{" NAME "(" arguments ")" "}"         a function, right only
//              | "{" NAME "=" … "}"                     as in graphs
//   clause    = "where" [ NAME { "," NAME } "=" ] NAME "(" arguments ")"
//   arguments = [ argument { "," argument } ]
//   argument  = VALUE | NAME | INTEGER
//
// NAME of a term is a mnemonic of the op table or the name after "for". A rule
// with several sides says of each named one what it is equal to; a lone side
// needs no name.
#ifndef ENCORE_OPT_TENSOR_RULE_TEXT_H_
#define ENCORE_OPT_TENSOR_RULE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

enum class RuleTag : uint8_t {
  kExact,          // equal bits, any NaN for any NaN
  kDefinition,     // a composite and its decomposition
  kReassociating,  // equal up to rounding
  kFiniteMath,     // … where nothing is infinite or NaN
};
std::string_view Name(RuleTag tag);

// An argument of an attribute function: a tensor's or an attribute's variable,
// or an integer.
struct RuleArgument {
  enum class Kind : uint8_t { kTensor, kAttributes, kInteger };
  Kind kind = Kind::kTensor;
  std::string name;
  int64_t integer = 0;
};

struct RuleCall {
  std::string function;
  std::vector<RuleArgument> arguments;
};

struct RuleTerm {
  // A variable, or an operator with operands and attributes.
  std::string variable;
  Op op = Op::kInput;
  bool ranged = false;             // the operator after "for"
  std::vector<uint32_t> operands;  // among the rule's terms
  // Nothing; a variable; values; a function, which stands on the right.
  std::variant<std::monostate, std::string, Attributes, RuleCall> attributes;
};

struct RuleSide {
  std::string name;  // empty for a lone side
  uint32_t term = 0;
};

struct RuleClause {
  std::vector<std::string> results;  // empty: a condition
  RuleCall call;
};

struct TextRule {
  std::string name;
  std::string algebra;  // the comment above, without slashes
  RuleTag tag = RuleTag::kExact;
  std::vector<RuleTerm> terms;  // operands before what uses them
  std::vector<RuleSide> left, right;
  std::vector<RuleClause> clauses;
  // "for NAME in SET": what the operator may be; empty without it.
  std::vector<Op> range;
};

// The rules of a file; one with "<->" is two, the second called NAME_back.
// InvalidArgument "line:column: …" for anything that is not as above, a name
// given twice, a rule without a comment.
StatusOr<std::vector<TextRule>> ParseRules(std::string_view text);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_RULE_TEXT_H_
