#include "encore/opt/egraph/program/rule_lowering.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/opt/egraph/core/literals.h"

namespace encore::opt::program {
namespace {

using egraph::Slot;

class Lowering {
 public:
  Lowering(const Program& program, const Query& query, std::string_view name,
           const LanguageMap& map, std::span<const egraph::Value> globals,
           egraph::Language* language)
      : program_(program),
        query_(query),
        map_(map),
        globals_(globals),
        language_(*language),
        rule_(name),
        variables_(query.variables.size()) {}

  // Terms in `ground` are constants.
  void LowerFacts(const GroundValues& ground) {
    for (const Fact& fact : query_.facts) {
      const Slot first = LowerPattern(fact.chain[0], ground);
      const SortId sort = program_.exprs[fact.chain[0]].sort;
      for (size_t i = 1; i < fact.chain.size(); ++i) {
        const Slot other = LowerPattern(fact.chain[i], ground);
        if (sort != kUnitSort) rule_.Equal(first, other);
      }
      if (fact.chain.size() == 1 && sort == kBoolSort) {
        rule_.Equal(first, Constant(kBoolSort, 1));
      }
    }
  }

  void LowerAction(const Action& action) {
    switch (action.kind) {
      case ActionKind::kPanic:
        return rule_.Panic(program_.Name(action.message));
      case ActionKind::kEvaluate:
        LowerTerm(action.left);
        return;
      case ActionKind::kLet:
        variables_[action.variable] = LowerTerm(action.left);
        return;
      case ActionKind::kUnion: {
        const Slot left = LowerTerm(action.left);
        return rule_.Union(left, LowerTerm(action.right));
      }
    }
  }

  StatusOr<egraph::Rule> Finish() && {
    return std::move(rule_).Build(language_);
  }

 private:
  Slot Constant(SortId sort, uint64_t bits) {
    const auto [at, fresh] = constants_.try_emplace({sort, bits});
    if (fresh) {
      at->second = rule_.Constant(
          map_.sort(sort), map_.Literal(sort, bits, &language_.literals()));
    }
    return at->second;
  }
  Slot Unit() { return Constant(kUnitSort, 0); }

  Slot Variable(uint32_t variable) {
    const auto& [name, sort] = query_.variables[variable];
    if (sort == kUnitSort) return Unit();
    std::optional<Slot>& slot = variables_[variable];
    if (!slot.has_value()) {
      slot = rule_.Variable(map_.sort(sort), program_.Name(name));
    }
    return *slot;
  }

  // In a query a global of a class is matched, in an action it is a constant.
  Slot Global(const Expr& expr, bool in_query) {
    if (expr.sort == kUnitSort) return Unit();
    auto& slots = in_query ? matched_globals_ : constant_globals_;
    const auto [at, fresh] = slots.try_emplace(expr.index);
    if (!fresh) return at->second;
    at->second =
        in_query && IsClassSort(expr.sort)
            ? rule_.Match(
                  map_.global(expr.sort),
                  {rule_.Constant(egraph::kI64Sort,
                                  LanguageMap::GlobalNumber(
                                      expr.index, &language_.literals()))})
            : rule_.Constant(map_.sort(expr.sort), globals_[expr.index]);
    return at->second;
  }

  // Slots of the arguments of the expression at the end of slots_, in order.
  std::vector<Slot> TakeArguments(const Expr& expr) {
    std::vector<Slot> arguments(stack_.end() - expr.num_arguments,
                                stack_.end());
    stack_.resize(stack_.size() - expr.num_arguments);
    return arguments;
  }

  Slot LowerPattern(ExprId root, const GroundValues& ground) {
    // Backwards over the subtree, so that what is ground is stepped over.
    std::vector<ExprId> order;
    for (ExprId e = root + 1; e > program_.exprs[root].first;) {
      order.push_back(--e);
      if (ground.contains(e)) e = program_.exprs[e].first;
    }
    for (auto e = order.rbegin(); e != order.rend(); ++e) {
      const auto found = ground.find(*e);
      stack_.push_back(found == ground.end()
                           ? LowerPatternNode(*e)
                           : rule_.Constant(map_.sort(program_.exprs[*e].sort),
                                            found->second));
    }
    return Pop();
  }

  Slot LowerPatternNode(ExprId e) {
    const Expr& expr = program_.exprs[e];
    std::vector<Slot> arguments = TakeArguments(expr);
    switch (expr.kind) {
      case ExprKind::kVariable:
        return Variable(expr.index);
      case ExprKind::kGlobal:
        return Global(expr, true);
      case ExprKind::kLiteral:
        return Constant(expr.sort, expr.literal);
      case ExprKind::kTable: {
        const Slot out =
            rule_.Match(map_.table(expr.index), std::move(arguments));
        return expr.sort == kUnitSort ? Unit() : out;
      }
      case ExprKind::kPrimitive:
        return RequirePrimitive(e, std::move(arguments));
    }
    return Unit();
  }

  Slot RequirePrimitive(ExprId e, std::vector<Slot> arguments) {
    const auto primitive = static_cast<Primitive>(program_.exprs[e].index);
    if (primitive == Primitive::kNotEqual) {
      rule_.NotEqual(arguments[0], arguments[1]);
      return Unit();
    }
    const SortId operands = program_.exprs[e - 1].sort;
    const Slot out = rule_.Require(map_.primitive(primitive, operands),
                                   std::move(arguments));
    return program_.exprs[e].sort == kUnitSort ? Unit() : out;
  }

  Slot LowerTerm(ExprId root) {
    for (ExprId e = program_.exprs[root].first; e <= root; ++e) {
      const Expr& expr = program_.exprs[e];
      std::vector<Slot> arguments = TakeArguments(expr);
      switch (expr.kind) {
        case ExprKind::kVariable:
          stack_.push_back(Variable(expr.index));
          break;
        case ExprKind::kGlobal:
          stack_.push_back(Global(expr, false));
          break;
        case ExprKind::kLiteral:
          stack_.push_back(Constant(expr.sort, expr.literal));
          break;
        case ExprKind::kTable: {
          const Slot out =
              rule_.Insert(map_.table(expr.index), std::move(arguments));
          stack_.push_back(expr.sort == kUnitSort ? Unit() : out);
          break;
        }
        case ExprKind::kPrimitive: {
          const Slot out =
              rule_.Compute(map_.primitive(static_cast<Primitive>(expr.index),
                                           program_.exprs[e - 1].sort),
                            std::move(arguments));
          stack_.push_back(expr.sort == kUnitSort ? Unit() : out);
        }
      }
    }
    return Pop();
  }

  Slot Pop() {
    const Slot slot = stack_.back();
    stack_.pop_back();
    return slot;
  }

  const Program& program_;
  const Query& query_;
  const LanguageMap& map_;
  std::span<const egraph::Value> globals_;
  egraph::Language& language_;
  egraph::RuleBuilder rule_;
  std::vector<std::optional<Slot>> variables_;
  std::vector<Slot> stack_;
  absl::flat_hash_map<std::pair<SortId, uint64_t>, Slot> constants_;
  absl::flat_hash_map<GlobalId, Slot> matched_globals_;
  absl::flat_hash_map<GlobalId, Slot> constant_globals_;
};

// The value of one call or leaf whose arguments have the values `row`.
std::optional<egraph::Value> LookUp(const Program& program, ExprId e,
                                    std::span<const egraph::Value> row,
                                    const LanguageMap& map,
                                    std::span<const egraph::Value> globals,
                                    egraph::EGraph* graph) {
  const Expr& expr = program.exprs[e];
  egraph::LiteralPool& literals = graph->language().literals();
  switch (expr.kind) {
    case ExprKind::kVariable:
      return std::nullopt;
    case ExprKind::kGlobal:
      if (!IsClassSort(expr.sort)) return globals[expr.index];
      return graph->Find(egraph::ClassId(globals[expr.index])).value();
    case ExprKind::kLiteral:
      return map.Literal(expr.sort, expr.literal, &literals);
    case ExprKind::kTable: {
      const auto cls = graph->Lookup(map.table(expr.index), row);
      if (!cls.has_value()) return std::nullopt;
      return cls->value();
    }
    case ExprKind::kPrimitive: {
      const egraph::PrimitiveId primitive = map.primitive(
          static_cast<Primitive>(expr.index), program.exprs[e - 1].sort);
      egraph::Value value = 0;
      if (!graph->language().primitive(primitive).function(*graph, literals,
                                                           row, &value)) {
        return std::nullopt;
      }
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<GroundValues> LookUpGroundTerms(
    const Program& program, const Query& query, const LanguageMap& map,
    std::span<const egraph::Value> globals, egraph::EGraph* graph) {
  GroundValues ground;
  std::vector<std::optional<egraph::Value>> values;
  std::vector<ExprId> arguments;
  std::vector<egraph::Value> row;
  for (const Fact& fact : query.facts) {
    for (const ExprId member : fact.chain) {
      const ExprId first = program.exprs[member].first;
      values.assign(member - first + 1, std::nullopt);
      for (ExprId e = first; e <= member; ++e) {
        if (program.exprs[e].kind == ExprKind::kVariable) continue;
        Arguments(program, e, &arguments);
        row.clear();
        for (const ExprId a : arguments) {
          if (values[a - first].has_value()) row.push_back(*values[a - first]);
        }
        if (row.size() < arguments.size()) continue;
        values[e - first] = LookUp(program, e, row, map, globals, graph);
        if (!values[e - first].has_value()) return std::nullopt;
      }
      for (ExprId e = member + 1; e > first;) {
        --e;
        if (!values[e - first].has_value()) continue;
        ground.emplace(e, *values[e - first]);
        e = program.exprs[e].first;
      }
    }
  }
  return ground;
}

StatusOr<egraph::Rule> LowerQuery(const Program& program, const Query& query,
                                  const GroundValues& ground,
                                  const LanguageMap& map,
                                  std::span<const egraph::Value> globals,
                                  egraph::Language* language) {
  Lowering lowering(program, query, "query", map, globals, language);
  lowering.LowerFacts(ground);
  return std::move(lowering).Finish();
}

StatusOr<egraph::Rule> LowerRule(const Program& program, const Rule& rule,
                                 std::string_view name, const LanguageMap& map,
                                 std::span<const egraph::Value> globals,
                                 egraph::Language* language) {
  Lowering lowering(program, rule.query, name, map, globals, language);
  lowering.LowerFacts({});
  for (const Action& action : rule.actions) lowering.LowerAction(action);
  return std::move(lowering).Finish();
}

bool NeedsFullMatching(const Program& program, const Query& query) {
  for (const Fact& fact : query.facts) {
    for (const ExprId member : fact.chain) {
      for (ExprId e = program.exprs[member].first; e <= member; ++e) {
        const Expr& expr = program.exprs[e];
        if (expr.kind == ExprKind::kPrimitive &&
            static_cast<Primitive>(expr.index) == Primitive::kBoolNotEqual &&
            IsClassSort(program.exprs[e - 1].sort)) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace encore::opt::program
