// Text of attribute fields, one pair of functions per field type; ops and
// structs are not known here.
#ifndef ENCORE_IR_TEXT_ATTRIBUTE_TEXT_H_
#define ENCORE_IR_TEXT_ATTRIBUTE_TEXT_H_

#include <cstdint>
#include <span>
#include <string>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/lexer.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/type_text.h"

namespace encore::text {

// "{contract = [1]x[0], axis = 2}": the fields that differ from their default;
// nothing where none does.
void AppendAttributes(std::string* out, const Attributes& attributes,
                      std::span<const Symbol> symbols);

// Reads the braces at the front, where they are there, over `*attributes`.
// `budget` is as for ParseLiteral.
Status ParseAttributes(Lexer& lexer, const SymbolLookup& symbols,
                       int64_t* budget, Attributes* attributes);

}  // namespace encore::text

#endif  // ENCORE_IR_TEXT_ATTRIBUTE_TEXT_H_
