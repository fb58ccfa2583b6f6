// Rules of the user's that have been tried (opt/tensor/check).
#ifndef ENCORE_CACHE_SESSION_CHECKED_RULES_H_
#define ENCORE_CACHE_SESSION_CHECKED_RULES_H_

#include <string_view>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::cache {

// The kind under which verdicts are kept.
inline constexpr std::string_view kRuleVerdictKind = "rule_verdict";

// The rules of a text as CompileOptions::user_rules has it, each found right:
// by trying it (some 30 ms), or because `store`, which may be null, remembers
// that this compiler did. What is remembered is that a rule is right, under its
// one spelling; anything else there is as if there were nothing.
// InvalidArgument: the text is not of rules; a rule is wrong, with the smallest
// graph and data that show it; a rule cannot be tried.
StatusOr<std::vector<opt::TextRule>> CheckedRules(
    std::string_view text, backends::ArtifactStore* store);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_CHECKED_RULES_H_
