#include "encore/opt/tensor/find/find_rules.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/check/compare_sides.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/find/derivable.h"
#include "encore/opt/tensor/find/instances.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_printer.h"

namespace encore::opt {
namespace {

constexpr size_t kBatch = 50;
// Where seconds are estimated.
constexpr Extents kLargeExtents = {128, 512};
constexpr int kFloatTrials = 20;
constexpr auto kWriteEvery = std::chrono::seconds(5);

using Pair = Expressions::Pair;

// What a state file is about, on its first line.
std::string HeadOf(const FindOptions& options,
                   std::span<const TextRule> rules) {
  const std::string what = StrCat(
      options.operators, " ", options.kinds, " ", options.inputs, " ",
      options.seed, " ", options.one_of, " ", kBatch, " ", PrintRules(rules));
  return StrCat("encore rules find 2 ", Sha256Of(what).ToHex(), "\n");
}

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
        state_(state),
        head_(HeadOf(options, rules)) {
    for (const TextRule& rule : rules) names_.insert(rule.name);
  }

  StatusOr<FoundRules> Run(
      const std::function<bool(size_t done, size_t all)>& go_on) && {
    found_.expressions = expressions_.size();
    found_.pairs = expressions_.pairs().size();
    TakePairs();
    size_t done = 0;
    ENCORE_ASSIGN_OR_RETURN(done, ReadState());
    auto written = std::chrono::steady_clock::now();
    while (done < pairs_.size() && (!go_on || go_on(done, pairs_.size()))) {
      const size_t count = std::min(kBatch, pairs_.size() - done);
      Batch(std::span(pairs_).subspan(done, count));
      done += count;
      const auto now = std::chrono::steady_clock::now();
      if (now - written < kWriteEvery) continue;
      ENCORE_RETURN_IF_ERROR(WriteState(done));
      written = std::chrono::steady_clock::now();
    }
    ENCORE_RETURN_IF_ERROR(WriteState(done));
    found_.looked_at = done;
    found_.complete = done == pairs_.size();
    std::ranges::sort(found_.missing, [](const auto& a, const auto& b) {
      return std::tuple(a.operators, -a.gain, a.from, a.to) <
             std::tuple(b.operators, -b.gain, b.from, b.to);
    });
    DropInstances(&found_.missing);
    return std::move(found_);
  }

 private:
  // A slice of all pairs, by seed.
  void TakePairs() {
    const auto one_of = static_cast<uint64_t>(std::max(options_.one_of, 1));
    for (size_t i = 0; i < expressions_.pairs().size(); ++i) {
      Choices choices(options_.seed * 0x9e3779b97f4a7c15 + i);
      if (choices.Below(static_cast<int64_t>(one_of)) != 0) continue;
      pairs_.push_back(expressions_.pairs()[i]);
    }
  }

  void Batch(std::span<const Pair> pairs) {
    std::vector<uint32_t> sides;
    for (const Pair& pair : pairs) {
      sides.push_back(pair.made);
      sides.push_back(pair.representative);
    }
    const auto graph =
        expressions_.GraphOf(sides, kFindExtents, DType::kF32, true);
    if (!graph) return;
    const std::vector<bool> derivable = Derivable(*graph, rules_);
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (derivable[i] || DerivableAlone(pairs[i])) continue;
      if (HoldsElsewhere(pairs[i])) AddMissing(pairs[i]);
    }
  }

  // Where no other pair has a part in its sums.
  bool DerivableAlone(const Pair& pair) const {
    const auto graph = expressions_.GraphOf({pair.made, pair.representative},
                                            kFindExtents, DType::kF32, true);
    return graph && Derivable(*graph, rules_)[0];
  }

  // In floats, and at other extents.
  bool HoldsElsewhere(const Pair& pair) const {
    const auto made =
        expressions_.GraphOf({pair.made}, kOtherExtents, DType::kF32, false);
    const auto representative = expressions_.GraphOf(
        {pair.representative}, kOtherExtents, DType::kF32, false);
    if (!made || !representative ||
        !(made->shape(made->outputs()[0].value) ==
          representative->shape(representative->outputs()[0].value))) {
      return false;
    }
    bool compared = false;
    for (int trial = 0; trial < kFloatTrials; ++trial) {
      Choices choices(options_.seed + static_cast<uint64_t>(trial));
      const auto result =
          CompareSides(*made, *representative, RuleTag::kFiniteMath,
                       DrawArguments(*made, RuleTag::kFiniteMath, &choices));
      if (!result.ok() || !result->difference.empty()) return false;
      compared |= result->compared;
    }
    return compared;
  }

  // Of the cheapest graph that the rules make of it.
  double SecondsOf(uint32_t expression) {
    const auto [it, fresh] = seconds_.try_emplace(expression, 0);
    if (!fresh) return it->second;
    const auto graph =
        expressions_.GraphOf({expression}, kLargeExtents, DType::kF32, true);
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

  void AddMissing(const Pair& pair) {
    double from = SecondsOf(pair.made), to = SecondsOf(pair.representative);
    MissingRule rule{.from = expressions_.Text(pair.made),
                     .to = expressions_.Text(pair.representative),
                     .operators = expressions_[pair.made].operators +
                                  expressions_[pair.representative].operators};
    if (from < to) {
      std::swap(from, to);
      std::swap(rule.from, rule.to);
    }
    rule.gain = from > 0 ? (from - to) / from : 0;
    if (!forms_.insert(FormOf(rule)).second) return;
    found_.missing.push_back(std::move(rule));
  }

  // --- The file: its head, how many pairs are done, a line each missing rule.

  Status WriteState(size_t done) const {
    if (state_.empty()) return OkStatus();
    std::string text = StrCat(head_, done, "\n");
    for (const MissingRule& rule : found_.missing) {
      StrAppend(&text, rule.operators, "\t", rule.gain, "\t", rule.from, "\t",
                rule.to, "\n");
    }
    return WriteWholeFile(state_, std::string_view(text));
  }

  // How many pairs are done.
  StatusOr<size_t> ReadState() {
    if (state_.empty() || !std::filesystem::exists(state_)) return size_t{0};
    ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(state_));
    std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                          file->bytes().size());
    const auto wrong = [&] {
      return InvalidArgumentError(
          StrCat(state_,
                 ": not the state of this search (other options, or another "
                 "rule book); remove it, or name another file"));
    };
    if (!text.starts_with(head_)) return wrong();
    text.remove_prefix(head_.size());
    const auto done = ParseInt64(NextPiece(&text, '\n'));
    if (!done || *done < 0 || static_cast<size_t>(*done) > pairs_.size()) {
      return wrong();
    }
    while (!text.empty()) {
      std::string_view line = NextPiece(&text, '\n');
      const auto operators = ParseInt64(NextPiece(&line, '\t'));
      const auto gain = ParseDouble(NextPiece(&line, '\t'));
      if (!operators || !gain) return wrong();
      MissingRule rule;
      rule.operators = static_cast<int>(*operators);
      rule.gain = *gain;
      rule.from = NextPiece(&line, '\t');
      rule.to = line;
      forms_.insert(FormOf(rule));
      found_.missing.push_back(std::move(rule));
    }
    return static_cast<size_t>(*done);
  }

  // What stands before the separator, which is taken too.
  static std::string_view NextPiece(std::string_view* text, char separator) {
    const size_t end = text->find(separator);
    const std::string_view piece = text->substr(0, end);
    text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
    return piece;
  }

  const FindOptions& options_;
  const std::span<const TextRule> rules_;
  const Expressions& expressions_;
  const std::string& state_;
  const std::string head_;
  std::set<std::string, std::less<>> names_;  // of the rules
  std::map<uint32_t, double> seconds_;        // by expression
  std::set<std::string> forms_;               // of what was found
  std::vector<Pair> pairs_;
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
