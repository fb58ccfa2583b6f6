// The rule book: the rules of opt/rules, by theme, carried inside the program.
#ifndef ENCORE_OPT_TENSOR_RULE_BOOK_H_
#define ENCORE_OPT_TENSOR_RULE_BOOK_H_

#include <span>
#include <string>

#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// The rules of all themes, in order; names differ.
std::span<const TextRule> AllRules();

// SHA-256 of the texts, in hexadecimal: what compiled graphs depend on where
// rules are used.
const std::string& RuleBookDigest();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_RULE_BOOK_H_
