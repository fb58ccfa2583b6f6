// Rules to text.
#ifndef ENCORE_OPT_TENSOR_RULE_PRINTER_H_
#define ENCORE_OPT_TENSOR_RULE_PRINTER_H_

#include <span>
#include <string>

#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// The one spelling of a rule: parsing it gives the rule again, without what
// stood in comments, and rules that differ in blanks, comments and names of
// operators' ranges only have the same.
std::string PrintRule(const TextRule& rule);
std::string PrintRules(std::span<const TextRule> rules);

// One side's term, "sub(%x, neg(%y))".
std::string PrintTerm(const TextRule& rule, uint32_t term);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_RULE_PRINTER_H_
