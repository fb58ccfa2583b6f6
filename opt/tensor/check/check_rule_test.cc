// What the checker says of a wrong rule: the smallest instance, to the letter.
// All rules of the book, and mutants of them: opt/tensor/rules_test.cc.
#include "encore/opt/tensor/check/check_rule.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/rule_text.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

RuleVerdict Check(std::string_view text) {
  const auto rules = ParseRules(StrCat("// algebra\n", text));
  EXPECT_TRUE(rules.ok()) << rules.status();
  return CheckRule(rules->front());
}

TEST(CheckRuleTest, ShowsTheSmallestInstance) {
  const RuleVerdict verdict =
      Check("rule swap exact { sub(%x, %y) -> sub(%y, %x) }");
  EXPECT_FALSE(verdict.right());
  EXPECT_EQ(
      Message(verdict.ToStatus()),
      R"(rule swap (exact) is wrong: element 0 of output 0 is -1, expected 1
%x = f32[] 1
%y = f32[] 0
before:
graph left(%x: f32[], %y: f32[]) -> f32[] {
  %out0 = sub(%x, %y)
  return %out0
}
after:
graph left(%x: f32[], %y: f32[]) -> f32[] {
  %out0 = sub(%y, %x)
  return %out0
}
)");
}

// Only where the second side says what the operands are is the slice of a part;
// the right side's use of the first does not keep it from that.
TEST(CheckRuleTest, DrawsFromEachSide) {
  const RuleVerdict verdict = Check(
      "rule r exact { %p = concat(%x, %y) {c}, %q = concat(slice(%x) {s}, %y) "
      "{c} -> %q = slice(%p) {t} where t = slice_into_second(c, s, %x, %p) }");
  EXPECT_TRUE(verdict.failure.has_value());
}

TEST(CheckRuleTest, RefusesWhatIsNotComplete) {
  const RuleVerdict verdict =
      Check("rule one exact { div(%x, %x) -> %y where is(%y, 1) }");
  EXPECT_NE(verdict.refusal.find("%y is bound by no pattern"),
            std::string::npos)
      << verdict.refusal;
}

// Only a NaN and infinities show it.
TEST(CheckRuleTest, FindsTheNumberThatItTakes) {
  const RuleVerdict verdict =
      Check("rule r exact { sub(add(%x, %y), add(%x, %y)) -> sub(%x, %x) }");
  ASSERT_TRUE(verdict.failure.has_value());
  ASSERT_EQ(verdict.failure->arguments.size(), 2u);
  EXPECT_EQ(verdict.failure->arguments[0].element_count(), 1);
  EXPECT_TRUE(std::isinf(verdict.failure->arguments[1].AsDouble(0)) ||
              std::isnan(verdict.failure->arguments[1].AsDouble(0)))
      << Print(*verdict.failure);
}

TEST(CheckRuleTest, ATagPromisesNoMoreThanHolds) {
  constexpr std::string_view kText =
      " { mul(mul(%x, %y), %z) -> mul(%x, mul(%y, %z)) }";
  const RuleVerdict exact = Check(StrCat("rule r exact", kText));
  ASSERT_TRUE(exact.failure.has_value());
  EXPECT_TRUE(IsFloat(exact.failure->arguments[0].dtype()));
  const RuleVerdict rounding = Check(StrCat("rule r reassociating", kText));
  EXPECT_TRUE(rounding.right()) << rounding.ToStatus();
}

// Of what is infinite or NaN already another of them may come.
TEST(CheckRuleTest, AReassociatingRuleLeavesFiniteWhatIs) {
  const RuleVerdict shifted = Check(
      "rule r reassociating { max(add(%x, %z), add(%y, %z)) -> "
      "add(max(%x, %y), %z) where float(%x) }");
  EXPECT_TRUE(shifted.right()) << shifted.ToStatus();
  // x + y - min(x, y) is NaN of 5 and -inf, which the bounds do not tell.
  const RuleVerdict lost = Check(
      "rule r reassociating { max(%x, %y) -> sub(add(%x, %y), min(%x, %y)) "
      "where float(%x) }");
  ASSERT_TRUE(lost.failure.has_value());
  EXPECT_TRUE(std::isinf(lost.failure->arguments[0].AsDouble(0)) ||
              std::isinf(lost.failure->arguments[1].AsDouble(0)))
      << Print(*lost.failure);
}

TEST(CheckRuleTest, ShowsTypesThatDoNotFit) {
  const RuleVerdict verdict = Check("rule r exact { reduce(%x) {r} -> %x }");
  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_NE(verdict.failure->reason.find("the rule r made f32[1] of f32[]"),
            std::string::npos)
      << Print(*verdict.failure);
  EXPECT_FALSE(verdict.failure->after.has_value());
  EXPECT_TRUE(verdict.failure->arguments.empty());
}

TEST(CheckRuleTest, RefusesWhatCannotBeTried) {
  const RuleVerdict never =
      Check("rule r exact { not(not(%x)) -> %x where float(%x) }");
  EXPECT_EQ(never.applications, 0);
  EXPECT_NE(never.refusal.find("rule r: it fired on 0 random graphs"),
            std::string::npos)
      << never.refusal;
  EXPECT_EQ(never.ToStatus().code(), StatusCode::kInvalidArgument);
}

TEST(CheckRuleTest, SaysTheSameTwice) {
  constexpr std::string_view kText =
      "rule r exact { concat(%x, %y) {c} -> concat(%y, %x) {c} }";
  const RuleVerdict first = Check(kText), second = Check(kText);
  ASSERT_TRUE(first.failure.has_value());
  EXPECT_EQ(Message(first.ToStatus()), Message(second.ToStatus()));
}

}  // namespace
}  // namespace encore::opt
