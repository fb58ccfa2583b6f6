// Every rule of the book is right, as far as trying shows; and wrong ones are
// found.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/opt/rules/texts.h"
#include "encore/opt/tensor/check/apply_rule.h"
#include "encore/opt/tensor/check/check_rule.h"
#include "encore/opt/tensor/functions/attribute_functions.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_text.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

std::vector<TextRule> Rules() { return {AllRules().begin(), AllRules().end()}; }

class RuleTest : public testing::TestWithParam<TextRule> {};

TEST_P(RuleTest, IsRight) {
  // Of roots of numbers below 0, say, there is nothing to compare.
  const RuleVerdict verdict = CheckRule(GetParam(), {.graphs = 220});
  ASSERT_TRUE(verdict.right()) << verdict.ToStatus();
  EXPECT_GE(verdict.compared, 100) << "of " << verdict.applications;
  EXPECT_GE(verdict.symbolic, 1);
}

INSTANTIATE_TEST_SUITE_P(Book, RuleTest, testing::ValuesIn(Rules()),
                         [](const auto& info) { return info.param.name; });

TEST(RuleBookTest, NamesDiffer) {
  std::set<std::string> names;
  for (const TextRule& rule : AllRules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  }
}

// A rule of the book with a part of its text replaced: what is to be found.
struct Mutant {
  std::string_view rule, part, replacement;
};
constexpr Mutant kMutants[] = {
    // A guard is missing.
    {"magnitude_of_negated", "where signed(%x)", ""},
    {"choose_before", "where same_dtype(%x, %y)", ""},
    {"concat_before", "where same_dtype(%x, %y)", ""},
    {"broadcast_after_both", "where same_shape(%x, %y)", ""},
    {"reshape_after_both", "where same_shape(%x, %y)", ""},
    {"broadcast_after_first", "where scalar(%s)", ""},
    {"recognize_logistic", "where is(%unit, 1)", ""},
    {"recognize_logistic", "is(%one, 1)", "is(%one, 2)"},
    {"sum_of_sum", "where sum(r)", ""},
    {"sum_of_scaled_rows", "where sum(r)", ""},
    {"add_kernels", "where same_shape(%v, %w)", ""},
    {"join_kernels", "where ungrouped(c)", ""},
    {"join_images", "where same_but(%x, %z, 1)", ""},
    {"recognize_softmax", "where sum(s)", ""},
    {"sum_of_pad", "where is(%z, 0)", ""},
    {"maximum_by_choice", "where greater(c)", ""},
    {"take_away_added", "where integer(%x)", ""},
    {"clip_above", "where at_least(%b, %c)", ""},
    {"choose_by_integer_factor", "where boolean(%m)", ""},
    // Operands or axes in the wrong order.
    {"associate_right", "dot_general(%b, %c) {f}", "dot_general(%c, %b) {f}"},
    {"transpose_twice", "compose(p, q)", "compose(q, p)"},
    {"slice_twice", "compose_slices(s, t)", "compose_slices(t, s)"},
    {"slice_of_product", "slice(%a) {t}, slice(%b) {u}",
     "slice(%a) {u}, slice(%b) {t}"},
    {"slice_in_second", "slice_in_second(c, s, %x)",
     "slice_in_first(c, s, %x)"},
    {"choose_by_negated", "select(%c, %y, %x)", "select(%c, %x, %y)"},
    {"split_sum", "slice(%x) {s}", "slice(%x) {t}"},
    {"factor_left_behind", "add(%r,", "sub(%r,"},
    {"gather_twice", "gather(%i, %j) {k}", "gather(%i, %j) {l}"},
    {"reverse_of_concat", "reverse(%y) {v}, reverse(%x) {v}",
     "reverse(%x) {v}, reverse(%y) {v}"},
    {"choose_twice_first", "select(%c, %x, %z)", "select(%c, %y, %z)"},
    {"subtract_images", "sub(%x, %z)", "sub(%z, %x)"},
    {"gather_of_concat", "h, k, e =", "k, h, e ="},
    {"gather_of_transpose", "{h}) {q}", "{h}) {p}"},
    {"gather_of_reduction", "{h}) {q}", "{h}) {r}"},
    {"reverse_of_image", "reverse(%w) {u}", "reverse(%w) {t}"},
    {"reverse_of_first", "u, w =", "w, u ="},
    {"maximum_of_differences", "sub(broadcast(%v) {u}, reduce(%x) {q})",
     "sub(broadcast(%v) {u}, reduce(%x) {r})"},
    // The wrong operation.
    {"negated_image", "-> neg(convolution(%x, %w) {c})",
     "-> convolution(%x, %w) {c}"},
    {"larger_of_reductions", "-> reduce(max(%x, %y))",
     "-> reduce(min(%x, %y))"},
    {"add_negated", "-> sub(%x, %y)", "-> sub(%y, %x)"},
    {"subtract_negated", "-> add(%x, %y)", "-> sub(%x, %y)"},
    {"absorb_maximum", "-> max(%x, %y)", "-> %x"},
    {"or_of_negated", "not(and(%x, %y))", "not(or(%x, %y))"},
    {"factor_right_of_difference", "sub(%a, %b)", "add(%a, %b)"},
    {"divide_by_root", "rsqrt(%y)", "sqrt(%y)"},
    {"sum_of_negated", "-> neg(reduce(%x) {r})", "-> reduce(%x) {r}"},
    {"logarithm_of_softmax", "-> log_softmax(%x)", "-> softmax(%x)"},
    {"divide_by_constant", "-> mul(%x,", "-> div(%x,"},
    {"gelu_halved_last", "is(%half, 0.5)", "is(%half, 0.25)"},
    {"fourth_power", "mul(%x, %x), mul(%x, %x)", "mul(%x, %x), %x"},
    {"double", "number_of(%x, 2)", "number_of(%x, 3)"},
    {"absorb_or", "-> %x", "-> %y"},
    {"recognize_tanh_of_logistic", "is(%two, 2)", "is(%two, 1)"},
    // A tag that promises more than holds.
    {"associate_right", "reassociating", "exact"},
    {"common_factor", "reassociating", "exact"},
    {"divide_by_root", "reassociating", "exact"},
    {"sum_of_transpose", "reassociating", "exact"},
    {"multiply_exponentials", "finite_math", "exact"},
    {"softmax_of_two", "reassociating", "exact"},
    {"sum_of_reverse", "reassociating", "exact"},
    {"multiply_numbers", "reassociating", "exact"},
    {"product_of_pad_first", "finite_math", "reassociating"},
    {"pad_into_convolution", "where is(%z, 0)", ""},
    {"pad_after_first", "where scalar(%s)", ""},
    {"reverse_to_second", "reassociating", "exact"},
    {"choose_by_factor", "finite_math", "reassociating"},
    {"softmax_of_shifted", "finite_math", "reassociating"},
    {"power_of_minus_a_half", "finite_math", "reassociating"},
};

// The text of one rule, comment included.
std::string TextOf(std::string_view name) {
  const std::string head = StrCat("rule ", name, " ");
  for (const RuleTheme& theme : RuleThemes()) {
    const size_t begin = theme.text.find(head);
    if (begin == std::string_view::npos) continue;
    const size_t end = theme.text.find("\n}\n", begin) + 3;
    return StrCat("// algebra\n", theme.text.substr(begin, end - begin));
  }
  return "";
}

class MutantTest : public testing::TestWithParam<Mutant> {};

TEST_P(MutantTest, IsFound) {
  std::string text = TextOf(GetParam().rule);
  const size_t at = text.find(GetParam().part);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().part.size(), GetParam().replacement);
  const auto rules = ParseRules(text);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const RuleVerdict verdict = CheckRule(rules->front(), {.graphs = 400});
  ASSERT_TRUE(verdict.failure.has_value())
      << "held on " << verdict.applications << " graphs:\n"
      << text;
  EXPECT_NE(Message(verdict.ToStatus()).find(GetParam().rule),
            std::string::npos)
      << verdict.ToStatus();
}

INSTANTIATE_TEST_SUITE_P(Book, MutantTest, testing::ValuesIn(kMutants));

// A factor may be infinite, and is not seen by windows of padding alone: 0 on
// the left, NaN on the right. A dilated kernel may have an image between its
// places.
TEST(RuleBookTest, AFactorGoesIntoAKernelWhereEachWindowMeetsTheImage) {
  const auto rule = std::ranges::find(AllRules(), "factor_of_image_into_kernel",
                                      &TextRule::name);
  ASSERT_NE(rule, AllRules().end());
  struct Case {
    int low, high, dilation, image;
    bool fires;
  };
  for (const Case& c : {Case{2, 2, 1, 4, true}, Case{3, 0, 1, 4, false},
                        Case{0, 3, 1, 4, false}, Case{2, 2, 2, 2, true},
                        Case{3, 3, 2, 1, false}, Case{5, 0, 2, 4, false}}) {
    const int reach = 2 * c.dilation;
    const Graph graph = ParsedGraph(
        StrCat("graph g(%x: f32[1,2,", c.image,
               "], %s: f32[2], %w: f32[3,2,3]) {\n"
               "  %0 = broadcast(%s) {shape = [1, 2, ",
               c.image,
               "], axes = [1]}\n  %1 = mul(%x, %0)\n"
               "  %y = convolution(%1, %w) {strides = [1], padding_low = [",
               c.low, "], padding_high = [", c.high,
               "], lhs_dilation = [1], rhs_dilation = [", c.dilation,
               "]}\n  return %y\n}\n"));
    const auto applied = ApplyRule(*rule, graph);
    ASSERT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(applied->fired, c.fires) << c.low << " " << c.high;
    // By counting: whether some window has no element of the image.
    bool misses = false;
    for (int begin = -c.low; begin + reach < c.image + c.high; ++begin) {
      bool meets = false;
      for (int place = 0; place < 3; ++place) {
        const int at = begin + place * c.dilation;
        meets |= at >= 0 && at < c.image;
      }
      misses |= !meets;
    }
    EXPECT_EQ(misses, !c.fires) << c.low << " " << c.high;
  }
}

// Functions that no rule uses have no test.
TEST(RuleBookTest, UsesEveryFunction) {
  std::set<std::string> used;
  for (const TextRule& rule : AllRules()) {
    for (const RuleClause& clause : rule.clauses) {
      used.insert(clause.call.function);
    }
    for (const RuleTerm& term : rule.terms) {
      const auto* const call = std::get_if<RuleCall>(&term.attributes);
      if (call != nullptr) used.insert(call->function);
    }
  }
  for (const AttributeFunction& function : AllAttributeFunctions()) {
    EXPECT_TRUE(used.contains(std::string(function.name))) << function.name;
  }
}

}  // namespace
}  // namespace encore::opt
