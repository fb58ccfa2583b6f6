#include "encore/opt/egraph/testing/math_language.h"

#include <algorithm>
#include <string>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/testing/join_known.h"

namespace encore::egraph {
namespace {

constexpr std::string_view kRules[] = {
    "(+ ?a ?b) => (+ ?b ?a)",
    "(* ?a ?b) => (* ?b ?a)",
    "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)",
    "(* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)",
    "(- ?a ?b) => (+ ?a (* -1 ?b))",
    "(+ ?a 0) => ?a",
    "(* ?a 0) => 0",
    "(* ?a 1) => ?a",
    "(- ?a ?a) => 0",
    "(* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))",
    "(+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))",
    "(* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))",
    "(pow ?x 1) => ?x",
    "(pow ?x 2) => (* ?x ?x)",
    "(d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b))",
    "(d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))",
    "(d ?x (sin ?x)) => (cos ?x)",
    "(d ?x (cos ?x)) => (* -1 (sin ?x))",
    "(i 1 ?x) => ?x",
    "(i (cos ?x) ?x) => (sin ?x)",
    "(i (sin ?x) ?x) => (* -1 (cos ?x))",
    "(i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x))",
    "(i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x))",
    "(i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))",
};

constexpr std::string_view kTerms[] = {
    "(i (ln x) x)",
    "(i (+ x (cos x)) x)",
    "(i (* (cos x) x) x)",
    "(d x (+ 1 (* 2 x)))",
    "(d x (- (pow x 3) (* 7 (pow x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
};

}  // namespace

Language MathLanguage() {
  Language language;
  const SortId math = *language.AddClassSort("Math");
  for (const std::string_view name : {"+", "-", "*", "/", "pow", "d", "i"}) {
    ENCORE_CHECK(language
                     .AddOp({.name = std::string(name),
                             .args = {math, math},
                             .result = math})
                     .ok());
  }
  for (const std::string_view name : {"sin", "cos", "ln", "sqrt"}) {
    ENCORE_CHECK(
        language
            .AddOp({.name = std::string(name), .args = {math}, .result = math})
            .ok());
  }
  ENCORE_CHECK(
      language.AddOp({.name = "Const", .args = {kI64Sort}, .result = math})
          .ok());
  ENCORE_CHECK(
      language.AddOp({.name = "Var", .args = {kStringSort}, .result = math})
          .ok());
  return language;
}

Syntax MathSyntax(const Language& language) {
  return {.number = language.FindOp("Const"), .symbol = language.FindOp("Var")};
}

std::span<const std::string_view> MathMicroRules() { return kRules; }
std::span<const std::string_view> MathMicroTerms() { return kTerms; }

std::vector<RuleId> AddRules(EGraph* graph, const Syntax& syntax,
                             std::span<const std::string_view> rules,
                             RuleBook* book) {
  std::vector<RuleId> ids;
  const auto add = [&](std::string_view text) {
    StatusOr<Rule> rule = ParseRule(&graph->language(), "", text, syntax);
    ENCORE_CHECK(rule.ok()) << rule.status();
    ids.push_back(book->Add(*std::move(rule)));
  };
  for (const std::string_view text : rules) {
    const std::string_view left = text.substr(0, text.find(' '));
    if (!left.starts_with("?") || text.find(',') != std::string_view::npos) {
      add(text);
      continue;
    }
    for (uint32_t i = 0; i < graph->language().num_ops(); ++i) {
      const OpInfo& op = graph->language().op(OpId(i));
      std::string pattern = StrCat(left, " = (", op.name);
      for (size_t k = 0; k < op.args.size(); ++k) StrAppend(&pattern, " ?_", k);
      add(StrCat(pattern, ")", text.substr(left.size())));
    }
  }
  return ids;
}

ConstantFold::ConstantFold(const Language& language)
    : number_(*language.FindOp("Const")),
      add_(*language.FindOp("+")),
      sub_(*language.FindOp("-")),
      mul_(*language.FindOp("*")),
      div_(*language.FindOp("/")) {}

std::optional<int64_t> ConstantFold::Of(const EGraph& graph, NodeId node) {
  const OpId op = graph.op(node);
  const std::span<const Value> args = graph.args(node);
  if (op == number_) return graph.language().literals().AsI64(args[0]);
  if (op != add_ && op != sub_ && op != mul_ && op != div_) return std::nullopt;
  const std::optional<int64_t> a = fact(graph.Find(ClassId(args[0])));
  const std::optional<int64_t> b = fact(graph.Find(ClassId(args[1])));
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  int64_t result = 0;
  bool overflow = false;
  if (op == add_) overflow = __builtin_add_overflow(*a, *b, &result);
  if (op == sub_) overflow = __builtin_sub_overflow(*a, *b, &result);
  if (op == mul_) overflow = __builtin_mul_overflow(*a, *b, &result);
  if (op == div_) {
    if (*b == 0 || *b == -1 || *a % *b != 0) return std::nullopt;
    result = *a / *b;
  }
  if (overflow) return std::nullopt;
  return result;
}

bool ConstantFold::Join(EGraph* graph, std::optional<int64_t>* into,
                        const std::optional<int64_t>& from) {
  return JoinKnown(graph, into, from);
}

void ConstantFold::Modify(EGraph* graph, ClassId cls) {
  const std::optional<int64_t> value = fact(cls);
  if (!value.has_value()) return;
  const Value literal = graph->language().literals().I64(*value);
  graph->Union(graph->Add(number_, {literal}), cls, ProofStep::Analysis());
  for (const NodeId node : graph->Members(cls)) {
    const std::vector<SortId>& sorts =
        graph->language().op(graph->op(node)).args;
    const bool leaf = std::none_of(sorts.begin(), sorts.end(), [&](SortId s) {
      return graph->language().is_class(s);
    });
    if (!leaf) graph->Retire(node);
  }
}

namespace {

bool HoldsVar(const EGraph& graph, Value cls) {
  for (const NodeId node : graph.Members(ClassId(cls))) {
    if (graph.language().op(graph.op(node)).name == "Var") return true;
  }
  return false;
}

}  // namespace

FoldingMath::FoldingMath() : graph(MathLanguage()) {
  syntax = MathSyntax(graph.language());
  const size_t fold =
      graph.AddAnalysis(std::make_unique<ConstantFold>(graph.language()));
  const auto number = [fold](const EGraph& g, Value cls) {
    return g.analysis<ConstantFold>(fold).fact(g.Find(ClassId(cls)));
  };
  const SortId math = *graph.language().FindSort("Math");
  const auto condition = [&](std::string_view name, size_t arity, auto holds) {
    graph.language().AddPrimitive(
        {.name = std::string(name),
         .args = std::vector<SortId>(arity, math),
         .result = kUnitSort,
         .function = [holds](const EGraph& g, LiteralPool&,
                             std::span<const Value> args,
                             Value*) { return holds(g, args); }});
  };
  using Args = std::span<const Value>;
  condition("nz", 1, [number](const EGraph& g, Args args) {
    return number(g, args[0]) != 0;
  });
  condition("const", 1, [number](const EGraph& g, Args args) {
    return number(g, args[0]).has_value();
  });
  condition("sym", 1,
            [](const EGraph& g, Args args) { return HoldsVar(g, args[0]); });
  condition("dist", 2, [number](const EGraph& g, Args args) {
    return !g.Same(ClassId(args[0]), ClassId(args[1])) &&
           (number(g, args[0]).has_value() || HoldsVar(g, args[0]));
  });
}

}  // namespace encore::egraph
