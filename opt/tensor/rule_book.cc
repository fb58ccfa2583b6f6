#include "encore/opt/tensor/rule_book.h"

#include <iterator>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/sha256.h"
#include "encore/opt/rules/texts.h"

namespace encore::opt {
std::span<const TextRule> AllRules() {
  static const std::vector<TextRule>* const rules = [] {
    auto* const all = new std::vector<TextRule>;
    for (const RuleTheme& theme : RuleThemes()) {
      StatusOr<std::vector<TextRule>> parsed = ParseRules(theme.text);
      ENCORE_CHECK(parsed.ok());
      all->insert(all->end(), std::make_move_iterator(parsed->begin()),
                  std::make_move_iterator(parsed->end()));
    }
    return all;
  }();
  return *rules;
}

const std::string& RuleBookDigest() {
  static const std::string* const digest = [] {
    std::string texts;
    for (const RuleTheme& theme : RuleThemes()) texts += theme.text;
    return new std::string(Sha256Of(texts).ToHex());
  }();
  return *digest;
}

}  // namespace encore::opt
