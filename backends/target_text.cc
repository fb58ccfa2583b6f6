#include "encore/backends/target_text.h"

#include <map>

#include "encore/backends/placement_text.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

// All that are named, in order; text of another form is none.
std::vector<std::string_view> AllTargets(const CompileOptions& options) {
  std::vector<std::string_view> targets = StrSplit(options.target, ',');
  const auto entries = ParsePlacement(options.placement);
  if (!entries.ok()) return targets;
  for (const PlacementEntry& entry : *entries) targets.push_back(entry.target);
  return targets;
}

// Behind the colon; empty for a number.
std::string_view VariantIn(std::string_view target) {
  const size_t colon = target.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view rest = target.substr(colon + 1);
  return ParseNumber<uint32_t>(rest) ? std::string_view() : rest;
}

}  // namespace

StatusOr<std::vector<std::string_view>> ParseTargets(std::string_view text) {
  std::vector<std::string_view> targets = StrSplit(text, ',');
  for (const std::string_view target : targets) {
    if (!target.empty()) continue;
    return InvalidArgumentError(
        StrCat("target ", Quote(text),
               ": expected the names of targets, joined by commas"));
  }
  return targets;
}

std::string_view VariantOf(const CompileOptions& options,
                           std::string_view backend) {
  for (const std::string_view target : AllTargets(options)) {
    if (target.substr(0, target.find(':')) != backend) continue;
    const std::string_view variant = VariantIn(target);
    if (!variant.empty()) return variant;
  }
  return {};
}

Status CheckVariants(const CompileOptions& options) {
  std::map<std::string_view, std::string_view> known;
  for (const std::string_view target : AllTargets(options)) {
    const std::string_view variant = VariantIn(target);
    const std::string_view backend = target.substr(0, target.find(':'));
    if (variant.empty()) continue;
    const auto [at, is_new] = known.emplace(backend, variant);
    if (is_new || at->second == variant) continue;
    return InvalidArgumentError(
        StrCat("targets ", backend, ":", at->second, " and ", target,
               ": one compile is for one kind of device of a backend"));
  }
  return OkStatus();
}

}  // namespace encore::backends
