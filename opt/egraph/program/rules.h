// RuleChecker: facts, actions, rewrites and rules.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_RULES_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_RULES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/expressions.h"

namespace encore::opt::program {

// An option ":name value...".
struct Option {
  uint32_t name;  // node
  std::vector<uint32_t> values;
};

class RuleChecker {
 public:
  // `context` must outlive this.
  explicit RuleChecker(CheckContext* context)
      : context_(*context), builder_(context) {}

  // (rule ...), (rewrite ...), (birewrite ...) at node `i`: adds rules to the
  // program. Returns how many; 0 where it is wrong.
  uint32_t CheckRule(uint32_t i);
  uint32_t CheckRewrite(uint32_t i, bool both_ways);

  // Facts that share variables; adds a query to the program and returns its
  // index.
  std::optional<uint32_t> CheckQuery(std::span<const uint32_t> facts);

  // One action at the top level, but for let; nothing where it is wrong.
  std::optional<Action> CheckAction(uint32_t i);
  // Expressions without variables that stand for themselves, of one sort.
  std::optional<std::vector<ExprId>> CheckTerms(
      std::span<const uint32_t> terms);

  // The options among `elements` from `first` on; nothing where one has no
  // name.
  std::optional<std::vector<Option>> ParseOptions(
      std::span<const uint32_t> elements, size_t first);
  // Reports an option that is unknown or not supported.
  void BadOption(const Option& option);

 private:
  struct RewriteOptions {
    std::vector<uint32_t> conditions;
    RulesetId ruleset = kUnnamedRuleset;
    std::string name;
  };

  // Appends the fact at node `i`, and what it implies.
  void BuildFact(uint32_t i, std::vector<Fact>* facts);
  void EquateRows(const Fact& fact, uint32_t i, std::vector<Fact>* facts);
  Action BuildAction(uint32_t i);
  bool FinishRule(Rule* rule, uint32_t num_bound, uint32_t i);
  bool FinishQuery(Query* query, uint32_t num_bound, uint32_t i);
  // What the engine can hold: see kMaxConditions and kMaxColumns.
  bool FitsEngine(const Query& query, std::span<const Action> actions,
                  uint32_t i);
  bool UnionsAreOfClasses(std::span<const Action> actions);
  bool AddRewrite(uint32_t i, uint32_t from, uint32_t to,
                  const RewriteOptions& options);
  bool ReadCommonOption(const Option& option, RulesetId* ruleset,
                        std::string* name);

  CheckContext& context_;
  ExpressionBuilder builder_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_RULES_H_
