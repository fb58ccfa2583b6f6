// TextRule: a rule as it is written (rule_text.h has the grammar), as data.
#ifndef ENCORE_OPT_TENSOR_TEXT_RULE_H_
#define ENCORE_OPT_TENSOR_TEXT_RULE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"

namespace encore::opt {

enum class RuleTag : uint8_t {
  kExact,          // equal bits, any NaN for any NaN
  kDefinition,     // a composite and its decomposition
  kReassociating,  // equal up to rounding
  kFiniteMath,     // … where nothing is infinite or NaN
};

// An argument of an attribute function: a tensor's or an attribute's variable,
// an integer, or another number.
struct RuleArgument {
  enum class Kind : uint8_t { kTensor, kAttributes, kInteger, kNumber };
  Kind kind = Kind::kTensor;
  std::string name;
  int64_t integer = 0;
  double number = 0;

  double value() const {
    return kind == Kind::kInteger ? static_cast<double>(integer) : number;
  }
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
  bool decomposition = false;      // of the left side; nothing else is set
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
  // The operators of a decomposition on the right.
  std::vector<Op> decomposed;
  // "for NAME in SET": the set, and what the operator may be; empty without it.
  std::string set;
  std::vector<Op> range;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TEXT_RULE_H_
