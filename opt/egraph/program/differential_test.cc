// Random programs: the engine against the naive interpreter. They must agree
// on which command fails, on every size that is printed, on the rows of every
// table, on the number of classes, on which globals are equal, and on the cost
// of what is extracted.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/checker.h"
#include "encore/opt/egraph/program/diagnostics.h"
#include "encore/opt/egraph/program/executor.h"
#include "encore/opt/egraph/program/naive_interpreter.h"
#include "encore/opt/egraph/program/program_generator.h"
#include "gtest/gtest.h"

namespace encore::opt::program {
namespace {

constexpr uint64_t kNumPrograms = 4000;
constexpr size_t kMaxRows = 300;

std::optional<std::string> NoFiles(const std::string&) { return std::nullopt; }

// The checked program, or nothing with a test failure.
std::optional<Program> CheckOrFail(const std::string& text) {
  Diagnostics diagnostics;
  Program program = CheckProgram("random.egg", text, NoFiles, &diagnostics);
  for (const auto* found :
       {&diagnostics.rejected(), &diagnostics.unsupported()}) {
    if (!found->has_value()) continue;
    ADD_FAILURE() << Where(program, (*found)->position) << ": "
                  << (*found)->message << "\n"
                  << text;
    return std::nullopt;
  }
  return program;
}

// Globals of declared sorts that live to the end.
std::vector<GlobalId> LastingGlobals(const Program& program) {
  std::vector<GlobalId> globals;
  for (GlobalId g = 0; g < program.globals.size(); ++g) {
    if (IsClassSort(program.globals[g].sort) &&
        program.Name(program.globals[g].name).starts_with("$g")) {
      globals.push_back(g);
    }
  }
  return globals;
}

// Cost of a term without variables.
uint64_t TreeCost(const Program& program, ExprId root) {
  uint64_t cost = 0;
  for (ExprId e = program.exprs[root].first; e <= root; ++e) {
    const Expr& expr = program.exprs[e];
    cost += expr.kind == ExprKind::kTable ? program.tables[expr.index].cost : 1;
  }
  return cost;
}

void ExpectSameState(const Program& program, const NaiveInterpreter& naive,
                     const Executor& engine) {
  for (TableId t = 0; t < program.tables.size(); ++t) {
    EXPECT_EQ(naive.NumRows(t), engine.NumRows(t))
        << program.Name(program.tables[t].name);
  }
  EXPECT_EQ(naive.NumEnodes(), engine.Stats().enodes);
  EXPECT_EQ(naive.NumClasses(), engine.Stats().classes);
  const std::vector<GlobalId> globals = LastingGlobals(program);
  for (const GlobalId a : globals) {
    for (const GlobalId b : globals) {
      if (program.globals[a].sort != program.globals[b].sort) continue;
      EXPECT_EQ(naive.SameGlobals(a, b), engine.SameGlobals(a, b))
          << program.Name(program.globals[a].name) << " "
          << program.Name(program.globals[b].name);
    }
  }
}

// Extracts each global with the engine; the term must be equal to it for the
// naive interpreter, and of the cost that the naive interpreter finds.
void ExpectSameCosts(const std::string& text, const Program& program) {
  for (const GlobalId g : LastingGlobals(program)) {
    const std::string_view name = program.Name(program.globals[g].name);
    const auto with_extract =
        CheckOrFail(StrCat(text, "(extract ", name, ")\n"));
    ASSERT_TRUE(with_extract.has_value());
    NaiveInterpreter naive(*with_extract);
    std::vector<std::string> lines;
    Executor engine(*with_extract, {}, [&](std::string_view line) {
      if (line != "\n") lines.emplace_back(line);
    });
    const bool extracted = naive.Run();
    ASSERT_EQ(extracted, !engine.Run().has_value());
    if (!extracted) continue;
    const auto with_check =
        CheckOrFail(StrCat(text, "(check (= ", name, " ", lines.back(), "))"));
    ASSERT_TRUE(with_check.has_value());
    EXPECT_TRUE(NaiveInterpreter(*with_check).Run()) << lines.back();
    EXPECT_EQ(StrCat(TreeCost(*with_check,
                              with_check->queries.back().facts[0].chain[1])),
              naive.lines().back())
        << lines.back();
  }
}

// With explanations recorded, the program must do the same, and each equality
// of lasting globals must have an explanation, in terms of the program.
void ExpectExplanations(const std::string& text, const Program& program,
                        const NaiveInterpreter& naive) {
  std::string explains;
  const std::vector<GlobalId> globals = LastingGlobals(program);
  for (const GlobalId a : globals) {
    for (const GlobalId b : globals) {
      const bool same = naive.SameGlobals(a, b);
      if (program.globals[a].sort != program.globals[b].sort) continue;
      StrAppend(&explains, same ? "(explain " : "(fail (explain ",
                program.Name(program.globals[a].name), " ",
                program.Name(program.globals[b].name), same ? ")\n" : "))\n");
    }
  }
  const auto with_explain = CheckOrFail(text + explains);
  ASSERT_TRUE(with_explain.has_value());
  std::string printed;
  Executor engine(*with_explain, {.explanations = true},
                  [&](std::string_view output) { printed += output; });
  const std::optional<Finding> failure = engine.Run();
  EXPECT_FALSE(failure.has_value()) << failure->message;
  EXPECT_EQ(printed.find("(global "), std::string::npos) << printed;
  ExpectSameState(program, naive, engine);
}

// False where the program is too large for the naive interpreter.
bool Compare(const std::string& text, bool thorough) {
  const std::optional<Program> program = CheckOrFail(text);
  if (!program.has_value()) return true;
  NaiveInterpreter naive(*program, kMaxRows);
  const bool succeeded = naive.Run();
  if (naive.gave_up()) return false;
  std::string printed;
  Executor engine(*program, {},
                  [&](std::string_view output) { printed += output; });
  const std::optional<Finding> failure = engine.Run();
  EXPECT_EQ(succeeded, !failure.has_value())
      << (failure.has_value() ? failure->message : "");
  if (!succeeded && failure.has_value()) {
    EXPECT_EQ(program->commands[*naive.failed_command()].position.offset,
              failure->position.offset)
        << failure->message;
  }
  EXPECT_EQ(StrJoin(naive.lines(), "\n") + (naive.lines().empty() ? "" : "\n"),
            printed);
  // A check that fails leaves the state it looked at.
  const bool comparable =
      succeeded ||
      program->commands[*naive.failed_command()].kind == CommandKind::kCheck;
  if (comparable) ExpectSameState(*program, naive, engine);
  if (succeeded && thorough) {
    ExpectSameCosts(text, *program);
    ExpectExplanations(text, *program, naive);
  }
  return true;
}

TEST(DifferentialTest, EngineAgreesWithTheNaiveInterpreter) {
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < kNumPrograms; ++seed) {
    const std::string text = RandomProgram(seed);
    compared += Compare(text, seed % 8 == 0) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(compared, kNumPrograms / 2);
}

}  // namespace
}  // namespace encore::opt::program
