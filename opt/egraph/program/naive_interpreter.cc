#include "encore/opt/egraph/program/naive_interpreter.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/primitives.h"
#include "encore/opt/egraph/program/sorts.h"

namespace encore::opt::program {

NaiveInterpreter::NaiveInterpreter(const Program& program, size_t max_rows)
    : program_(program), max_rows_(max_rows) {
  state_.tables.resize(program.tables.size());
  state_.globals.resize(program.globals.size());
  state_.rulesets.resize(program.rulesets.size());
}

bool NaiveInterpreter::Run() {
  for (size_t c = 0; c < program_.commands.size(); ++c) {
    const Command& command = program_.commands[c];
    const bool succeeded = RunCommand(command);
    RestoreCongruence();
    if (gave_up_) return false;
    if (succeeded == (command.fails % 2 == 0)) continue;
    failed_command_ = c;
    return false;
  }
  return true;
}

bool NaiveInterpreter::RunCommand(const Command& command) {
  Values none;
  switch (command.kind) {
    case CommandKind::kDeclare:
    case CommandKind::kPrintStats:
      return true;
    case CommandKind::kRules:
      for (uint64_t r = 0; r < command.count; ++r) {
        const auto rule = static_cast<RuleId>(command.index + r);
        state_.rulesets[program_.rules[rule].ruleset].push_back(rule);
      }
      return true;
    case CommandKind::kAction:
      return RunAction(program_.actions[command.index], &none, true);
    case CommandKind::kRun: {
      bool changed = false;
      return RunSchedule(command.index, &changed);
    }
    case CommandKind::kPush:
      for (uint64_t n = 0; n < command.count; ++n) saved_.push_back(state_);
      return true;
    case CommandKind::kPop:
      return Pop(command.count);
    case CommandKind::kCheck:
      return !Match(program_.queries[command.index]).empty();
    case CommandKind::kExtract: {
      const auto value = Evaluate(command.index, none);
      if (!value.has_value()) return false;
      RestoreCongruence();
      const SortId sort = program_.exprs[command.index].sort;
      const auto cost = LeastCost(sort, Canonical(sort, *value));
      if (cost.has_value()) lines_.push_back(StrCat(*cost));
      return cost.has_value();
    }
    case CommandKind::kExplain: {
      const auto a = Evaluate(command.index, none);
      const auto b = Evaluate(command.other, none);
      RestoreCongruence();
      return a.has_value() && b.has_value() && Find(*a) == Find(*b);
    }
    case CommandKind::kPrintSize:
      lines_.push_back(StrCat(NumRows(command.index)));
      return true;
    case CommandKind::kPrintSizes: {
      std::string line = "(";
      for (const TableId table : program_.table_lists[command.index]) {
        StrAppend(&line, line.size() > 1 ? " (" : "(",
                  program_.Name(program_.tables[table].name), " ",
                  NumRows(table), ")");
      }
      lines_.push_back(line + ")");
      return true;
    }
  }
  return false;
}

bool NaiveInterpreter::Pop(uint64_t count) {
  if (count > saved_.size()) return false;
  if (count == 0) return true;
  state_ = saved_[saved_.size() - count];
  saved_.resize(saved_.size() - count);
  return true;
}

bool NaiveInterpreter::RunAction(const Action& action, Values* variables,
                                 bool top) {
  if (action.kind == ActionKind::kPanic) return false;
  const auto left = Evaluate(action.left, *variables);
  if (!left.has_value()) return false;
  if (action.kind == ActionKind::kLet && top) {
    state_.globals[action.variable] = *left;
  } else if (action.kind == ActionKind::kLet) {
    (*variables)[action.variable] = *left;
  } else if (action.kind == ActionKind::kUnion) {
    const auto right = Evaluate(action.right, *variables);
    if (!right.has_value()) return false;
    Union(*left, *right);
  }
  return true;
}

bool NaiveInterpreter::RunSchedule(uint32_t index, bool* changed) {
  const Schedule& schedule = program_.schedules[index];
  if (schedule.kind == ScheduleKind::kRun) return RunRuleset(schedule, changed);
  uint64_t times = UINT64_MAX;
  if (schedule.kind == ScheduleKind::kSequence) times = 1;
  if (schedule.kind == ScheduleKind::kRepeat) times = schedule.count;
  for (uint64_t n = 0; n < times; ++n) {
    bool pass_changed = false;
    for (uint32_t child = index + 1; child < schedule.end;
         child = program_.schedules[child].end) {
      if (!RunSchedule(child, &pass_changed)) return false;
    }
    *changed |= pass_changed;
    if (!pass_changed) break;
  }
  return true;
}

void NaiveInterpreter::CollectRules(RulesetId ruleset,
                                    std::vector<RuleId>* rules) const {
  for (const RuleId rule : state_.rulesets[ruleset]) {
    if (std::find(rules->begin(), rules->end(), rule) == rules->end()) {
      rules->push_back(rule);
    }
  }
  for (const RulesetId part : program_.rulesets[ruleset].parts) {
    CollectRules(part, rules);
  }
}

bool NaiveInterpreter::RunRuleset(const Schedule& run, bool* changed) {
  if (run.until.has_value() && !Match(program_.queries[*run.until]).empty()) {
    return true;
  }
  std::vector<RuleId> rules;
  CollectRules(run.ruleset, &rules);
  std::vector<std::vector<Values>> matches;
  for (const RuleId rule : rules) {
    matches.push_back(Match(program_.rules[rule].query));
    if (gave_up_) return false;
  }
  const uint64_t before = changes_;
  bool succeeded = true;
  for (size_t r = 0; r < rules.size() && succeeded; ++r) {
    for (Values& variables : matches[r]) {
      for (const Action& action : program_.rules[rules[r]].actions) {
        succeeded = succeeded && RunAction(action, &variables, false);
      }
    }
  }
  RestoreCongruence();
  size_t rows = 0;
  for (const auto& table : state_.tables) rows += table.size();
  gave_up_ |= rows > max_rows_;
  *changed |= changes_ != before;
  return succeeded && !gave_up_;
}

std::optional<uint64_t> NaiveInterpreter::Evaluate(ExprId e,
                                                   const Values& variables) {
  const ExprId first = program_.exprs[e].first;
  std::vector<uint64_t> values(e - first + 1);
  std::vector<ExprId> arguments;
  for (ExprId i = first; i <= e; ++i) {
    const Expr& expr = program_.exprs[i];
    Arguments(program_, i, &arguments);
    Row row;
    for (const ExprId a : arguments) {
      row.push_back(Canonical(program_.exprs[a].sort, values[a - first]));
    }
    switch (expr.kind) {
      case ExprKind::kVariable:
        values[i - first] = *variables[expr.index];
        break;
      case ExprKind::kGlobal:
        values[i - first] = state_.globals[expr.index];
        break;
      case ExprKind::kLiteral:
        values[i - first] = expr.literal;
        break;
      case ExprKind::kTable: {
        auto& table = state_.tables[expr.index];
        const auto found = table.find(row);
        if (found != table.end()) {
          values[i - first] = found->second;
          break;
        }
        ++changes_;
        const bool relation = program_.tables[expr.index].relation;
        const uint64_t value = relation ? 0 : state_.parents.size();
        if (!relation) state_.parents.push_back(value);
        values[i - first] = table[row] = value;
        break;
      }
      case ExprKind::kPrimitive: {
        const auto value = program::Evaluate(static_cast<Primitive>(expr.index),
                                             program_.exprs[arguments[0]].sort,
                                             row, program_.names.get());
        if (!value.has_value()) return std::nullopt;
        values[i - first] = *value;
      }
    }
  }
  return values.back();
}

std::vector<NaiveInterpreter::Values> NaiveInterpreter::Match(
    const Query& query) {
  const auto global = [this](GlobalId id) {
    return Canonical(program_.globals[id].sort, state_.globals[id]);
  };
  const NaiveMatcher matcher(program_, state_.tables, global, max_rows_);
  std::optional<std::vector<Values>> matches = matcher.Match(query);
  if (matches.has_value()) return *std::move(matches);
  gave_up_ = true;
  return {};
}

uint64_t NaiveInterpreter::Find(uint64_t c) const {
  while (state_.parents[c] != c) c = state_.parents[c];
  return c;
}

void NaiveInterpreter::Union(uint64_t a, uint64_t b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return;
  ++changes_;
  state_.parents[std::max(a, b)] = std::min(a, b);
}

uint64_t NaiveInterpreter::Canonical(SortId sort, uint64_t value) const {
  return IsClassSort(sort) ? Find(value) : value;
}

void NaiveInterpreter::RestoreCongruence() {
  for (bool changed = true; changed;) {
    changed = false;
    for (TableId t = 0; t < state_.tables.size(); ++t) {
      const Table& table = program_.tables[t];
      std::map<Row, uint64_t> rows;
      for (const auto& [row, value] : state_.tables[t]) {
        Row canonical;
        for (size_t a = 0; a < row.size(); ++a) {
          canonical.push_back(Canonical(table.arguments[a], row[a]));
        }
        const uint64_t result = Canonical(table.result, value);
        const auto [at, fresh] = rows.emplace(canonical, result);
        if (!fresh && at->second != result) Union(at->second, result);
        changed |= !fresh || canonical != row || result != value;
      }
      state_.tables[t] = std::move(rows);
    }
  }
}

std::optional<uint64_t> NaiveInterpreter::LeastCost(SortId sort,
                                                    uint64_t value) const {
  if (!IsClassSort(sort)) return 1;
  std::map<uint64_t, uint64_t> costs;  // by class
  for (bool changed = true; changed;) {
    changed = false;
    for (TableId t = 0; t < state_.tables.size(); ++t) {
      const Table& table = program_.tables[t];
      if (table.relation || table.unextractable) continue;
      for (const auto& [row, result] : state_.tables[t]) {
        uint64_t cost = table.cost;
        bool known = true;
        for (size_t a = 0; a < row.size() && known; ++a) {
          const bool is_class = IsClassSort(table.arguments[a]);
          known = !is_class || costs.contains(row[a]);
          if (known) cost += is_class ? costs.at(row[a]) : 1;
        }
        if (!known) continue;
        const auto [at, fresh] = costs.emplace(result, cost);
        changed |= fresh || cost < at->second;
        at->second = std::min(at->second, cost);
      }
    }
  }
  const auto found = costs.find(value);
  if (found == costs.end()) return std::nullopt;
  return found->second;
}

uint64_t NaiveInterpreter::NumRows(TableId table) const {
  return state_.tables[table].size();
}

uint64_t NaiveInterpreter::NumEnodes() const {
  uint64_t rows = 0;
  for (TableId t = 0; t < state_.tables.size(); ++t) {
    if (!program_.tables[t].relation) rows += NumRows(t);
  }
  return rows;
}

uint64_t NaiveInterpreter::NumClasses() const {
  std::set<uint64_t> classes;
  for (TableId t = 0; t < state_.tables.size(); ++t) {
    if (program_.tables[t].relation) continue;
    for (const auto& [row, value] : state_.tables[t]) classes.insert(value);
  }
  return classes.size();
}

bool NaiveInterpreter::SameGlobals(GlobalId a, GlobalId b) const {
  const SortId sort = program_.globals[a].sort;
  return sort == program_.globals[b].sort &&
         Canonical(sort, state_.globals[a]) ==
             Canonical(sort, state_.globals[b]);
}

}  // namespace encore::opt::program
