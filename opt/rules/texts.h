// The texts of the rule book, a theme each, made from the .rules files here.
#ifndef ENCORE_OPT_RULES_TEXTS_H_
#define ENCORE_OPT_RULES_TEXTS_H_

#include <span>
#include <string_view>

namespace encore::opt {

struct RuleTheme {
  std::string_view name;  // of its file
  std::string_view text;
};

// In the order in which BUILD.bazel lists them.
std::span<const RuleTheme> RuleThemes();

}  // namespace encore::opt

#endif  // ENCORE_OPT_RULES_TEXTS_H_
