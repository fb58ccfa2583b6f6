// Executor: runs a checked program on the engine.
//
// Commands run in order; what they print goes to the output as it is made. A
// run ends at the first command that fails. Top-level commands and iterations
// leave the graph rebuilt. Limits end the schedule that runs into them, not the
// program: the commands after it see what was reached.
//
// Not thread-safe.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_EXECUTOR_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_EXECUTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/match/term_text.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/diagnostics.h"
#include "encore/opt/egraph/program/explanations.h"
#include "encore/opt/egraph/program/language_map.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/tree_cost.h"

namespace encore::opt::program {

struct ExecutorOptions {
  // Of constructors and relations, without the rows of globals.
  size_t max_nodes = std::numeric_limits<size_t>::max();
  double max_seconds = std::numeric_limits<double>::infinity();
  // Records why terms are equal, which a program with (explain ...) forces, and
  // explains the equations of terms without variables in every check.
  bool explanations = false;
  // Where set, (extract ...) chooses the least DAG cost instead of the least
  // tree cost, with that much work (opt/extract/extract.h) for each.
  std::optional<uint64_t> dag_work{};
  const std::atomic<bool>* interrupt = nullptr;  // stops runs when true
};

struct ExecutorStats {
  uint64_t enodes = 0;   // rows of all constructor tables
  uint64_t classes = 0;  // distinct classes among their values
  uint64_t iterations = 0;
  double seconds = 0;  // since construction
  uint64_t peak_bytes = 0;
  std::string_view stop;  // "end", "failed" or the limit that was reached
};

class Executor {
 public:
  using Output = std::function<void(std::string_view)>;

  // `program`, found right by its check, must outlive this.
  Executor(const Program& program, const ExecutorOptions& options,
           Output output);

  // Runs the program; where a command failed, which and why. To be called once.
  std::optional<Finding> Run();

  ExecutorStats Stats() const;
  const egraph::EGraph& graph() const { return state_.graph; }
  uint64_t NumRows(TableId table) const;
  // REQUIRES that both are defined and of one sort.
  bool SameGlobals(GlobalId a, GlobalId b) const;

 private:
  // What push saves and pop restores.
  struct State {
    egraph::EGraph graph;
    egraph::RuleBook rules;
    std::vector<std::vector<egraph::RuleId>> rulesets;  // by ruleset
    std::vector<bool> full_matching;                    // by engine's rule
    std::vector<egraph::Value> globals;                 // by global
    // That commands made, where explanations are recorded.
    std::vector<ClassPair> unions;
    uint64_t num_class_globals = 0;  // each has a row that is no e-node

    State Clone() const;
  };
  struct Snapshot {
    State state;
    uint64_t count;  // of pushes that saved this same state
  };

  static State MakeState(const Program& program,
                         const ExecutorOptions& options);
  Status RunCommand(const Command& command);
  Status AddRules(const Command& command);
  Status RunAction(const Action& action);
  void Unite(egraph::ClassId a, egraph::ClassId b);
  Status RunSchedule(uint32_t root);
  // One iteration, or none where :until holds. Sets `*changed` where something
  // changed, `*stopped` where a limit was reached.
  Status RunRuleset(const Schedule& run, bool* changed, bool* stopped);
  std::vector<egraph::RuleId> RulesOf(RulesetId ruleset) const;
  // Cancelled where `stop` said true.
  StatusOr<bool> Holds(const Query& query, const std::function<bool()>& stop);
  Status Push(uint64_t count);
  Status Pop(uint64_t count);
  Status Extract(ExprId e);
  StatusOr<std::string> ExtractDag(egraph::ClassId c) const;
  egraph::LiteralTextFn LiteralTexts() const;
  Status Explain(ExprId a, ExprId b);
  Status Check(const Query& query);
  bool HasVariables(ExprId root) const;
  void PrintSizes(const std::vector<TableId>& tables);
  void PrintStats();

  // REQUIRES a built-in sort.
  std::string LiteralText(SortId sort, egraph::Value value) const;
  // The value of an expression without variables, inserting its rows.
  StatusOr<egraph::Value> Evaluate(ExprId e);
  std::string RuleName(const Rule& rule) const;

  const Program& program_;
  Output output_;
  const bool explain_checks_;
  const size_t max_nodes_;
  const std::optional<uint64_t> dag_work_;
  State state_;
  LanguageMap map_;
  egraph::Runner runner_;  // of state_
  std::vector<Snapshot> saved_;
  uint64_t saved_count_ = 0;
  std::unique_ptr<egraph::TreeCosts> costs_;  // of graph version costs_of_
  uint64_t costs_of_ = 0;
  uint64_t peak_bytes_ = 0;  // of graphs that were dropped
  std::string_view stop_ = "end";
  std::vector<egraph::Value> values_;
  std::vector<ExprId> arguments_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_EXECUTOR_H_
