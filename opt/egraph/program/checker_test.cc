#include "encore/opt/egraph/program/checker.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/diagnostics.h"
#include "encore/opt/egraph/program/naive_interpreter.h"
#include "gtest/gtest.h"

namespace encore::opt::program {
namespace {

using Files = std::map<std::string, std::string>;

// "ok", "rejected: WHERE: MESSAGE" or "unsupported: WHERE: MESSAGE".
std::string Check(std::string text, const Files& files = {}) {
  Diagnostics diagnostics;
  const Program program = CheckProgram(
      "dir/main.egg", std::move(text),
      [&](const std::string& path) -> std::optional<std::string> {
        const auto found = files.find(path);
        if (found == files.end()) return std::nullopt;
        return found->second;
      },
      &diagnostics);
  const auto describe = [&](std::string_view verdict, const Finding& finding) {
    return StrCat(verdict, ": ", Where(program, finding.position), ": ",
                  finding.message);
  };
  if (diagnostics.unsupported().has_value()) {
    return describe("unsupported", *diagnostics.unsupported());
  }
  if (diagnostics.rejected().has_value()) {
    return describe("rejected", *diagnostics.rejected());
  }
  return "ok";
}

constexpr std::string_view kMath =
    "(datatype Math (Num i64) (Var String) (Add Math Math))\n"
    "(relation edge (i64 i64))\n(relation R (Math))\n(ruleset rs)\n"
    "(let $g (Num 1))\n(let plain 7)\n";

std::string CheckMath(std::string_view text) {
  return Check(StrCat(kMath, text));
}

TEST(CheckerTest, AcceptsTheLanguage) {
  for (const std::string_view text :
       {"(datatype* (A (MkA B)) (B (MkB A) (NilB)))",
        "(constructor C (i64 f64 String bool Unit Math) Math :cost 3)",
        "(constructor C () Math :unextractable)",
        "(rewrite (Add a b) (Add b a) :ruleset rs :name \"comm\")",
        "(rewrite (Add a (Num 0)) a :when ((R a) (!= a $g)))",
        "(birewrite (Add a b) (Add b a))",
        "(rewrite p $g :when ((= p (Num 3))))",
        "(rule ((= x (+ y 1)) (edge y z) (< x z)) ((edge x z)))",
        "(rule ((Add _ _)) ())",
        "(rule () ((edge 1 2)))",
        "(rule ((= a b) (R b)) ((R a)))",
        "(rule ((edge x y)) ((let z (+ x y)) (edge z plain)))",
        "(run 3)",
        "(run rs 3 :until (edge 1 2) (edge 2 3))",
        "(run-schedule rs (run) (run rs :until (R $g)) "
        "(saturate rs (repeat 3 (seq rs rs))) (seq))",
        "(unstable-combined-ruleset both rs) (run both 1)",
        "(push) (push 3) (pop) (pop 2)",
        "(check)",
        "(check (= 1 1 1))",
        "(check (= x (Num 1)) (= x y))",
        "(fail (check (edge 1 2)))",
        "(fail (fail (check)))",
        "(extract (Add $g $g))",
        "(extract 3)",
        "(print-size) (print-size edge) (print-stats)",
        "(panic \"no\")",
        "(union $g (Num 2))",
        "(Num (- 3 plain))",
        "(edge plain -12)",
        "(explain $g (Num 1))",
        "; comment only",
        "(check (< 1.5 inf))",
        "(check (= (+ \"a\" \"b\") \"ab\"))",
        "(check (= () ()))",
        "(sort S) (constructor S0 () S) (push) (sort T) (pop) (sort T)"}) {
    EXPECT_EQ(CheckMath(text), "ok") << text;
  }
}

// Programs that are refused, and what the message says.
const std::pair<std::string_view, std::string_view> kRejected[] = {
    {"(", "never closed"},
    {")", "closes nothing"},
    {"\"abc", "without end quote"},
    {"\"a\\qb\"", "unknown escape \\q"},
    {"99999999999999999999", "does not fit"},
    {"(edge 1)", "edge takes 2 arguments and has 1"},
    {"(edge 1 2.5)", "sort f64 where i64"},
    {"(R 1)", "sort i64 where Math"},
    {"(foo 1)", "unknown constructor, relation or primitive foo"},
    {"(Num x)", "unbound name x"},
    {"(rule ((R x)) ((R y)))", "unbound name y"},
    {"(rule ((= x y)) ((edge x y)))", "variable x is not bound"},
    {"(rule ((= 1 (+ x x))) ())", "variable x is not bound"},
    {"(birewrite (Add x $g) x)", "variable x is not bound"},
    {"(rewrite x (Num 1))", "variable x is not bound"},
    {"(rewrite (edge a b) (edge b a))", "cannot be united"},
    {"(union 1 2)", "sort i64 cannot be united"},
    {"(sort Math)", "Math is declared already"},
    {"(relation edge (i64))", "edge is declared already"},
    {"(let $g 3)", "$g is declared already"},
    {"(let Num 3)", "Num is declared already"},
    {"(ruleset rs)", "rs is declared already"},
    {"(relation + (i64))", "+ is declared already"},
    {"(constructor f () i64)", "constructor f cannot make a i64"},
    {"(constructor f (Foo) Math)", "unknown sort Foo"},
    {"(constructor f () Math :cost -1)", ":cost wants"},
    {"(rule ((R x)) ((let x (Num 2))))", "variable x is bound already"},
    {"(rule ((R x)) ((let $g (Num 2))))", "variable $g has the name"},
    {"(rule ((R x)) ((let g (Num 2))))", "the name of the global $g"},
    {"(rule ((R g)) ())", "the name of the global $g"},
    {"(rule ((R edge)) ())", "variable edge has the name of a declaration"},
    {"(rule ((R x)) () :ruleset nope)", "no ruleset nope"},
    {"(rule ((R x)) () :frob 1)", "bad option :frob"},
    {"(run nope 3)", "no ruleset nope"},
    {"(run)", "usage: (run"},
    {"(run-schedule (saturate nope))", "no ruleset nope"},
    {"(run-schedule (repeat rs))", "usage: (repeat"},
    {"(check (= 1))", "= wants two"},
    {"(check (= 1 2.0))", "sort i64 where f64"},
    {"(check (R (= 1 1)))", "= stands only at the top"},
    {"(check (< \"a\" \"b\"))", "no primitive < on sort String"},
    {"(check (< $g $g))", "no primitive < on sort Math"},
    {"(check (!= x y))", "sort of this cannot be inferred"},
    {"(+ 1 2 3)", "+ takes 2 arguments and has 3"},
    {"((R) 1)", "a call must start with a name"},
    {"(print-size nope)", "no table nope"},
    {"(include \"nope.egg\")", "cannot read nope.egg"},
    {"(push) (sort T) (pop) (constructor t () T)", "unknown sort T"},
    {"(explain 1 2)", "explain wants terms"},
    {"(unstable-combined-ruleset c rs) (rule () () :ruleset c)",
     "combined ruleset c"},
};

TEST(CheckerTest, Rejects) {
  for (const auto& [text, message] : kRejected) {
    const std::string verdict = CheckMath(text);
    EXPECT_TRUE(verdict.starts_with("rejected: dir/main.egg:")) << verdict;
    EXPECT_NE(verdict.find(message), std::string::npos)
        << text << " gave " << verdict;
  }
}

TEST(CheckerTest, RefusesWhatIsOutsideTheSubset) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"(function f (i64) i64 :no-merge)", "command function"},
      {"(set (f 1) 2)", "action set"},
      {"(rule ((R x)) ((delete (R x))))", "action delete"},
      {"(subsume (Num 1))", "action subsume"},
      {"(rewrite (Num 1) (Num 2) :subsume)", "option :subsume"},
      {"(rule ((R x)) () :naive)", "option :naive"},
      {"(sort V (Vec i64))", "sort with parameters"},
      {"(datatype* (A (MkA)) (sort V (Vec A)))", "sort with parameters"},
      {"(constructor f (BigInt) Math)", "sort BigInt"},
      {"(check (= (sqrt 4.0) 2.0))", "primitive sqrt"},
      {"(check (= (+ \"a\" \"b\" \"c\") \"abc\"))", "primitive + of 3"},
      {"(check (= (^ 2.0 3.0) 8.0))", "primitive ^ on sort f64"},
      {"(check (guard (or true)))", "primitive or of 1"},
      {"(extract $g 10)", "extract with a number"},
      {"(print-function R 10)", "command print-function"},
      {"(fail (rule ((R x)) () :ruleset nope))", "no ruleset nope"},
      // Wins over errors before and after it.
      {"(foo) (input R \"f\") (bar)", "command input"},
      {"(input R \"f\") (", "command input"},
  };
  for (const auto& [text, message] : cases) {
    const std::string verdict = CheckMath(text);
    EXPECT_TRUE(verdict.starts_with("unsupported: dir/main.egg:")) << verdict;
    EXPECT_NE(verdict.find(message), std::string::npos)
        << text << " gave " << verdict;
  }
}

TEST(CheckerTest, RefusesWhatTheEngineCannotHold) {
  std::string facts;
  std::string columns;
  for (int i = 0; i < 300; ++i) {
    StrAppend(&facts, "(edge x", i, " x", i + 1, ")");
    columns += "i64 ";
  }
  for (const std::string& text :
       {StrCat("(rule (", facts, ") ())"), StrCat("(check ", facts, ")"),
        StrCat("(relation wide (", columns, "))")}) {
    EXPECT_TRUE(CheckMath(text).starts_with("unsupported: dir/main.egg:7:"))
        << CheckMath(text);
  }
  // Ground terms of a check are looked up, however many they are.
  std::string ground;
  for (int i = 0; i < 300; ++i) StrAppend(&ground, "(edge ", i, " ", i, ")");
  EXPECT_EQ(CheckMath(StrCat("(check ", ground, ")")), "ok");
}

TEST(CheckerTest, PositionsAreLinesAndColumns) {
  EXPECT_EQ(Check("(sort A)\n  (sort B)\n (sort A)"),
            "rejected: dir/main.egg:3:8: A is declared already");
}

TEST(CheckerTest, IncludesAreRelativeToTheFolderOrTheFile) {
  const Files files = {{"a.egg", "(sort A)"},
                       {"dir/b.egg", "(sort B) (include \"c.egg\")"},
                       {"dir/c.egg", "(sort C)"},
                       {"loop.egg", "(include \"loop.egg\")"}};
  EXPECT_EQ(Check("(include \"a.egg\") (include \"b.egg\")"
                  "(constructor f (A B C) A)",
                  files),
            "ok");
  EXPECT_EQ(Check("(include \"a.egg\") (sort A)", files),
            "rejected: dir/main.egg:1:25: A is declared already");
  EXPECT_EQ(Check("(include \"loop.egg\")", files),
            "rejected: loop.egg:1:1: too many files included");
}

TEST(CheckerTest, DepthIsNoLimit) {
  constexpr int kDepth = 300000;
  std::string term;
  for (int i = 0; i < kDepth; ++i) term += "(S ";
  term += "(Z)" + std::string(kDepth, ')');
  const std::string declarations = "(datatype N (Z) (S N))";
  EXPECT_EQ(Check(declarations + term), "ok");
  EXPECT_EQ(Check(declarations + "(check " + term + ")"), "ok");
  std::string schedule;
  for (int i = 0; i < kDepth; ++i) schedule += "(seq ";
  EXPECT_EQ(Check("(run-schedule " + schedule + std::string(kDepth, ')') + ")"),
            "ok");
  std::string fails;
  for (int i = 0; i < 1000; ++i) fails += "(fail ";
  EXPECT_EQ(Check(fails + "(check)" + std::string(1000, ')')), "ok");
  EXPECT_TRUE(Check(std::string(kDepth, '(')).starts_with("rejected"));
}

TEST(NaiveInterpreterTest, Paths) {
  Diagnostics diagnostics;
  const Program program = CheckProgram(
      "path.egg",
      "(relation edge (i64 i64)) (relation path (i64 i64))"
      "(rule ((edge x y)) ((path x y)))"
      "(rule ((path x y) (edge y z)) ((path x z)))"
      "(edge 1 2) (edge 2 3) (edge 3 4) (fail (check (path 1 2)))"
      "(run 3) (check (path 1 4)) (fail (check (path 4 1)))"
      "(print-size path) (print-size)",
      [](const std::string&) { return std::nullopt; }, &diagnostics);
  ASSERT_FALSE(diagnostics.rejected().has_value());
  NaiveInterpreter naive(program);
  EXPECT_TRUE(naive.Run());
  EXPECT_EQ(naive.lines(),
            (std::vector<std::string>{"6", "((edge 3) (path 6))"}));
}

}  // namespace
}  // namespace encore::opt::program
