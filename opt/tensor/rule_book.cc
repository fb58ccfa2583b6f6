#include "encore/opt/tensor/rule_book.h"

#include <iterator>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/sha256.h"

namespace encore::opt {
namespace {

constexpr RuleTheme kThemes[] = {
    {
        "linear_algebra",
#include "encore/opt/rules/linear_algebra.inc"
    },
    {
        "convolutions",
#include "encore/opt/rules/convolutions.inc"
    },
    {
        "movement",
#include "encore/opt/rules/movement.inc"
    },
    {
        "reductions",
#include "encore/opt/rules/reductions.inc"
    },
    {
        "elementwise",
#include "encore/opt/rules/elementwise.inc"
    },
};

}  // namespace

std::span<const RuleTheme> RuleThemes() { return kThemes; }

std::span<const TextRule> AllRules() {
  static const std::vector<TextRule>* const rules = [] {
    auto* const all = new std::vector<TextRule>;
    for (const RuleTheme& theme : kThemes) {
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
    for (const RuleTheme& theme : kThemes) texts += theme.text;
    return new std::string(Sha256Of(texts).ToHex());
  }();
  return *digest;
}

}  // namespace encore::opt
