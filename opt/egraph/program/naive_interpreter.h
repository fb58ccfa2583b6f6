// NaiveInterpreter: a slow and obvious interpreter of programs, the oracle of
// the tests.
//
// Tables are maps from rows to values, congruence is a fixpoint over all rows,
// matching tries every row for every atom, and each iteration looks at
// everything. It shares the checked program and the primitives with the
// product, and nothing else: no engine, no query planning, no change tracking.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_NAIVE_INTERPRETER_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_NAIVE_INTERPRETER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/naive_matcher.h"

namespace encore::opt::program {

class NaiveInterpreter {
 public:
  // `program` must outlive this; it may be run when its check found nothing.
  // It gives up where there are more than `max_rows` rows or about as many
  // matches in one iteration.
  explicit NaiveInterpreter(
      const Program& program,
      size_t max_rows = std::numeric_limits<size_t>::max());

  // Runs all commands up to the first that fails; whether none did.
  bool Run();
  // After Run: whether it gave up; nothing else means anything then.
  bool gave_up() const { return gave_up_; }
  // After Run: the command that failed, if one did.
  std::optional<size_t> failed_command() const { return failed_command_; }
  // What extract would print as cost, and what print-size prints, one line a
  // command; nothing for other commands.
  const std::vector<std::string>& lines() const { return lines_; }

  uint64_t NumRows(TableId table) const;
  uint64_t NumEnodes() const;
  uint64_t NumClasses() const;
  bool SameGlobals(GlobalId a, GlobalId b) const;

 private:
  using Row = NaiveMatcher::Row;
  using Values = NaiveMatcher::Values;

  struct State {
    std::vector<uint64_t> parents;
    NaiveMatcher::Tables tables;
    std::vector<uint64_t> globals;              // by global
    std::vector<std::vector<RuleId>> rulesets;  // by ruleset
  };

  bool RunCommand(const Command& command);
  bool RunAction(const Action& action, Values* variables, bool top);
  bool RunSchedule(uint32_t index, bool* changed);
  bool RunRuleset(const Schedule& run, bool* changed);
  void CollectRules(RulesetId ruleset, std::vector<RuleId>* rules) const;
  bool Pop(uint64_t count);

  std::optional<uint64_t> Evaluate(ExprId e, const Values& variables);
  std::vector<Values> Match(const Query& query);

  uint64_t Find(uint64_t c) const;
  void Union(uint64_t a, uint64_t b);
  uint64_t Canonical(SortId sort, uint64_t value) const;
  void RestoreCongruence();
  std::optional<uint64_t> LeastCost(SortId sort, uint64_t value) const;

  const Program& program_;
  const size_t max_rows_;
  bool gave_up_ = false;
  State state_;
  std::vector<State> saved_;
  uint64_t changes_ = 0;  // rows added and classes united, ever
  std::optional<size_t> failed_command_;
  std::vector<std::string> lines_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_NAIVE_INTERPRETER_H_
