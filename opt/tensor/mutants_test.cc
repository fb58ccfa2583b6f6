// Every rule with a small mistake in it is found wrong, with the smallest
// instance that shows it, but for those of right_mutants.list, which are right,
// each with its reason.
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/opt/tensor/check/check_rule.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/testing/mutate_rule.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

constexpr char kRightMutants[] = "opt/tensor/right_mutants.list";

// A mutant, by the rule's name, its mistake and what was changed.
using MutantName = std::tuple<std::string, std::string, std::string>;

MutantName NameOf(std::string_view rule, const RuleMutant& mutant) {
  return {std::string(rule), std::string(Name(mutant.mistake)), mutant.what};
}

// The reasons of the list. A line "= REASON" is that of the lines
// "RULE MISTAKE WHAT" behind it.
const std::map<MutantName, std::string>& RightMutants() {
  static const auto* const found = [] {
    auto* const mutants = new std::map<MutantName, std::string>;
    std::ifstream file(kRightMutants);
    EXPECT_TRUE(file.is_open()) << kRightMutants;
    std::string line, reason;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      if (line.starts_with("= ")) {
        reason = line.substr(2);
        continue;
      }
      const size_t first = line.find(' '), second = line.find(' ', first + 1);
      EXPECT_NE(second, std::string::npos) << line;
      EXPECT_FALSE(reason.empty()) << line;
      const bool is_new =
          mutants
              ->insert({{line.substr(0, first),
                         line.substr(first + 1, second - first - 1),
                         line.substr(second + 1)},
                        reason})
              .second;
      EXPECT_TRUE(is_new) << "twice: " << line;
    }
    return mutants;
  }();
  return *found;
}

// Whether what was swapped are the operands of a node "OPERATOR#NUMBER" that
// may stand in any order.
bool IsCommutation(const RuleMutant& mutant) {
  if (mutant.mistake != Mistake::kSwappedOperands) return false;
  const auto op = ParseOp(mutant.what.substr(0, mutant.what.find('#')));
  return op && Info(*op).has(kCommutative);
}

// Whether a mutant that fires on nothing needs no reason of its own: another
// function or other arguments may ask for attributes of another struct, or for
// others than the match has, and give nothing then.
bool MayNeverFire(const RuleMutant& mutant) {
  return mutant.mistake == Mistake::kOtherFunction ||
         mutant.mistake == Mistake::kSwappedArguments;
}

// Of how many mutants one is tried: all where that takes two minutes.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr size_t kOneOf = 8;
#else
constexpr size_t kOneOf = 1;
#endif

class MutantsTest : public testing::TestWithParam<TextRule> {};

TEST_P(MutantsTest, AreFoundOrRight) {
  const std::vector<RuleMutant> mutants = Mutants(GetParam());
  for (size_t i = 0; i < mutants.size(); i += kOneOf) {
    const RuleMutant& mutant = mutants[i];
    SCOPED_TRACE(testing::Message()
                 << Name(mutant.mistake) << " " << mutant.what);
    const RuleVerdict verdict = CheckRule(mutant.rule, {.graphs = 1000,
                                                        .draws = 20000,
                                                        .idle_draws = 4000,
                                                        .smaller_graphs = 400,
                                                        .simpler_data = 200});
    const std::string message(Message(verdict.ToStatus()));
    const bool is_listed =
        RightMutants().contains(NameOf(GetParam().name, mutant));
    if (verdict.failure) {
      EXPECT_FALSE(is_listed) << kRightMutants << ": it is found wrong";
      EXPECT_NE(message.find(GetParam().name), std::string::npos) << message;
      EXPECT_NE(message.find("before:\n"), std::string::npos) << message;
      continue;
    }
    const bool incomplete = !verdict.refusal.empty() &&
                            verdict.refusal.find("fired") == std::string::npos;
    const bool needs_entry =
        !incomplete && !IsCommutation(mutant) &&
        (verdict.applications > 0 || !MayNeverFire(mutant));
    EXPECT_EQ(is_listed, needs_entry)
        << "held on " << verdict.applications << " graphs; " << kRightMutants
        << " is to say why it is right, and of no others";
  }
}

INSTANTIATE_TEST_SUITE_P(Book, MutantsTest,
                         testing::ValuesIn(std::vector<TextRule>(
                             AllRules().begin(), AllRules().end())),
                         [](const auto& info) { return info.param.name; });

TEST(MutantsTest, AreOfEveryKind) {
  std::vector<int> count(7);
  for (const TextRule& rule : AllRules()) {
    for (const RuleMutant& mutant : Mutants(rule)) {
      ++count[static_cast<size_t>(mutant.mistake)];
    }
  }
  for (const int mutants : count) EXPECT_GE(mutants, 20);
}

// Nobody knows any more what is listed and no mutant is.
TEST(MutantsTest, EveryEntryIsOfAMutant) {
  std::set<MutantName> all;
  for (const TextRule& rule : AllRules()) {
    for (const RuleMutant& mutant : Mutants(rule)) {
      all.insert(NameOf(rule.name, mutant));
    }
  }
  for (const auto& [name, reason] : RightMutants()) {
    const auto& [rule, mistake, what] = name;
    EXPECT_TRUE(all.contains(name)) << rule << " " << mistake << " " << what;
  }
}

}  // namespace
}  // namespace encore::opt
