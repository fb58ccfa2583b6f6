// opt/rules/missing.md says of each of the first 200 identities that the book
// lacks why it has no rule.
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/find/find_rules.h"
#include "encore/opt/tensor/rule_book.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

constexpr const char* kList = "opt/rules/missing.md";
constexpr size_t kListed = 200;

// Of one result; what has two says so.
bool HasTwoResults(std::string_view pair) {
  return pair.starts_with("results[");
}

// The list: reasons' letters by pair, and how many each letter says it has.
struct MissingList {
  std::map<std::string, std::string> letters;
  std::map<std::string, size_t> counts;
};

MissingList ReadList() {
  MissingList list;
  std::ifstream file(kList);
  EXPECT_TRUE(file.good()) << kList;
  std::string line;
  while (std::getline(file, line)) {
    // "* **A** (6): why"
    if (line.starts_with("* **")) {
      const size_t open = line.find('('), close = line.find(')');
      const auto count =
          ParseNumber<size_t>(line.substr(open + 1, close - open - 1));
      EXPECT_TRUE(count.has_value()) << line;
      list.counts[line.substr(4, line.find("**", 4) - 4)] = count.value_or(0);
    }
    // "| 4 | 33 % | `add[x, y] = add[y, x]` | A |"
    const size_t begin = line.find('`'), end = line.rfind('`');
    if (!line.starts_with("| ") || begin == end) continue;
    const std::string_view rest = std::string_view(line).substr(end + 1);
    EXPECT_TRUE(rest.starts_with(" | ") && rest.ends_with(" |")) << line;
    const bool fresh =
        list.letters
            .emplace(line.substr(begin + 1, end - begin - 1),
                     std::string(rest.substr(3, rest.size() - 5)))
            .second;
    EXPECT_TRUE(fresh) << line << " is there twice";
  }
  return list;
}

TEST(MissingTest, TheListHasTheFirstAndNoOthers) {
  const auto found = FindRules({}, AllRules());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->complete);
  ASSERT_GE(found->missing.size(), kListed);
  const MissingList list = ReadList();
  std::set<std::string> first;
  for (size_t i = 0; i < kListed; ++i) {
    const MissingRule& rule = found->missing[i];
    const std::string pair = StrCat(rule.from, " = ", rule.to);
    first.insert(pair);
    EXPECT_TRUE(list.letters.contains(pair))
        << kList << " does not say why there is no rule for " << rule.operators
        << " | " << pair << " (gain " << 100 * rule.gain << " %)";
  }
  for (const auto& [pair, letter] : list.letters) {
    if (HasTwoResults(pair)) continue;
    EXPECT_TRUE(first.contains(pair))
        << kList << " lists " << pair
        << ", which is not among the first that `encore rules find "
           "--operators 3` prints";
  }
}

// Those of two operators, which come first.
TEST(MissingTest, TheListHasProgramsOfTwoResults) {
  const auto found =
      FindRules({.operators = 2, .results = 2, .kinds = 24}, AllRules());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->missing.empty());
  const MissingList list = ReadList();
  size_t listed = 0;
  for (const MissingRule& rule : found->missing) {
    const std::string pair = StrCat(rule.from, " = ", rule.to);
    EXPECT_TRUE(HasTwoResults(pair)) << pair;
    EXPECT_TRUE(list.letters.contains(pair))
        << kList << " does not say why there is no rule for " << pair;
  }
  for (const auto& [pair, letter] : list.letters) listed += HasTwoResults(pair);
  EXPECT_EQ(listed, kListed);
}

TEST(MissingTest, EachReasonIsThereAndCounted) {
  const MissingList list = ReadList();
  std::map<std::string, size_t> counts;
  for (const auto& [pair, letter] : list.letters) ++counts[letter];
  EXPECT_EQ(counts, list.counts);
}

}  // namespace
}  // namespace encore::opt
