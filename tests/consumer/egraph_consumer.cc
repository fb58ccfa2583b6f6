// A program that uses the e-graph engine and the extractor as libraries, and
// nothing of tensors: simplifies a term, and solves an extraction problem.

#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/pattern.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/extract/problem.h"

namespace {

namespace egraph = encore::egraph;
namespace extract = encore::opt::extract;

std::string Simplified() {
  egraph::Language language;
  const egraph::SortId number = *language.AddClassSort("Number");
  for (const char* op : {"+", "*"}) {
    if (!language.AddOp({op, {number, number}, number}).ok()) return "";
  }
  const egraph::Syntax syntax = {
      .number = *language.AddOp({"Num", {egraph::kI64Sort}, number}),
      .symbol = *language.AddOp({"Var", {egraph::kStringSort}, number})};
  egraph::EGraph graph(std::move(language));
  const egraph::ClassId root =
      *egraph::AddTerm(&graph, "(+ (* x 2) (* 3 x))", syntax);
  egraph::RuleBook book;
  std::vector<egraph::RuleId> rules;
  for (const char* text : {"(* ?a ?b) => (* ?b ?a)",
                           "(+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))"}) {
    rules.push_back(
        book.Add(*egraph::ParseRule(&graph.language(), "", text, syntax)));
  }
  egraph::Runner runner(&graph, &book, {.max_nodes = 1000, .max_seconds = 10});
  if (runner.Run(rules) != egraph::StopReason::kSaturated) return "";
  const auto terms = egraph::DagTerms::Extract(graph, {&root, 1});
  return terms.ok() && terms->optimal() ? *terms->Text(root) : "";
}

// Two roots over a class that is dear to make and cheap to share.
double SharedCost() {
  extract::Problem problem;
  problem.AddNode(5, {});
  problem.FinishClass();
  for (int i = 0; i < 2; ++i) {
    problem.AddNode(4, {});
    problem.AddNode(1, std::vector<extract::ClassIndex>{0});
    problem.FinishClass();
  }
  problem.roots = {1, 2};
  const auto result = extract::Extract(problem, {.seconds = 1});
  return result.ok() && result->optimal ? result->cost : -1;
}

}  // namespace

int main() {
  const std::string term = Simplified();
  std::printf("%s %g\n", term.c_str(), SharedCost());
  // 5 + 1 + 1, against 4 + 4; and one product of x and a sum of numbers.
  return SharedCost() == 7 && term.find("(+ (Num ") != std::string::npos ? 0
                                                                         : 1;
}
