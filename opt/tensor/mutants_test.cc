// Every rule with a small mistake in it is found wrong, with the smallest
// instance that shows it, but for those below, which are no mistakes.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "encore/opt/tensor/check/check_rule.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/testing/mutate_rule.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

// Mutants that are right; empty text stands for any. A mutant that never fires
// is not wrong either.
struct NoMistake {
  Mistake mistake;
  std::string_view rule;  // its beginning
  std::string_view what;  // a part
  bool never_fires;
  std::string_view why;
};
constexpr NoMistake kNoMistakes[] = {
    {Mistake::kSwappedArguments, "", "same_", false,
     "a condition that is the same from both sides"},
    {Mistake::kSwappedOperands, "", "add#", false, "x + y = y + x"},
    {Mistake::kSwappedOperands, "", "mul#", false, "x·y = y·x"},
    {Mistake::kSwappedOperands, "", "max#", false, "max(x, y) = max(y, x)"},
    {Mistake::kSwappedOperands, "", "min#", false, "min(x, y) = min(y, x)"},
    {Mistake::kSwappedOperands, "", "and#", false, "x and y = y and x"},
    {Mistake::kSwappedOperands, "", "or#", false, "x or y = y or x"},
    {Mistake::kOtherConstant, "join_", "same_but", false,
     "asks that the dim be equal that may differ, and not for one that follows "
     "from the types of both convolutions"},
    {Mistake::kDroppedGuard, "sum_of_transpose", "sum(r)", false,
     "holds for every combiner; the guard is there for the tag"},
    {Mistake::kDroppedGuard, "sum_twice", "sum(r)", false, "likewise"},
    {Mistake::kOtherFunction, "sum_of_transpose", "selection for sum", false,
     "likewise"},
    {Mistake::kOtherFunction, "sum_twice", "selection for sum", false,
     "likewise"},
    {Mistake::kSwappedArguments, "concat_of_slice_first", "%x and %p swapped",
     false, "fires where the other operand is empty, and is the same there"},
    {Mistake::kOtherFunction, "rest_of_selection", "maximum for selection",
     false, "asks for more"},
    {Mistake::kOtherFunction, "rest_of_selection", "minimum for selection",
     false, "likewise"},
    {Mistake::kDroppedGuard, "rest_of_sum", "sum(r)", false,
     "holds for every combiner; the guard is there for the tag"},
    {Mistake::kOtherFunction, "rest_of_sum", " for sum", false, "likewise"},
    {Mistake::kOtherFunction, "magnitude_of_negated", "float for signed", false,
     "asks for more"},
    {Mistake::kOtherFunction, "selection_", "maximum for selection", false,
     "asks for more"},
    {Mistake::kOtherFunction, "selection_", "minimum for selection", false,
     "likewise"},
    {Mistake::kOtherFunction, "sum_t", "maximum for sum", false,
     "holds for every combiner"},
    {Mistake::kOtherFunction, "sum_t", "minimum for sum", false, "likewise"},
    {Mistake::kOtherFunction, "sum_of_transpose", "maximum for sum", false,
     "likewise"},
    {Mistake::kOtherFunction, "sum_of_transpose", "minimum for sum", false,
     "likewise"},
    {Mistake::kOtherFunction, "selection_of_", "scalar for float", false,
     "a scalar is reduced along nothing"},
    {Mistake::kOtherFunction, "", "total for float", false, "asks for more"},
    {Mistake::kOtherFunction, "maximum_of_differences", "scalar for float",
     false, "a scalar is reduced along nothing"},
    {Mistake::kOtherFunction, "minimum_of_differences", "scalar for float",
     false, "likewise"},
    {Mistake::kOtherFunction, "maximum_of_differences",
     "for minimum_for_maximum", false,
     "the other way round, as minimum_of_differences"},
    {Mistake::kOtherFunction, "minimum_of_differences",
     "for maximum_for_minimum", false, "likewise"},
    {Mistake::kOtherFunction, "sum_of_divided", "scalar for float", false,
     "likewise"},
    {Mistake::kOtherFunction, "", "float for number", false, "asks for more"},
    {Mistake::kOtherFunction, "", "signed for number", false, "asks for more"},
    {Mistake::kOtherFunction, "", "integer for number", false, "asks for more"},
    {Mistake::kOtherFunction, "", "total for number", false, "asks for more"},
    {Mistake::kOtherFunction, "", "positive for ", false, "asks for more"},
    {Mistake::kOtherFunction, "", "at_least for same_dtype", false,
     "asks for more"},
    {Mistake::kOtherFunction, "take_away_itself", "total for integer", false,
     "of a number that is no NaN nothing is left either"},
    {Mistake::kOtherFunction, "maximum_by_choice_of", " for float", false,
     "of integers there is an exact rule, of booleans no maximum"},
    {Mistake::kOtherFunction, "minimum_by_choice_of", " for float", false,
     "likewise"},
    {Mistake::kOtherFunction, "maximum_by_other", " for total", false,
     "a comparison of hostile numbers has no bound; the guard is there for "
     "NaN"},
    {Mistake::kOtherFunction, "minimum_by_other", " for total", false,
     "likewise"},
    {Mistake::kOtherFunction, "maximum_of_negated", "for minimum_for_maximum",
     false, "the other way round, as minimum_of_negated"},
    {Mistake::kOtherFunction, "minimum_of_negated", "for maximum_for_minimum",
     false, "likewise"},
    {Mistake::kOtherFunction, "maximum_of_negated", "scalar for float", false,
     "a scalar is reduced along nothing"},
    {Mistake::kOtherFunction, "minimum_of_negated", "scalar for float", false,
     "likewise"},
    {Mistake::kOtherFunction, "selection_of_scaled", "sum for selection", false,
     "a factor passes a sum as well"},
    {Mistake::kOtherFunction, "selection_of_broadcast",
     "reduction_beside_broadcast", false, "holds for every combiner"},
    {Mistake::kOtherFunction, "sum_of_reverse", " for sum", false,
     "holds for every combiner; the guard is there for the tag"},
    {Mistake::kDroppedGuard, "sum_of_reverse", "sum(r)", false, "likewise"},
    {Mistake::kOtherFunction, "sum_of_reshape", " for sum", false, "likewise"},
    {Mistake::kDroppedGuard, "sum_of_reshape", "sum(q)", false, "likewise"},
    {Mistake::kDroppedGuard, "selection_of_reshape", "selection(q)", false,
     "likewise: the elements stay in their order"},
    {Mistake::kDroppedGuard, "selection_of_", "of_some", false,
     "of nothing the maximum is no finite number, and there is no bound"},
    {Mistake::kDroppedGuard, "maximum_of_differences", "of_some", false,
     "likewise"},
    {Mistake::kDroppedGuard, "minimum_of_differences", "of_some", false,
     "likewise"},
    {Mistake::kDroppedGuard, "pad_after_both", "same_shape", false,
     "follows from one padding, which is not drawn between elements"},
    {Mistake::kOtherFunction, "pad_after_both", "for same_shape", false,
     "likewise"},
    {Mistake::kOtherFunction, "selection_of_scaled", "scalar for positive",
     false, "a scalar is reduced along nothing"},
    {Mistake::kDroppedGuard, "add_prefix_sums", "prefix_sum", false,
     "only sums are drawn"},
    {Mistake::kDroppedGuard, "subtract_prefix_sums", "prefix_sum", false,
     "likewise"},
    {Mistake::kSwappedArguments, "", "_numbers(%a, %b)", false,
     "a condition that is the same from both sides"},
    {Mistake::kSwappedArguments, "", "compose_reverses", false, "likewise"},
    {Mistake::kSwappedArguments, "", "compose_pads", false, "likewise"},
    {Mistake::kSwappedArguments, "sum_over_batches", "%a and %b swapped", false,
     "only ranks count: without one of these it does not fire"},
    {Mistake::kSwappedArguments, "sum_against_first", "%a and %b swapped",
     false, "asks of the extents what they are only where both are equal"},
    {Mistake::kSwappedArguments, "gather_twice", " swapped", false, "likewise"},
    {Mistake::kSwappedArguments, "gather_of_broadcast", "%i and %y swapped",
     false, "likewise"},
    {Mistake::kSwappedArguments, "term_of_image", "%x and %w swapped", false,
     "looks at their channels, which are as many"},
    {Mistake::kSwappedArguments, "convolution_of_whole", "%x and %w swapped",
     false, "asks that their extents be the same"},
    {Mistake::kSwappedArguments, "join_groups", "join_groups(c, d", false,
     "each stands for the other"},
    {Mistake::kSwappedArguments, "concat_of_broadcasts", "swapped", false,
     "likewise"},
    {Mistake::kSwappedArguments, "concat_before_", "b and d swapped", false,
     "likewise"},
    {Mistake::kSwappedArguments, "join_broadcasts", "b and c swapped", false,
     "likewise"},
    {Mistake::kOtherAttributes, "slice_before_all", "f#", false,
     "operators of three operands have none"},
    {Mistake::kOtherAttributes, "gather_before_all", "f#", false, "likewise"},
    {Mistake::kOtherAttributes, "convolution_of_transpose", "transpose#", false,
     "of two places a permutation is its own inverse; a case has three"},
    {Mistake::kSwappedArguments, "reverse_", "%a and %b swapped", false,
     "only ranks count: without one of these it does not fire"},
    {Mistake::kSwappedArguments, "reverse_of_image", "%x and %w swapped", false,
     "looks at their extents where there are strides, and does not fire then"},
    {Mistake::kSwappedArguments, "join_sum", "%a and %b swapped", false,
     "the pairs stand for each other"},
    {Mistake::kSwappedArguments, "join_sum", "%x and %y swapped", false,
     "likewise"},
    {Mistake::kSwappedArguments, "split_first", "%a and %x swapped", false,
     "only ranks count: without one of these it does not fire"},
    {Mistake::kSwappedArguments, "transpose_in_", "%a and %b swapped", false,
     "likewise"},
    {Mistake::kSwappedArguments, "gather_of_product", "%b and %i swapped",
     false, "likewise"},
    {Mistake::kSwappedArguments, "sum_of_products", "%a and %b swapped", false,
     "asks of the extents what they are only where both are equal"},
    {Mistake::kSwappedOperands, "commute_", "", true, "it is there already"},
    {Mistake::kOtherFunction, "", "", true,
     "asks for attributes of another struct, or for others of them"},
    {Mistake::kSwappedArguments, "", "", true, "likewise"},
    {Mistake::kDroppedGuard, "recognize_softmax_by", "maximum(m)", false,
     "any shift gives the same; the guard is there against overflow"},
    {Mistake::kOtherFunction, "recognize_softmax_by", "for maximum", false,
     "likewise"},
    {Mistake::kDroppedGuard, "gelu_argument", "is(%c", false,
     "holds for every number; the guard is there for what it is part of"},
    {Mistake::kOtherConstant, "gelu_argument", "for 0.044715", false,
     "likewise"},
    {Mistake::kOtherConstant, "mish_by_exponential", "for 20", false,
     "the quotient is 1 from 19 on, in f64 too"},
    {Mistake::kOtherConstant, "", "{axis}: -1", true, "no axis is below 0"},
    {Mistake::kOtherConstant, "select_", "is(%c, ", true,
     "a condition is 0 or 1"},
    {Mistake::kOtherConstant, "split_images", "1): -1", true, "likewise"},
};

bool IsNoMistake(const RuleMutant& mutant, bool never_fires) {
  return std::ranges::any_of(kNoMistakes, [&](const NoMistake& known) {
    return known.mistake == mutant.mistake &&
           known.never_fires == never_fires &&
           std::string_view(mutant.rule.name).starts_with(known.rule) &&
           mutant.what.find(known.what) != std::string::npos;
  });
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
    if (verdict.failure) {
      EXPECT_NE(message.find(GetParam().name), std::string::npos) << message;
      EXPECT_NE(message.find("before:\n"), std::string::npos) << message;
      continue;
    }
    const bool incomplete = !verdict.refusal.empty() &&
                            verdict.refusal.find("fired") == std::string::npos;
    if (incomplete) continue;
    EXPECT_TRUE(IsNoMistake(mutant, verdict.applications == 0))
        << "held on " << verdict.applications << " graphs";
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
  for (const NoMistake& known : kNoMistakes) {
    bool found = false;
    for (const TextRule& rule : AllRules()) {
      for (const RuleMutant& mutant : Mutants(rule)) {
        found |= known.mistake == mutant.mistake &&
                 std::string_view(rule.name).starts_with(known.rule) &&
                 mutant.what.find(known.what) != std::string::npos;
      }
    }
    EXPECT_TRUE(found) << known.rule << " " << known.what;
  }
}

}  // namespace
}  // namespace encore::opt
