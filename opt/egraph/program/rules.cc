#include "encore/opt/egraph/program/rules.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/grounding.h"

namespace encore::opt::program {
namespace {

using Mode = ExpressionBuilder::Mode;

// Options of rules and runs in the full language that are not in the subset.
constexpr std::string_view kUnsupportedOptions[] = {
    ":subsume", ":naive",    ":unsafe-seminaive", ":no-decomp", ":no-merge",
    ":merge",   ":on_merge", ":default",          ":file",      ":mode"};

// Within what egraph::RuleBuilder takes; columns bound the depth of matching.
constexpr size_t kMaxConditions = 240;
constexpr size_t kMaxColumns = 4000;
constexpr size_t kMaxSlots = 50000;

}  // namespace

std::optional<std::vector<Option>> RuleChecker::ParseOptions(
    std::span<const uint32_t> elements, size_t first) {
  std::vector<Option> options;
  for (size_t e = first; e < elements.size(); ++e) {
    const uint32_t i = elements[e];
    const bool name = context_.node(i).kind == SexprKind::kSymbol &&
                      context_.Text(i).starts_with(':');
    if (name) {
      options.push_back({i, {}});
    } else if (options.empty()) {
      context_.Reject(i, "an option, which starts with a colon, is wanted");
      return std::nullopt;
    } else {
      options.back().values.push_back(i);
    }
  }
  return options;
}

void RuleChecker::BadOption(const Option& option) {
  const std::string_view name = context_.Text(option.name);
  const bool known =
      std::find(std::begin(kUnsupportedOptions), std::end(kUnsupportedOptions),
                name) != std::end(kUnsupportedOptions) ||
      name.starts_with(":internal-");
  if (known) {
    context_.Unsupported(option.name, StrCat("option ", name));
  } else {
    context_.Reject(option.name, StrCat("bad option ", name));
  }
}

bool RuleChecker::ReadCommonOption(const Option& option, RulesetId* ruleset,
                                   std::string* name) {
  const std::string_view key = context_.Text(option.name);
  if ((key != ":ruleset" && key != ":name") || option.values.size() != 1) {
    BadOption(option);
    return false;
  }
  const uint32_t value = option.values[0];
  if (key == ":name") {
    if (context_.node(value).kind != SexprKind::kString) {
      context_.Reject(value, ":name wants a string");
      return false;
    }
    *name = std::string(context_.Text(value));
    return true;
  }
  const NameMeaning meaning = context_.node(value).kind == SexprKind::kSymbol
                                  ? context_.scope->Find(static_cast<Symbol>(
                                        context_.node(value).payload))
                                  : NameMeaning{};
  if (meaning.kind != NameKind::kRuleset) {
    context_.Reject(value, StrCat("no ruleset ", context_.Text(value)));
    return false;
  }
  if (context_.program->rulesets[meaning.id].combined) {
    context_.Reject(value, StrCat("rules cannot be added to the combined "
                                  "ruleset ",
                                  context_.Text(value)));
    return false;
  }
  *ruleset = meaning.id;
  return true;
}

void RuleChecker::BuildFact(uint32_t i, std::vector<Fact>* facts) {
  Fact fact;
  const Sexpr& node = context_.node(i);
  const bool chain = node.kind == SexprKind::kList && node.end > i + 1 &&
                     context_.node(i + 1).kind == SexprKind::kSymbol &&
                     context_.Text(i + 1) == "=";
  if (!chain) {
    facts->push_back({{builder_.Build(i, Mode::kPattern)}});
    return;
  }
  for (uint32_t e = i + 2; e < node.end; e = context_.node(e).end) {
    fact.chain.push_back(builder_.Build(e, Mode::kPattern));
    builder_.Unify(fact.chain[0], fact.chain.back(), e);
  }
  if (fact.chain.size() < 2) {
    context_.Reject(i, "= wants two expressions or more");
    builder_.Doom();
  }
  EquateRows(fact, i, facts);
  facts->push_back(std::move(fact));
}

// Rows of one relation are equal where their arguments are.
void RuleChecker::EquateRows(const Fact& fact, uint32_t i,
                             std::vector<Fact>* facts) {
  absl::flat_hash_map<TableId, ExprId> first;  // member, by relation
  std::vector<ExprId> left;
  std::vector<ExprId> right;
  for (const ExprId member : fact.chain) {
    const Expr& expr = context_.program->exprs[member];
    if (expr.kind != ExprKind::kTable ||
        !context_.program->tables[expr.index].relation) {
      continue;
    }
    const auto [at, fresh] = first.try_emplace(expr.index, member);
    if (fresh) continue;
    Arguments(*context_.program, at->second, &left);
    Arguments(*context_.program, member, &right);
    for (size_t a = 0; a < left.size(); ++a) {
      builder_.Unify(left[a], right[a], i);
      facts->push_back({{left[a], right[a]}});
    }
  }
}

Action RuleChecker::BuildAction(uint32_t i) {
  Action action{.kind = ActionKind::kEvaluate};
  action.position = context_.At(i);
  const std::string_view head =
      context_.node(i).kind == SexprKind::kList && context_.node(i).end > i + 1
          ? context_.Text(i + 1)
          : "";
  const std::vector<uint32_t> elements =
      head.empty() ? std::vector<uint32_t>{} : context_.Elements(i);
  const auto wants = [&](size_t count) {
    if (elements.size() == count + 1) return true;
    context_.Reject(i, StrCat(head, " wants ", count, " arguments"));
    builder_.Doom();
    return false;
  };
  if (head == "union") {
    action.kind = ActionKind::kUnion;
    if (!wants(2)) return action;
    action.left = builder_.Build(elements[1], Mode::kAction);
    action.right = builder_.Build(elements[2], Mode::kAction);
    builder_.Unify(action.left, action.right, i);
  } else if (head == "let") {
    action.kind = ActionKind::kLet;
    if (!wants(2)) return action;
    action.left = builder_.Build(elements[2], Mode::kAction);
    action.variable = builder_.Bind(elements[1], action.left);
  } else if (head == "panic") {
    action.kind = ActionKind::kPanic;
    if (!wants(1)) return action;
    if (context_.node(elements[1]).kind != SexprKind::kString) {
      context_.Reject(i, "panic wants a string");
      builder_.Doom();
      return action;
    }
    action.message = static_cast<Symbol>(context_.node(elements[1]).payload);
  } else if (head == "set" || head == "delete" || head == "subsume") {
    context_.Unsupported(i, StrCat("action ", head));
    builder_.Doom();
  } else {
    action.left = builder_.Build(i, Mode::kAction);
  }
  return action;
}

bool RuleChecker::UnionsAreOfClasses(std::span<const Action> actions) {
  for (const Action& action : actions) {
    if (action.kind != ActionKind::kUnion) continue;
    const SortId sort = context_.program->exprs[action.left].sort;
    if (IsClassSort(sort)) continue;
    context_.diagnostics->Reject(
        action.position,
        StrCat("values of sort ",
               context_.program->Name(context_.program->sorts[sort]),
               " cannot be united"));
    return false;
  }
  return true;
}

// Counts what may become atoms, guards and slots of the engine.
bool RuleChecker::FitsEngine(const Query& query,
                             std::span<const Action> actions, uint32_t i) {
  const std::vector<Expr>& exprs = context_.program->exprs;
  size_t conditions = 0;
  size_t columns = 0;
  size_t slots = query.variables.size();
  std::vector<bool> ground;
  for (const Fact& fact : query.facts) {
    for (const ExprId member : fact.chain) {
      const ExprId first = exprs[member].first;
      ground.assign(member - first + 1, false);
      std::vector<ExprId> arguments;
      for (ExprId e = first; e <= member; ++e) {
        Arguments(*context_.program, e, &arguments);
        bool all = exprs[e].kind != ExprKind::kVariable;
        for (const ExprId a : arguments) all = all && ground[a - first];
        // A query without actions is asked once: terms without variables are
        // looked up before.
        ground[e - first] = all && actions.empty();
        if (ground[e - first]) continue;
        conditions += exprs[e].kind != ExprKind::kVariable &&
                      exprs[e].kind != ExprKind::kLiteral;
        columns += exprs[e].num_arguments;
        ++slots;
      }
    }
    conditions += fact.chain.size() - 1;
  }
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kPanic) continue;
    slots += action.left - exprs[action.left].first + 1;
    if (action.kind != ActionKind::kUnion) continue;
    slots += action.right - exprs[action.right].first + 1;
  }
  if (conditions <= kMaxConditions && columns <= kMaxColumns &&
      slots <= kMaxSlots) {
    return true;
  }
  context_.Unsupported(
      i, StrCat("a rule or query with more than ", kMaxConditions,
                " patterns and conditions, ", kMaxColumns, " columns or ",
                kMaxSlots, " expressions"));
  return false;
}

bool RuleChecker::FinishQuery(Query* query, uint32_t num_bound, uint32_t i) {
  if (!builder_.Finish(&query->variables)) return false;
  const std::optional<uint32_t> unbound =
      FindUnboundVariable(*context_.program, *query, num_bound);
  if (!unbound.has_value()) return true;
  context_.Reject(
      i, StrCat("variable ",
                context_.program->Name(query->variables[*unbound].name),
                " is not bound by a table or by = with something computable"));
  return false;
}

bool RuleChecker::FinishRule(Rule* rule, uint32_t num_bound, uint32_t i) {
  rule->position = context_.At(i);
  if (!FinishQuery(&rule->query, num_bound, i)) return false;
  if (!UnionsAreOfClasses(rule->actions)) return false;
  if (!FitsEngine(rule->query, rule->actions, i)) return false;
  context_.program->rules.push_back(std::move(*rule));
  return true;
}

uint32_t RuleChecker::CheckRule(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() < 3 ||
      context_.node(elements[1]).kind != SexprKind::kList ||
      context_.node(elements[2]).kind != SexprKind::kList) {
    context_.Reject(i, "usage: (rule (FACT*) (ACTION*) OPTION*)");
    return 0;
  }
  Rule rule;
  bool good = true;
  builder_.Begin();
  for (const uint32_t fact : context_.Elements(elements[1])) {
    BuildFact(fact, &rule.query.facts);
  }
  const uint32_t num_bound = builder_.num_variables();
  for (const uint32_t action : context_.Elements(elements[2])) {
    rule.actions.push_back(BuildAction(action));
  }
  const auto options = ParseOptions(elements, 3);
  if (!options.has_value()) return 0;
  for (const Option& option : *options) {
    good &= ReadCommonOption(option, &rule.ruleset, &rule.name);
  }
  return FinishRule(&rule, num_bound, i) && good ? 1 : 0;
}

bool RuleChecker::AddRewrite(uint32_t i, uint32_t from, uint32_t to,
                             const RewriteOptions& options) {
  Rule rule;
  rule.ruleset = options.ruleset;
  rule.name = options.name;
  builder_.Begin();
  const ExprId left = builder_.Build(from, Mode::kPattern);
  const ExprId root = builder_.FreshVariable(from);
  builder_.Unify(root, left, from);
  rule.query.facts.push_back({{left, root}});
  for (const uint32_t condition : options.conditions) {
    BuildFact(condition, &rule.query.facts);
  }
  const uint32_t num_bound = builder_.num_variables();
  Action action{.kind = ActionKind::kUnion};
  action.position = context_.At(i);
  action.left = builder_.Mention(root, from);
  action.right = builder_.Build(to, Mode::kAction);
  builder_.Unify(action.left, action.right, to);
  rule.actions.push_back(action);
  return FinishRule(&rule, num_bound, i);
}

uint32_t RuleChecker::CheckRewrite(uint32_t i, bool both_ways) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() < 3) {
    context_.Reject(
        i, StrCat("usage: (", context_.Text(i + 1), " EXPR EXPR OPTION*)"));
    return 0;
  }
  RewriteOptions read;
  const auto options = ParseOptions(elements, 3);
  if (!options.has_value()) return 0;
  bool good = true;
  for (const Option& option : *options) {
    if (context_.Text(option.name) == ":when" && option.values.size() == 1 &&
        context_.node(option.values[0]).kind == SexprKind::kList) {
      read.conditions = context_.Elements(option.values[0]);
    } else {
      good &= ReadCommonOption(option, &read.ruleset, &read.name);
    }
  }
  good &= AddRewrite(i, elements[1], elements[2], read);
  if (both_ways) good &= AddRewrite(i, elements[2], elements[1], read);
  if (!good) return 0;
  return both_ways ? 2 : 1;
}

std::optional<uint32_t> RuleChecker::CheckQuery(
    std::span<const uint32_t> facts) {
  Query query;
  builder_.Begin();
  for (const uint32_t fact : facts) BuildFact(fact, &query.facts);
  const uint32_t num_bound = builder_.num_variables();
  const uint32_t at = facts.empty() ? 0 : facts[0];
  if (!FinishQuery(&query, num_bound, at) || !FitsEngine(query, {}, at)) {
    return std::nullopt;
  }
  context_.program->queries.push_back(std::move(query));
  return static_cast<uint32_t>(context_.program->queries.size() - 1);
}

std::optional<Action> RuleChecker::CheckAction(uint32_t i) {
  builder_.Begin();
  const Action action = BuildAction(i);
  if (!builder_.Finish(nullptr) || !UnionsAreOfClasses({&action, 1})) {
    return std::nullopt;
  }
  return action;
}

std::optional<std::vector<ExprId>> RuleChecker::CheckTerms(
    std::span<const uint32_t> terms) {
  builder_.Begin();
  std::vector<ExprId> built;
  for (const uint32_t i : terms) {
    built.push_back(builder_.Build(i, Mode::kAction));
    builder_.Unify(built[0], built.back(), i);
  }
  if (!builder_.Finish(nullptr)) return std::nullopt;
  return built;
}

}  // namespace encore::opt::program
