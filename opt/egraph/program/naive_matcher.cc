#include "encore/opt/egraph/program/naive_matcher.h"

#include <algorithm>
#include <limits>

#include "encore/ir/support/check.h"
#include "encore/opt/egraph/program/primitives.h"

namespace encore::opt::program {

std::vector<NaiveMatcher::Condition> NaiveMatcher::Conditions(
    const Query& query, ExprId base) const {
  using Kind = Condition::Kind;
  const size_t num_variables = query.variables.size();
  const auto slot = [&](ExprId e) { return num_variables + (e - base); };
  std::vector<Condition> conditions;
  std::vector<ExprId> arguments;
  for (const Fact& fact : query.facts) {
    const SortId sort = program_.exprs[fact.chain[0]].sort;
    for (const ExprId member : fact.chain) {
      for (ExprId e = program_.exprs[member].first; e <= member; ++e) {
        const Expr& expr = program_.exprs[e];
        Condition condition{.kind = Kind::kConstant, .expr = e};
        condition.out = slot(e);
        condition.constant = expr.literal;
        if (expr.kind == ExprKind::kGlobal) {
          condition.constant = global_(expr.index);
        } else if (expr.kind == ExprKind::kVariable) {
          condition.kind = Kind::kEqual;
          condition.arguments = {expr.index};
        } else if (expr.kind != ExprKind::kLiteral) {
          condition.kind =
              expr.kind == ExprKind::kTable ? Kind::kTable : Kind::kPrimitive;
          Arguments(program_, e, &arguments);
          for (const ExprId a : arguments) {
            condition.arguments.push_back(slot(a));
          }
        }
        conditions.push_back(condition);
      }
      if (member == fact.chain[0]) continue;
      Condition equal{.kind = Kind::kEqual};
      equal.arguments = {slot(fact.chain[0])};
      equal.out = slot(member);
      conditions.push_back(equal);
    }
    if (fact.chain.size() == 1 && sort == kBoolSort) {
      Condition holds{.kind = Kind::kConstant};
      holds.out = slot(fact.chain[0]);
      holds.constant = 1;
      conditions.push_back(holds);
    }
  }
  return conditions;
}

bool NaiveMatcher::Ready(const Condition& condition, const Values& known) {
  const auto is_known = [&](size_t slot) { return known[slot].has_value(); };
  switch (condition.kind) {
    case Condition::Kind::kConstant:
    case Condition::Kind::kTable:
      return true;
    case Condition::Kind::kEqual:
      return is_known(condition.out) || is_known(condition.arguments[0]);
    case Condition::Kind::kPrimitive:
      return std::all_of(condition.arguments.begin(), condition.arguments.end(),
                         is_known);
  }
  return false;
}

std::optional<std::vector<NaiveMatcher::Values>> NaiveMatcher::Extend(
    const Condition& condition, const std::vector<Values>& environments) const {
  std::vector<Values> extended;
  // Sets a slot, or says whether it has that value already.
  const auto put = [](Values* values, size_t slot, uint64_t value) {
    if (!(*values)[slot].has_value()) (*values)[slot] = value;
    return *(*values)[slot] == value;
  };
  for (Values values : environments) {
    if (extended.size() > max_rows_) return std::nullopt;
    switch (condition.kind) {
      case Condition::Kind::kConstant:
        if (!put(&values, condition.out, condition.constant)) continue;
        break;
      case Condition::Kind::kEqual: {
        const size_t from = condition.arguments[0];
        if (!values[from].has_value()) values[from] = values[condition.out];
        if (!put(&values, condition.out, *values[from])) continue;
        break;
      }
      case Condition::Kind::kPrimitive: {
        Row row;
        for (const size_t slot : condition.arguments) {
          row.push_back(*values[slot]);
        }
        const Expr& expr = program_.exprs[condition.expr];
        const auto value = program::Evaluate(
            static_cast<Primitive>(expr.index),
            program_.exprs[condition.expr - 1].sort, row, program_.names.get());
        if (!value.has_value() || !put(&values, condition.out, *value)) {
          continue;
        }
        break;
      }
      case Condition::Kind::kTable:
        for (const auto& [row, result] :
             tables_[program_.exprs[condition.expr].index]) {
          Values candidate = values;
          bool fits = put(&candidate, condition.out, result);
          for (size_t a = 0; a < row.size() && fits; ++a) {
            fits = put(&candidate, condition.arguments[a], row[a]);
          }
          if (fits) extended.push_back(std::move(candidate));
        }
        continue;
    }
    extended.push_back(std::move(values));
  }
  return extended;
}

std::optional<std::vector<NaiveMatcher::Values>> NaiveMatcher::Match(
    const Query& query) const {
  ExprId base = std::numeric_limits<ExprId>::max();
  ExprId end = 0;
  for (const Fact& fact : query.facts) {
    for (const ExprId member : fact.chain) {
      base = std::min(base, program_.exprs[member].first);
      end = std::max(end, member + 1);
    }
  }
  const size_t num_variables = query.variables.size();
  const size_t num_slots = num_variables + (end > base ? end - base : 0);
  std::vector<Condition> conditions = Conditions(query, base);
  std::vector<Values> environments = {Values(num_slots)};
  while (!conditions.empty() && !environments.empty()) {
    // Tables last, so that what is known is used first.
    auto next = conditions.end();
    for (auto c = conditions.begin(); c != conditions.end(); ++c) {
      if (!Ready(*c, environments[0])) continue;
      const bool better =
          next == conditions.end() || next->kind == Condition::Kind::kTable;
      if (better) next = c;
      if (next->kind != Condition::Kind::kTable) break;
    }
    ENCORE_CHECK(next != conditions.end()) << "a variable is never bound";
    const Condition condition = *next;
    conditions.erase(next);
    std::optional<std::vector<Values>> extended =
        Extend(condition, environments);
    if (!extended.has_value()) return std::nullopt;
    environments = *std::move(extended);
  }
  return environments;
}

}  // namespace encore::opt::program
