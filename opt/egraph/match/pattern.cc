#include "encore/opt/egraph/match/pattern.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/match/query.h"
#include "encore/opt/egraph/match/sexpr.h"

namespace encore::egraph {
namespace {

Status Bad(std::string_view what, std::string_view text) {
  return InvalidArgumentError(StrCat(what, ": ", text));
}

// The literal that `text` is, of whatever sort it has.
std::optional<Value> ParseLiteral(LiteralPool* pool, std::string_view text) {
  if (text == "true") return pool->Bool(true);
  if (text == "false") return pool->Bool(false);
  if (const auto i = ParseInt64(text)) return pool->I64(*i);
  if (const auto s = Unquote(text)) return pool->String(*s);
  const bool number = text.find_first_of("0123456789") != std::string::npos;
  if (const auto d = ParseDouble(text); d && number) return pool->F64(*d);
  return std::nullopt;
}

// Evaluates expressions bottom-up into Results; how an operator and a literal
// become one is the caller's.
template <typename Result>
class Evaluator {
 public:
  using Make = std::function<StatusOr<Result>(OpId, std::vector<Result>)>;
  using Literal = std::function<Result(SortId, Value)>;
  using Variable = std::function<StatusOr<Result>(std::string_view, SortId)>;

  Evaluator(Language* language, const Syntax& syntax, Make make,
            Literal literal, Variable variable)
      : language_(language),
        syntax_(syntax),
        make_(std::move(make)),
        literal_(std::move(literal)),
        variable_(std::move(variable)) {}

  // `sort`: of the whole, invalid where any class sort will do.
  StatusOr<Result> Evaluate(const SExprs& parsed, uint32_t root, SortId sort) {
    // The sort wanted of each expression comes from its parent.
    std::vector<SortId> wanted(parsed.exprs.size());
    wanted[root] = sort;
    const uint32_t first = FirstOf(parsed, root);
    for (uint32_t i = root + 1; i-- > first;) {
      const SExprs::Expr& expr = parsed.exprs[i];
      if (!expr.is_list) continue;
      const std::optional<OpId> op = language_->FindOp(expr.text);
      if (!op.has_value()) return Bad("unknown operator", expr.text);
      const std::vector<SortId>& sorts = language_->op(*op).args;
      if (sorts.size() != expr.children.size()) {
        return Bad(StrCat("wrong number of arguments, ", expr.children.size(),
                          " for ", sorts.size()),
                   expr.text);
      }
      for (size_t k = 0; k < sorts.size(); ++k) {
        wanted[expr.children[k]] = sorts[k];
      }
    }
    std::vector<std::optional<Result>> done(parsed.exprs.size());
    for (uint32_t i = first; i <= root; ++i) {
      const SExprs::Expr& expr = parsed.exprs[i];
      if (!expr.is_list) {
        ENCORE_ASSIGN_OR_RETURN(done[i], Atom(expr.text, wanted[i]));
        continue;
      }
      const OpId op = *language_->FindOp(expr.text);
      if (wanted[i].valid() && language_->op(op).result != wanted[i]) {
        return Bad(StrCat(language_->sort_name(wanted[i]), " is wanted, not"),
                   expr.text);
      }
      std::vector<Result> args;
      for (const uint32_t child : expr.children) args.push_back(*done[child]);
      ENCORE_ASSIGN_OR_RETURN(done[i], make_(op, std::move(args)));
    }
    return *done[root];
  }

 private:
  // The first expression of the tree under `root`, whose ids are consecutive.
  static uint32_t FirstOf(const SExprs& parsed, uint32_t root) {
    while (!parsed.exprs[root].children.empty()) {
      root = parsed.exprs[root].children.front();
    }
    return root;
  }

  StatusOr<Result> Atom(std::string_view text, SortId sort) {
    if (text.front() == '?') return variable_(text, sort);
    if (const auto op = language_->FindOp(text)) {
      const OpInfo& info = language_->op(*op);
      const bool fits = !sort.valid() || info.result == sort;
      if (fits && info.args.empty()) return make_(*op, {});
    }
    LiteralPool& pool = language_->literals();
    const std::optional<Value> literal = ParseLiteral(&pool, text);
    const bool class_wanted = !sort.valid() || language_->is_class(sort);
    if (literal.has_value()) {
      const SortId found = pool.SortOf(*literal);
      if (!class_wanted && found == sort) return literal_(found, *literal);
      if (class_wanted && found == kI64Sort && syntax_.number.has_value()) {
        return make_(*syntax_.number, {literal_(found, *literal)});
      }
    }
    if (class_wanted && syntax_.symbol.has_value()) {
      return make_(*syntax_.symbol, {literal_(kStringSort, pool.String(text))});
    }
    return Bad(
        StrCat("no ", sort.valid() ? language_->sort_name(sort) : "term"),
        text);
  }

  Language* language_;
  const Syntax syntax_;
  Make make_;
  Literal literal_;
  Variable variable_;
};

Evaluator<Value> TermEvaluator(EGraph* graph, const Syntax& syntax,
                               Evaluator<Value>::Make make) {
  return Evaluator<Value>(
      &graph->language(), syntax, std::move(make),
      [](SortId, Value value) { return value; },
      [](std::string_view name, SortId) -> StatusOr<Value> {
        return Bad("a variable in a term", name);
      });
}

// Parses patterns into a rule under construction.
class RuleParser {
 public:
  RuleParser(Language* language, std::string_view name, const Syntax& syntax)
      : language_(language), syntax_(syntax), builder_(name) {}

  StatusOr<Slot> Pattern(std::string_view text, SortId sort, bool action) {
    ENCORE_ASSIGN_OR_RETURN(const SExprs parsed, ParseSExprs(text));
    if (parsed.roots.size() != 1) return Bad("one pattern is wanted", text);
    Evaluator<Slot> evaluator(
        language_, syntax_,
        [&](OpId op, std::vector<Slot> args) -> StatusOr<Slot> {
          return action ? builder_.Insert(op, std::move(args))
                        : builder_.Match(op, std::move(args));
        },
        [&](SortId s, Value value) { return builder_.Constant(s, value); },
        [&](std::string_view name, SortId s) { return Variable(name, s); });
    return evaluator.Evaluate(parsed, parsed.roots[0], sort);
  }

  // The slot of ?name; new ones have sort `sort`.
  StatusOr<Slot> Variable(std::string_view name, SortId sort) {
    const auto it = variables_.find(std::string(name));
    if (it != variables_.end()) return it->second;
    if (!sort.valid()) return Bad("a variable of unknown sort", name);
    const Slot slot = builder_.Variable(sort, name);
    variables_.emplace(name, slot);
    return slot;
  }

  void Name(std::string_view variable, Slot slot) {
    variables_.emplace(variable, slot);
  }
  std::optional<Slot> Named(std::string_view variable) const {
    const auto it = variables_.find(std::string(variable));
    if (it == variables_.end()) return std::nullopt;
    return it->second;
  }

  // name ?x ...
  Status Condition(std::string_view text) {
    ENCORE_ASSIGN_OR_RETURN(const SExprs parsed, ParseSExprs(text));
    if (parsed.roots.empty()) return Bad("an empty condition", text);
    const std::string_view name = parsed.exprs[parsed.roots[0]].text;
    const std::optional<PrimitiveId> primitive = language_->FindPrimitive(name);
    if (!primitive.has_value()) return Bad("unknown condition", name);
    std::vector<Slot> args;
    for (size_t i = 1; i < parsed.roots.size(); ++i) {
      const std::string_view arg = parsed.exprs[parsed.roots[i]].text;
      const std::optional<Slot> slot = Named(arg);
      if (!slot.has_value()) return Bad("unbound in a condition", arg);
      args.push_back(*slot);
    }
    builder_.Require(*primitive, std::move(args));
    return OkStatus();
  }

  RuleBuilder& builder() { return builder_; }

 private:
  Language* language_;
  const Syntax syntax_;
  RuleBuilder builder_;
  absl::flat_hash_map<std::string, Slot> variables_;
};

// Splits at the separator where it is in no parentheses.
std::vector<std::string_view> SplitTop(std::string_view text,
                                       std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth != 0 || text.substr(i, separator.size()) != separator) continue;
    parts.push_back(StripWhitespace(text.substr(begin, i - begin)));
    begin = i + separator.size();
    i = begin - 1;
  }
  parts.push_back(StripWhitespace(text.substr(begin)));
  return parts;
}

// One "?v = pattern" or "pattern" of a left side; the slot it is about.
StatusOr<Slot> ParsePremise(RuleParser* parser, std::string_view text,
                            SortId bare_sort) {
  const std::vector<std::string_view> sides = SplitTop(text, " = ");
  if (sides.size() == 1) return parser->Pattern(text, bare_sort, false);
  if (sides.size() != 2 || !sides[0].starts_with("?")) {
    return Bad("?v = pattern is wanted", text);
  }
  ENCORE_ASSIGN_OR_RETURN(const Slot root,
                          parser->Pattern(sides[1], SortId(), false));
  if (const std::optional<Slot> slot = parser->Named(sides[0])) {
    parser->builder().Equal(*slot, root);
    return *slot;
  }
  parser->Name(sides[0], root);
  return root;
}

// The only class sort that operators give, for rules on a bare variable.
SortId OnlySort(const Language& language) {
  SortId only;
  for (uint32_t i = 0; i < language.num_ops(); ++i) {
    const SortId sort = language.op(OpId(i)).result;
    if (sort == kUnitSort || sort == only) continue;
    if (only.valid()) return SortId();
    only = sort;
  }
  return only;
}

}  // namespace

StatusOr<ClassId> AddTerm(EGraph* graph, std::string_view text,
                          const Syntax& syntax) {
  ENCORE_ASSIGN_OR_RETURN(const SExprs parsed, ParseSExprs(text));
  if (parsed.roots.size() != 1) return Bad("one term is wanted", text);
  Evaluator<Value> evaluator = TermEvaluator(
      graph, syntax, [&](OpId op, std::vector<Value> args) -> StatusOr<Value> {
        return graph->Add(op, args).value();
      });
  ENCORE_ASSIGN_OR_RETURN(
      const Value value, evaluator.Evaluate(parsed, parsed.roots[0], SortId()));
  return ClassId(value);
}

StatusOr<std::optional<ClassId>> FindTerm(EGraph* graph, std::string_view text,
                                          const Syntax& syntax) {
  ENCORE_ASSIGN_OR_RETURN(const SExprs parsed, ParseSExprs(text));
  if (parsed.roots.size() != 1) return Bad("one term is wanted", text);
  Evaluator<Value> evaluator = TermEvaluator(
      graph, syntax, [&](OpId op, std::vector<Value> args) -> StatusOr<Value> {
        for (size_t i = 0; i < args.size(); ++i) {
          if (args[i] == kNoValue) return kNoValue;
        }
        const std::optional<ClassId> found = graph->Lookup(op, args);
        return found.has_value() ? found->value() : kNoValue;
      });
  ENCORE_ASSIGN_OR_RETURN(
      const Value value, evaluator.Evaluate(parsed, parsed.roots[0], SortId()));
  if (value == kNoValue) return std::optional<ClassId>();
  return std::optional<ClassId>(ClassId(value));
}

StatusOr<Rule> ParseRule(Language* language, std::string_view name,
                         std::string_view text, const Syntax& syntax) {
  RuleParser parser(language, name.empty() ? text : name, syntax);
  const std::vector<std::string_view> sides = SplitTop(text, "=>");
  if (sides.size() != 2) return Bad("pattern => pattern is wanted", text);
  const std::vector<std::string_view> right = SplitTop(sides[1], " if ");
  if (right.size() > 2) return Bad("more than one `if`", text);
  std::optional<Slot> root;
  for (const std::string_view premise : SplitTop(sides[0], ",")) {
    ENCORE_ASSIGN_OR_RETURN(
        const Slot slot, ParsePremise(&parser, premise, OnlySort(*language)));
    if (!root.has_value()) root = slot;
  }
  if (right.size() == 2) {
    for (const std::string_view condition : SplitTop(right[1], ",")) {
      ENCORE_RETURN_IF_ERROR(parser.Condition(condition));
    }
  }
  std::vector<std::string_view> result = SplitTop(right[0], " = ");
  if (result.size() == 2) {
    root = parser.Named(result[0]);
    if (!root.has_value()) return Bad("unbound on the right", result[0]);
    result.erase(result.begin());
  }
  if (result.size() != 1) return Bad("one right side is wanted", text);
  ENCORE_ASSIGN_OR_RETURN(const Slot made,
                          parser.Pattern(result[0], SortId(), true));
  parser.builder().Union(*root, made);
  return std::move(parser.builder()).Build(*language);
}

StatusOr<bool> Contains(EGraph* graph, ClassId c, std::string_view pattern,
                        const Syntax& syntax) {
  RuleParser parser(&graph->language(), pattern, syntax);
  ENCORE_ASSIGN_OR_RETURN(
      const Slot root,
      parser.Pattern(pattern, OnlySort(graph->language()), false));
  // The slot's sort is known once the rule is built, so the root is compared by
  // the caller of the query.
  ENCORE_ASSIGN_OR_RETURN(const Rule rule,
                          std::move(parser.builder()).Build(graph->language()));
  const Value wanted = graph->Find(c).value();
  bool found = false;
  ForEachMatch(graph, rule, [&](std::span<const Value> slots) {
    found = slots[root.value()] == wanted;
    return !found;
  });
  return found;
}

}  // namespace encore::egraph
