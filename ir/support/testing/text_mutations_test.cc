#include "encore/ir/support/testing/text_mutations.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace encore {
namespace {

constexpr std::string_view kText = R"((rule ((edge x y) (path y z))
      ((set (path x "a \" b") 42)))
(run {limits [1, 2.5]})
)";
constexpr size_t kMostBytes = 4096;

std::vector<std::string> MutantsOf(std::string_view text, size_t max_size,
                                   unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::string> mutants;
  for (int i = 0; i < 3000; ++i) {
    mutants.push_back(MutateText(std::string(text), max_size, random));
  }
  return mutants;
}

// How deep the brackets are; -1 where one is closed that is not open, or the
// other way round.
int DepthOf(std::string_view text) {
  std::string open;
  size_t depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
      depth = std::max(depth, open.size());
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return -1;
      open.pop_back();
    }
  }
  return open.empty() ? static_cast<int>(depth) : -1;
}

TEST(TextMutations, AreTheSameForTheSameSeed) {
  EXPECT_EQ(MutantsOf(kText, kMostBytes), MutantsOf(kText, kMostBytes));
  EXPECT_NE(MutantsOf(kText, kMostBytes), MutantsOf(kText, kMostBytes, 2));
}

TEST(TextMutations, KeepToTheSize) {
  for (const size_t most : {size_t{0}, size_t{1}, size_t{50}, kMostBytes}) {
    for (const std::string_view text : {std::string_view(""), kText}) {
      for (const std::string& mutant : MutantsOf(text, most)) {
        EXPECT_LE(mutant.size(), most);
      }
    }
  }
}

TEST(TextMutations, KeepMostBracketsInPairs) {
  const auto mutants = MutantsOf(kText, kMostBytes);
  const auto paired = std::ranges::count_if(
      mutants, [](const std::string& text) { return DepthOf(text) >= 0; });
  EXPECT_GT(2 * static_cast<size_t>(paired), mutants.size());
}

TEST(TextMutations, NestDeeply) {
  const auto mutants = MutantsOf(kText, kMostBytes);
  EXPECT_TRUE(std::ranges::any_of(
      mutants, [](const std::string& text) { return DepthOf(text) > 100; }));
}

TEST(TextMutations, PutBoundariesInThePlaceOfNumbers) {
  for (const std::string_view number :
       {"9223372036854775807", "-1)", "1e999", "41)", "43)"}) {
    const auto mutants = MutantsOf(kText, kMostBytes);
    EXPECT_TRUE(std::ranges::any_of(mutants, [&](const std::string& text) {
      return text.find(number) != std::string::npos;
    })) << number;
  }
}

TEST(TextMutations, LeaveStringsWhole) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = MutateText(R"("one" "t\"wo")", 1000, random);
    // Quotes come in pairs, of those that a backslash does not hide.
    int quotes = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\\') {
        ++at;
      } else if (text[at] == '"') {
        ++quotes;
      }
    }
    EXPECT_EQ(quotes % 2, 0) << text;
  }
}

TEST(TextMutations, CrossTwo) {
  std::mt19937 random(1);
  int crossed = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string both =
        CrossTexts("aa bb cc dd", "11 22 33 44", 20, random);
    EXPECT_LE(both.size(), 20u);
    const bool has_a = both.find_first_of("abcd") != std::string::npos;
    const bool has_b = both.find_first_of("1234") != std::string::npos;
    if (has_a && has_b) ++crossed;
  }
  EXPECT_GT(crossed, 500);
}

}  // namespace
}  // namespace encore
