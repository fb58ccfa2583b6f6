#include "encore/opt/tensor/user_rules.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_printer.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

std::string FileOf(std::string_view text) {
  const std::string path = StrCat(testing::TempDir(), "/mine.rules");
  std::ofstream(path) << text;
  return path;
}

// sin(-x) = -sin(x), which the book does not say.
constexpr std::string_view kSine = R"(
// sin(-x) = -sin(x)
rule sine_of_negated exact {
  neg(sin(neg(%x))) -> sin(%x)
}
)";

TEST(RulePrinterTest, TheBookIsReadBack) {
  const std::string text = PrintRules(AllRules());
  const auto again = ParseRules(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintRules(*again), text);
  ASSERT_EQ(again->size(), AllRules().size());
  for (size_t i = 0; i < again->size(); ++i) {
    const TextRule& a = (*again)[i];
    const TextRule& b = AllRules()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.tag, b.tag);
    EXPECT_EQ(a.range, b.range);
    EXPECT_EQ(a.terms.size(), b.terms.size());
    EXPECT_EQ(a.clauses.size(), b.clauses.size());
  }
}

// The pattern is made of the op table's decomposition.
TEST(RulePrinterTest, DecompositionsReadBothWays) {
  const auto rules = ParseRules(
      "// x·min(1, …)\nrule swish definition {\n"
      "  hard_swish(%x) <-> decomposition\n}");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(PrintRules(*rules),
            "// swish\nrule swish definition {\n"
            "  hard_swish(%x)\n  -> decomposition\n}\n\n"
            "// swish_back\nrule swish_back definition {\n"
            "  mul(%x, max(min(add(div(%x, %c0), %c1), %c2), %c3))\n"
            "  -> hard_swish(%x)\n"
            "  where is(%c0, 6)\n  where is(%c1, 0.5)\n"
            "  where is(%c2, 1)\n  where is(%c3, 0)\n}\n");
  const auto again = ParseRules(PrintRules(*rules));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintRules(*again), PrintRules(*rules));
}

TEST(RulePrinterTest, OnlySomeDecompositionsAreRules) {
  const auto message = [](std::string_view rest) {
    const auto rules = ParseRules(StrCat("// a\nrule r ", rest));
    return std::string(Message(rules.status()));
  };
  EXPECT_EQ(message("definition { softmax(%x) {a} -> decomposition }"), "");
  for (const std::string_view wrong :
       {"definition { exp(%x) -> decomposition }",
        "definition { silu(neg(%x)) -> decomposition }",
        "definition { %x -> decomposition }",
        "exact { silu(%x) -> decomposition }"}) {
    EXPECT_NE(message(wrong).find("a decomposition is the definition of"),
              std::string::npos)
        << wrong << ": " << message(wrong);
  }
  EXPECT_NE(message("definition { softmax(%x) {axis = 1} <-> decomposition }")
                .find("not elementwise"),
            std::string::npos);
  EXPECT_NE(message("definition { gelu(%x) {a} <-> decomposition }")
                .find("attributes are numbers"),
            std::string::npos);
}

TEST(RulePrinterTest, NumbersAreReadBack) {
  const auto rules = ParseRules(
      "// a\nrule r exact { mul(%x, %c) -> %x where is(%c, -2.5e-3) }");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_NE(PrintRules(*rules).find("is(%c, -0.0025)"), std::string::npos)
      << PrintRules(*rules);
  EXPECT_FALSE(
      ParseRules("// a\nrule r exact { neg(%x) -> %x where is(%x, 1..5) }")
          .ok());
}

TEST(UserRulesTest, OneSpellingOfComments) {
  const auto a = ReadRulesFile(FileOf(kSine));
  ASSERT_TRUE(a.ok()) << a.status();
  const auto b = ReadRulesFile(FileOf(
      "// another comment\n// of two lines\nrule sine_of_negated   exact {\n"
      "neg(sin(neg( %x )))->sin(%x)\n\n// inside\n}"));
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_EQ(*a, *b);
  const auto c = ReadRulesFile(FileOf(
      "// a\nrule sine_of_negated exact { neg(sin(neg(%y))) -> sin(%y) }"));
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_NE(*a, *c);
}

TEST(UserRulesTest, ErrorsNameFileLineAndRemedy) {
  const std::string path =
      FileOf("// a\nrule r exact {\n  neg(%x) -> nag(%x)\n}\n");
  const auto rules = ReadRulesFile(path);
  EXPECT_EQ(rules.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Message(rules.status()).starts_with(StrCat(path, ":3:14: ")))
      << rules.status();
  EXPECT_NE(Message(rules.status()).find("opt/rules/README.md"),
            std::string::npos);
  EXPECT_FALSE(ReadRulesFile("/nowhere/x.rules").ok());
  EXPECT_FALSE(ReadRulesFile(FileOf("// nothing\n")).ok());
}

TEST(UserRulesTest, NamesOfTheBookAreTaken) {
  for (const std::string_view name : {"commute_sum", "merge_products"}) {
    const auto rules = ParseUserRules(
        StrCat("// a\nrule ", name, " exact { neg(neg(%x)) -> %x }"));
    EXPECT_EQ(Message(rules.status()),
              StrCat("rule ", name,
                     ": the book has a rule of that name (encore rules list); "
                     "choose another"));
  }
}

constexpr std::string_view kGraph =
    "graph g(%x: f32[1000]) -> f32[1000] {\n"
    "  %0 = neg(%x)\n  %1 = sin(%0)\n  %y = neg(%1)\n  return %y\n}\n";

TEST(UserRulesTest, ImproveAGraph) {
  const auto rules = ParseUserRules(kSine);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const Graph graph = ParsedGraph(kGraph);
  ImproveOptions options;
  options.level = RewriteLevel::kExact;
  const auto plain = Improve(graph, options);
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->has_value());
  ImproveReport report;
  options.user_rules = *rules;
  options.report = &report;
  const auto better = Improve(graph, options);
  ASSERT_TRUE(better.ok() && better->has_value()) << report.fault;
  EXPECT_EQ(Print(**better).find("neg"), std::string::npos) << Print(**better);
  ASSERT_EQ(report.rules.size(), 1u);
  EXPECT_EQ(report.rules[0].name, "sine_of_negated");
}

// Rules that make more and more nodes leave the book's as they are.
TEST(UserRulesTest, DoNotStarveTheBook) {
  const auto rules = ParseUserRules(
      "// a\nrule grow reassociating { %y = sin(%x) -> "
      "%y = sin(add(mul(%x, %y), sub(%x, mul(%x, sin(%x))))) }\n"
      "// b\nrule shrink reassociating { add(mul(%x, %y), sub(%x, %z)) -> %x "
      "}\n");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const Graph graph = ParsedGraph(
      "graph g(%a: f32[64,64], %b: f32[64,64], %x: f32[64,1]) -> f32[64,1] {\n"
      "  %0 = dot_general(%a, %b) {contract = [1]x[0]}\n"
      "  %1 = dot_general(%0, %x) {contract = [1]x[0]}\n"
      "  %2 = sin(%1)\n  %3 = sin(%2)\n  %y = sin(%3)\n  return %y\n}\n");
  ImproveReport alone, beside;
  ImproveOptions options;
  options.level = RewriteLevel::kReassociate;
  options.report = &alone;
  const auto plain = Improve(graph, options);
  ASSERT_TRUE(plain.ok() && plain->has_value());
  options.user_rules = *rules;
  options.report = &beside;
  const auto both = Improve(graph, options);
  ASSERT_TRUE(both.ok() && both->has_value()) << beside.fault;
  EXPECT_GT(beside.enodes, alone.enodes);
  EXPECT_LT(beside.enodes, alone.enodes + 3000);
  for (const ImproveReport::Rule& rule : alone.rules) {
    const auto it =
        std::ranges::find(beside.rules, rule.name, &ImproveReport::Rule::name);
    ASSERT_NE(it, beside.rules.end()) << rule.name;
    EXPECT_GE(it->count.applications, rule.count.applications) << rule.name;
  }
  EXPECT_LE(beside.cost_after, alone.cost_after);
}

// The last column of a wide pattern is looked at, too.
TEST(UserRulesTest, WidePatternsMatch) {
  constexpr int kParts = 300;
  std::string inputs, joined;
  for (int i = 0; i + 1 < kParts; ++i) {
    StrAppend(&inputs, "%p", i, ": f32[1], ");
    StrAppend(&joined, "%p", i, ", ");
  }
  const auto rules = ParseRules(StrCat("// wide\nrule wide exact {\n  concat(",
                                       joined, "sin(neg(%z))) {c} -> concat(",
                                       joined, "neg(sin(%z))) {c}\n}"));
  ASSERT_TRUE(rules.ok()) << rules.status();
  const Graph graph =
      ParsedGraph(StrCat("graph g(", inputs, "%z: f32[1]) -> f32[", kParts,
                         "] {\n  %n = neg(%z)\n  %s = sin(%n)\n  %y = concat(",
                         joined, "%s) {axis = 0}\n  return %y\n}"));
  ImproveReport report;
  ImproveOptions options;
  options.level = RewriteLevel::kExact;
  options.user_rules = *rules;
  options.report = &report;
  ASSERT_TRUE(Improve(graph, options).ok());
  EXPECT_TRUE(std::ranges::any_of(
      report.rules, [](const auto& rule) { return rule.name == "wide"; }));
}

}  // namespace
}  // namespace encore::opt
