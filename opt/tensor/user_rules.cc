#include "encore/opt/tensor/user_rules.h"

#include <algorithm>
#include <memory>

#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_printer.h"

namespace encore::opt {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

}  // namespace

StatusOr<std::vector<TextRule>> ParseUserRules(std::string_view text) {
  ENCORE_ASSIGN_OR_RETURN(std::vector<TextRule> rules, ParseRules(text));
  for (const TextRule& rule : rules) {
    if (FindCodedRule(rule.name) != nullptr ||
        std::ranges::find(AllRules(), rule.name, &TextRule::name) !=
            AllRules().end()) {
      return InvalidArgumentError(
          StrCat("rule ", rule.name,
                 ": the book has a rule of that name (encore rules list); "
                 "choose another"));
    }
  }
  return rules;
}

StatusOr<std::string> ReadRulesFile(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  if (file->bytes().size() > kMostBytes) {
    return InvalidArgumentError(StrCat(path, ": ", file->bytes().size(),
                                       " bytes, a file of rules has at most ",
                                       kMostBytes));
  }
  // A copy: who writes to the file meanwhile changes nothing.
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()),
                         file->bytes().size());
  const auto rules = ParseUserRules(text);
  if (!rules.ok()) {
    return InvalidArgumentError(
        StrCat(path, ":", Message(rules.status()),
               "; opt/rules/README.md says how rules are written"));
  }
  if (rules->empty()) {
    return InvalidArgumentError(StrCat(path, ": there is no rule in it"));
  }
  return PrintRules(*rules);
}

}  // namespace encore::opt
