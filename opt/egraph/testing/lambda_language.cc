#include "encore/opt/egraph/testing/lambda_language.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/testing/join_known.h"

namespace encore::egraph {
namespace {

// The indexes of the analyses.
constexpr size_t kKnown = 0;
constexpr size_t kFree = 1;

constexpr std::string_view kRules[] = {
    "(if true ?t ?e) => ?t",
    "(if false ?t ?e) => ?e",
    // Where the branches are equal once e stands for x; BranchesToCompare
    // makes the two lets.
    "?i = (if (= (var ?x) ?e) ?t ?f), ?l = (let ?x ?e ?t), "
    "?l = (let ?x ?e ?f) => ?i = ?f",
    "(+ ?a ?b) => (+ ?b ?a)",
    "(+ (+ ?a ?b) ?c) => (+ ?a (+ ?b ?c))",
    "(= ?a ?b) => (= ?b ?a)",
    "(fix ?v ?e) => (let ?v (fix ?v ?e) ?e)",
    "(app (lam ?v ?b) ?e) => (let ?v ?e ?b)",
    "(let ?v ?e (app ?a ?b)) => (app (let ?v ?e ?a) (let ?v ?e ?b))",
    "(let ?v ?e (+ ?a ?b)) => (+ (let ?v ?e ?a) (let ?v ?e ?b))",
    "(let ?v ?e (= ?a ?b)) => (= (let ?v ?e ?a) (let ?v ?e ?b))",
    "(let ?v ?e (if ?c ?t ?f)) => "
    "(if (let ?v ?e ?c) (let ?v ?e ?t) (let ?v ?e ?f))",
    "(let ?v ?e ?c) => ?c if known ?c",
    "(let ?v ?e (var ?v)) => ?e",
    "(let ?v ?e (var ?w)) => (var ?w) if differ ?v ?w",
    "(let ?v ?e (lam ?v ?b)) => (lam ?v ?b)",
    "(let ?v ?e (lam ?w ?b)) => (lam ?w (let ?v ?e ?b)) "
    "if differ ?v ?w, not-free ?w ?e",
};

Language LambdaLanguage() {
  Language language;
  const SortId term = *language.AddClassSort("Term");
  const SortId symbol = *language.AddClassSort("Symbol");
  const auto add = [&](std::string_view name, std::vector<SortId> args,
                       SortId result) {
    ENCORE_CHECK(language
                     .AddOp({.name = std::string(name),
                             .args = std::move(args),
                             .result = result})
                     .ok());
  };
  add("Symbol", {kStringSort}, symbol);
  add("Number", {kI64Sort}, term);
  add("true", {}, term);
  add("false", {}, term);
  add("var", {symbol}, term);
  add("lam", {symbol, term}, term);
  add("fix", {symbol, term}, term);
  add("app", {term, term}, term);
  add("+", {term, term}, term);
  add("=", {term, term}, term);
  add("let", {symbol, term, term}, term);
  add("if", {term, term, term}, term);
  return language;
}

const FreeVariables& Free(const EGraph& graph) {
  return graph.analysis<FreeVariables>(kFree);
}

void AddConditions(Language* language) {
  const SortId term = *language->FindSort("Term");
  const SortId symbol = *language->FindSort("Symbol");
  using Args = std::span<const Value>;
  const auto add = [&](std::string_view name, std::vector<SortId> args,
                       auto holds) {
    language->AddPrimitive(
        {.name = std::string(name),
         .args = std::move(args),
         .result = kUnitSort,
         .function = [holds](const EGraph& g, LiteralPool&, Args values,
                             Value*) { return holds(g, values); }});
  };
  add("known", {term}, [](const EGraph& g, Args args) {
    return g.analysis<KnownValues>(kKnown)
        .fact(g.Find(ClassId(args[0])))
        .has_value();
  });
  add("differ", {symbol, symbol}, [](const EGraph& g, Args args) {
    return !g.Same(ClassId(args[0]), ClassId(args[1]));
  });
  add("free", {symbol, term}, [](const EGraph& g, Args args) {
    return Free(g).Has(g.Find(ClassId(args[1])), args[0]);
  });
  add("not-free", {symbol, term}, [](const EGraph& g, Args args) {
    return !Free(g).Has(g.Find(ClassId(args[1])), args[0]);
  });
}

// The lets that the third rule asks to be equal.
Rule BranchesToCompare(const Language& language) {
  const SortId term = *language.FindSort("Term");
  RuleBuilder rule("branches to compare");
  const Slot x = rule.Variable(*language.FindSort("Symbol"));
  const Slot e = rule.Variable(term), t = rule.Variable(term),
             f = rule.Variable(term);
  const Slot test = rule.Match(*language.FindOp("="),
                               {rule.Match(*language.FindOp("var"), {x}), e});
  rule.Match(*language.FindOp("if"), {test, t, f});
  rule.Insert(*language.FindOp("let"), {x, e, t});
  rule.Insert(*language.FindOp("let"), {x, e, f});
  return *std::move(rule).Build(language);
}

// A symbol that belongs to the class `args[0]` and is free in none of the
// terms behind it.
std::optional<Value> FreshSymbol(EGraph* graph, std::span<const Value> args) {
  const OpId symbol = *graph->language().FindOp("Symbol");
  std::string name = StrCat("_", graph->Find(ClassId(args[0])).value());
  while (true) {
    const Value text = graph->language().literals().String(name);
    const Value fresh = graph->Add(symbol, {text}).value();
    const auto clashes = [&](Value cls) {
      return Free(*graph).Has(graph->Find(ClassId(cls)), fresh);
    };
    if (std::none_of(args.begin() + 1, args.end(), clashes)) return fresh;
    name.push_back('\'');
  }
}

// (let v e (lam w b)) => (lam z (let v e (let w (var z) b))) where w is free
// in e: w gives way to a fresh z.
Rule AvoidCapture(const Language& language) {
  const SortId term = *language.FindSort("Term");
  const SortId symbol = *language.FindSort("Symbol");
  const OpId lam = *language.FindOp("lam"), let = *language.FindOp("let");
  RuleBuilder rule("avoid capture");
  const Slot v = rule.Variable(symbol), w = rule.Variable(symbol);
  const Slot e = rule.Variable(term), b = rule.Variable(term);
  const Slot root = rule.Match(let, {v, e, rule.Match(lam, {w, b})});
  rule.Require(*language.FindPrimitive("differ"), {v, w});
  rule.Require(*language.FindPrimitive("free"), {w, e});
  const Slot z = rule.Call(symbol, FreshSymbol, {root, e, b});
  const Slot renamed =
      rule.Insert(let, {w, rule.Insert(*language.FindOp("var"), {z}), b});
  rule.Union(root, rule.Insert(lam, {z, rule.Insert(let, {v, e, renamed})}));
  return *std::move(rule).Build(language);
}

}  // namespace

KnownValues::KnownValues(const Language& language)
    : number_(*language.FindOp("Number")),
      true_(*language.FindOp("true")),
      false_(*language.FindOp("false")),
      add_(*language.FindOp("+")),
      equal_(*language.FindOp("=")) {}

Known KnownValues::Of(const EGraph& graph, NodeId node) {
  const OpId op = graph.op(node);
  const std::span<const Value> args = graph.args(node);
  if (op == number_) return graph.language().literals().AsI64(args[0]);
  if (op == true_) return true;
  if (op == false_) return false;
  if (op != add_ && op != equal_) return std::nullopt;
  const Known a = fact(graph.Find(ClassId(args[0])));
  const Known b = fact(graph.Find(ClassId(args[1])));
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  if (op == equal_) return *a == *b;
  int64_t sum = 0;
  if (!std::holds_alternative<int64_t>(*a) ||
      !std::holds_alternative<int64_t>(*b) ||
      __builtin_add_overflow(std::get<int64_t>(*a), std::get<int64_t>(*b),
                             &sum)) {
    return std::nullopt;
  }
  return sum;
}

bool KnownValues::Join(EGraph* graph, Known* into, const Known& from) {
  return JoinKnown(graph, into, from);
}

void KnownValues::Modify(EGraph* graph, ClassId cls) {
  const Known value = fact(cls);
  if (!value.has_value()) return;
  const bool* const truth = std::get_if<bool>(&*value);
  const ClassId leaf =
      truth != nullptr ? graph->Add(*truth ? true_ : false_, {})
                       : graph->Add(number_, {graph->language().literals().I64(
                                                 std::get<int64_t>(*value))});
  graph->Union(leaf, cls, ProofStep::Analysis());
}

FreeVariables::FreeVariables(const Language& language)
    : symbol_(*language.FindOp("Symbol")),
      var_(*language.FindOp("var")),
      lam_(*language.FindOp("lam")),
      let_(*language.FindOp("let")),
      fix_(*language.FindOp("fix")) {}

bool FreeVariables::Has(ClassId cls, Value symbol) const {
  return std::binary_search(fact(cls).begin(), fact(cls).end(), symbol);
}

std::vector<Value> FreeVariables::Of(const EGraph& graph, NodeId node) {
  const OpId op = graph.op(node);
  const std::span<const Value> args = graph.args(node);
  if (op == symbol_ || graph.language().op(op).args.empty()) return {};
  if (op == var_) return {args[0]};
  std::vector<Value> free;
  const auto unite = [&](Value cls) {
    std::vector<Value> merged;
    const std::vector<Value>& other = fact(graph.Find(ClassId(cls)));
    std::set_union(free.begin(), free.end(), other.begin(), other.end(),
                   std::back_inserter(merged));
    free = std::move(merged);
  };
  const std::vector<SortId>& sorts = graph.language().op(op).args;
  const bool binds = op == lam_ || op == let_ || op == fix_;
  if (binds) {  // in the last column only
    unite(args.back());
    std::erase(free, args[0]);
    for (size_t i = 1; i + 1 < args.size(); ++i) unite(args[i]);
    return free;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (graph.language().is_class(sorts[i])) unite(args[i]);
  }
  return free;
}

bool FreeVariables::Join(EGraph*, std::vector<Value>* into,
                         const std::vector<Value>& from) {
  return std::erase_if(*into, [&](Value symbol) {
           return !std::binary_search(from.begin(), from.end(), symbol);
         }) > 0;
}

Lambda::Lambda() : graph(LambdaLanguage()) {
  AddConditions(&graph.language());
  syntax = {.number = graph.language().FindOp("Number"),
            .symbol = graph.language().FindOp("Symbol")};
  ENCORE_CHECK(graph.AddAnalysis(
                   std::make_unique<KnownValues>(graph.language())) == kKnown);
  ENCORE_CHECK(graph.AddAnalysis(
                   std::make_unique<FreeVariables>(graph.language())) == kFree);
}

std::vector<RuleId> AddLambdaRules(Lambda* lambda, RuleBook* book) {
  Language& language = lambda->graph.language();
  std::vector<RuleId> ids;
  for (const std::string_view text : kRules) {
    StatusOr<Rule> rule = ParseRule(&language, "", text, lambda->syntax);
    ENCORE_CHECK(rule.ok()) << rule.status();
    ids.push_back(book->Add(*std::move(rule)));
  }
  ids.push_back(book->Add(BranchesToCompare(language)));
  ids.push_back(book->Add(AvoidCapture(language)));
  return ids;
}

}  // namespace encore::egraph
