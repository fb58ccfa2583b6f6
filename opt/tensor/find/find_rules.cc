#include "encore/opt/tensor/find/find_rules.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/check/compare_sides.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/find/derivable.h"
#include "encore/opt/tensor/find/find_state.h"
#include "encore/opt/tensor/find/instances.h"
#include "encore/opt/tensor/find/shared_programs.h"
#include "encore/opt/tensor/improve.h"

namespace encore::opt {
namespace {

constexpr size_t kBatch = 50;
// Where seconds are estimated.
constexpr Extents kLargeExtents = {128, 512};
constexpr int kFloatTrials = 20;
constexpr auto kWriteEvery = std::chrono::seconds(5);

// Two programs of the same values, in order.
struct Identity {
  std::vector<uint32_t> left, right;
};

// What the costs say are equal may differ by rounding.
constexpr double kSameSeconds = 1.001;

// "add[0, 1] = add[1, 0]": what texts have in common that differ in the names
// of inputs, which are a letter each.
std::string FormOf(const MissingRule& rule) {
  std::string form;
  std::map<char, size_t> numbers;
  const std::string text = StrCat(rule.from, " = ", rule.to);
  const auto is_letter = [&](size_t at) {
    return at < text.size() && text[at] >= 'a' && text[at] <= 'z';
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_letter(i) || is_letter(i + 1) || (i > 0 && is_letter(i - 1))) {
      form += text[i];
      continue;
    }
    StrAppend(&form,
              numbers.try_emplace(text[i], numbers.size()).first->second);
  }
  return form;
}

class Finder {
 public:
  Finder(const FindOptions& options, std::span<const TextRule> rules,
         const Expressions& expressions, const std::string& state)
      : options_(options),
        rules_(rules),
        expressions_(expressions),
        state_(options, rules, kBatch, state) {
    for (const TextRule& rule : rules) names_.insert(rule.name);
  }

  StatusOr<FoundRules> Run(
      const std::function<bool(size_t done, size_t all)>& go_on) && {
    found_.expressions = expressions_.size();
    TakeIdentities();
    size_t done = 0;
    ENCORE_ASSIGN_OR_RETURN(FindState::Content content,
                            state_.Read(identities_.size()));
    done = content.done;
    found_.missing = std::move(content.missing);
    for (const MissingRule& rule : found_.missing) {
      forms_.insert(FormOf(rule));
    }
    auto written = std::chrono::steady_clock::now();
    while (done < identities_.size() &&
           (!go_on || go_on(done, identities_.size()))) {
      const size_t count = std::min(kBatch, identities_.size() - done);
      const auto batch = std::span(identities_).subspan(done, count);
      if (options_.results == 1) {
        Batch(batch);
      } else {
        for (const Identity& identity : batch) LookAtShared(identity);
      }
      done += count;
      const auto now = std::chrono::steady_clock::now();
      if (now - written < kWriteEvery) continue;
      ENCORE_RETURN_IF_ERROR(state_.Write(done, found_.missing));
      written = std::chrono::steady_clock::now();
    }
    ENCORE_RETURN_IF_ERROR(state_.Write(done, found_.missing));
    found_.looked_at = done;
    found_.complete = done == identities_.size();
    std::ranges::sort(found_.missing, [](const auto& a, const auto& b) {
      return std::tuple(a.operators, -a.gain, a.from, a.to) <
             std::tuple(b.operators, -b.gain, b.from, b.to);
    });
    DropInstances(&found_.missing);
    return std::move(found_);
  }

 private:
  // A slice of all, by seed.
  void TakeIdentities() {
    std::vector<Identity> all;
    if (options_.results == 1) {
      for (const Expressions::Pair& pair : expressions_.pairs()) {
        all.push_back({.left = {pair.made}, .right = {pair.representative}});
      }
    } else {
      const auto seconds = [&](std::array<uint32_t, 2> program) {
        return GraphSeconds({program[0], program[1]});
      };
      for (const SharedProgram& program :
           SharedPrograms(expressions_, options_.operators, seconds)) {
        all.push_back({.left = {program.apart[0], program.apart[1]},
                       .right = {program.shared[0], program.shared[1]}});
      }
    }
    found_.pairs = all.size();
    const auto one_of = static_cast<uint64_t>(std::max(options_.one_of, 1));
    for (size_t i = 0; i < all.size(); ++i) {
      Choices choices(options_.seed * 0x9e3779b97f4a7c15 + i);
      if (choices.Below(static_cast<int64_t>(one_of)) != 0) continue;
      identities_.push_back(std::move(all[i]));
    }
  }

  void Batch(std::span<const Identity> identities) {
    std::vector<uint32_t> sides;
    for (const Identity& identity : identities) {
      sides.push_back(identity.left[0]);
      sides.push_back(identity.right[0]);
    }
    const auto graph =
        expressions_.GraphOf(sides, kFindExtents, DType::kF32, true);
    if (!graph) return;
    const std::vector<bool> derivable = Derivable(*graph, rules_);
    for (size_t i = 0; i < identities.size(); ++i) {
      if (derivable[i] || DerivableAlone(identities[i])) continue;
      if (HoldsElsewhere(identities[i])) AddMissing(identities[i]);
    }
  }

  // Two results that share more as the right side has them, and that the rules
  // know to be the same: missing where they do not get there from the left
  // side alone. Where a result by itself is not derivable, a search of one
  // result says so.
  void LookAtShared(const Identity& identity) {
    const double from = ImprovedSeconds(identity.left);
    const double to = GraphSeconds(identity.right).value_or(from);
    if (from <= to * kSameSeconds) return;
    if (DerivableAlone(identity) && HoldsElsewhere(identity)) {
      AddMissing(identity);
    }
  }

  // Where no other identity has a part in its sums.
  bool DerivableAlone(const Identity& identity) const {
    std::vector<uint32_t> sides;
    for (size_t i = 0; i < identity.left.size(); ++i) {
      sides.push_back(identity.left[i]);
      sides.push_back(identity.right[i]);
    }
    const auto graph =
        expressions_.GraphOf(sides, kFindExtents, DType::kF32, true);
    if (!graph) return false;
    const std::vector<bool> derivable = Derivable(*graph, rules_);
    return std::ranges::find(derivable, false) == derivable.end();
  }

  // In floats, and at other extents.
  bool HoldsElsewhere(const Identity& identity) const {
    for (size_t i = 0; i < identity.left.size(); ++i) {
      if (!HoldsElsewhere(identity.left[i], identity.right[i])) return false;
    }
    return true;
  }

  bool HoldsElsewhere(uint32_t left, uint32_t right) const {
    const auto a =
        expressions_.GraphOf({left}, kOtherExtents, DType::kF32, false);
    const auto b =
        expressions_.GraphOf({right}, kOtherExtents, DType::kF32, false);
    if (!a || !b ||
        !(a->shape(a->outputs()[0].value) == b->shape(b->outputs()[0].value))) {
      return false;
    }
    bool compared = left == right;
    for (int trial = 0; trial < kFloatTrials; ++trial) {
      Choices choices(options_.seed + static_cast<uint64_t>(trial));
      const auto result =
          CompareSides(*a, *b, RuleTag::kFiniteMath,
                       DrawArguments(*a, RuleTag::kFiniteMath, &choices));
      if (!result.ok() || !result->difference.empty()) return false;
      compared |= result->compared;
    }
    return compared;
  }

  // As it stands.
  std::optional<double> GraphSeconds(
      const std::vector<uint32_t>& program) const {
    const auto graph =
        expressions_.GraphOf(program, kLargeExtents, DType::kF32, true);
    if (!graph) return std::nullopt;
    return RooflineCosts().GraphSeconds(*graph);
  }

  // Of the cheapest graph that the rules make of it.
  double ImprovedSeconds(const std::vector<uint32_t>& program) {
    const auto [it, fresh] = improved_seconds_.try_emplace(program, 0);
    if (!fresh) return it->second;
    const auto graph =
        expressions_.GraphOf(program, kLargeExtents, DType::kF32, true);
    if (!graph) return 0;
    ImproveOptions options;
    options.level = RewriteLevel::kFast;
    options.filter = [this](std::string_view rule) {
      return names_.contains(rule) || FindCodedRule(rule) != nullptr;
    };
    const auto improved = Improve(*graph, options);
    const bool better = improved.ok() && improved->has_value();
    it->second =
        RooflineCosts().GraphSeconds(better ? **improved : *graph).value_or(0);
    return it->second;
  }

  void AddMissing(const Identity& identity) {
    double from = ImprovedSeconds(identity.left);
    double to = ImprovedSeconds(identity.right);
    MissingRule rule{.from = expressions_.Text(identity.left),
                     .to = expressions_.Text(identity.right)};
    for (const auto& side : {identity.left, identity.right}) {
      for (const uint32_t result : side) {
        rule.operators += expressions_[result].operators;
      }
    }
    if (from < to) {
      std::swap(from, to);
      std::swap(rule.from, rule.to);
    }
    rule.gain = from > 0 ? (from - to) / from : 0;
    if (!forms_.insert(FormOf(rule)).second) return;
    found_.missing.push_back(std::move(rule));
  }

  const FindOptions& options_;
  const std::span<const TextRule> rules_;
  const Expressions& expressions_;
  const FindState state_;
  std::set<std::string, std::less<>> names_;                  // of the rules
  std::map<std::vector<uint32_t>, double> improved_seconds_;  // by program
  std::set<std::string> forms_;  // of what was found
  std::vector<Identity> identities_;
  FoundRules found_;
};

}  // namespace

StatusOr<FoundRules> FindRules(
    const FindOptions& options, std::span<const TextRule> rules,
    const std::string& state,
    const std::function<bool(size_t done, size_t all)>& go_on) {
  ENCORE_ASSIGN_OR_RETURN(const Expressions expressions,
                          Expressions::Enumerate(options));
  return Finder(options, rules, expressions, state).Run(go_on);
}

}  // namespace encore::opt
