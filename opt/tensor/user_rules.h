// Rules of the user's, from a file.
#ifndef ENCORE_OPT_TENSOR_USER_RULES_H_
#define ENCORE_OPT_TENSOR_USER_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// InvalidArgument, "line:column: …" for what is no rule; where a rule has the
// name of one of the book's.
StatusOr<std::vector<TextRule>> ParseUserRules(std::string_view text);

// The rules of a file in their one spelling (rule_printer.h), which is what
// options of a compile hold and its key is made of. The file is read once.
// InvalidArgument, "FILE:line:column: …", as above, with where to read how
// rules are written; the error of reading.
StatusOr<std::string> ReadRulesFile(const std::string& path);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_USER_RULES_H_
