#include "encore/cache/session/checked_rules.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "encore/ir/support/status_macros.h"
#include "encore/opt/tensor/check/check_rule.h"
#include "encore/opt/tensor/rule_printer.h"
#include "encore/opt/tensor/user_rules.h"

namespace encore::cache {
namespace {

constexpr std::string_view kRight = "right";

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

bool IsRemembered(backends::ArtifactStore* store, std::string_view spelling) {
  if (store == nullptr) return false;
  const auto found = store->Get(kRuleVerdictKind, spelling);
  return found && std::ranges::equal(*found, BytesOf(kRight));
}

}  // namespace

StatusOr<std::vector<opt::TextRule>> CheckedRules(
    std::string_view text, backends::ArtifactStore* store) {
  ENCORE_ASSIGN_OR_RETURN(std::vector<opt::TextRule> rules,
                          opt::ParseUserRules(text));
  for (const opt::TextRule& rule : rules) {
    const std::string spelling = opt::PrintRule(rule);
    if (IsRemembered(store, spelling)) continue;
    ENCORE_RETURN_IF_ERROR(opt::CheckRule(rule).ToStatus());
    if (store == nullptr) continue;
    store->Put(kRuleVerdictKind, spelling, BytesOf(kRight));
  }
  return rules;
}

}  // namespace encore::cache
