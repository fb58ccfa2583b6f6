#include "encore/opt/egraph/program/explanations.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/egraph/explain/explain.h"
#include "encore/opt/egraph/explain/explain_check.h"
#include "encore/opt/egraph/program/language_map.h"

namespace encore::opt::program {
namespace {

constexpr size_t kMaxSteps = 50'000;

// What the program itself made equal, and the classes its rules name.
egraph::Axioms AxiomsOf(const egraph::EGraph& graph,
                        const egraph::RuleBook& rules,
                        std::span<const ClassPair> unions,
                        egraph::TermStore* terms) {
  std::vector<egraph::ClassId> classes;
  for (const auto& [a, b] : unions) {
    classes.push_back(a);
    classes.push_back(b);
  }
  for (uint32_t r = 0; r < rules.size(); ++r) {
    for (const auto& slot : rules.rule(egraph::RuleId(r)).slots) {
      if (slot.constant.has_value() && graph.language().has_terms(slot.sort)) {
        classes.push_back(egraph::ClassId(*slot.constant));
      }
    }
  }
  const std::vector<egraph::TermStore::Id> added =
      egraph::AddedTerms(graph, classes, terms);
  egraph::Axioms axioms;
  for (size_t i = 0; i < unions.size(); ++i) {
    axioms.unions.emplace_back(added[2 * i], added[2 * i + 1]);
  }
  for (size_t i = 2 * unions.size(); i < added.size(); ++i) {
    axioms.classes.emplace_back(classes[i].value(), added[i]);
  }
  return axioms;
}

// The names of the rows that stand for globals (language_map.h).
std::optional<std::string> GlobalName(const Program& program,
                                      const egraph::Language& language,
                                      const egraph::TermStore::Term& term) {
  if (!LanguageMap::IsGlobal(language.op(term.op))) return std::nullopt;
  const int64_t global = language.literals().AsI64(term.args[0]);
  return std::string(program.Name(program.globals[global].name));
}

}  // namespace

StatusOr<std::string> ExplainText(const Program& program, egraph::EGraph* graph,
                                  const egraph::RuleBook& rules,
                                  std::span<const ClassPair> unions,
                                  const ClassPair& ends, size_t max_bytes) {
  ENCORE_ASSIGN_OR_RETURN(
      egraph::Explanation explanation,
      egraph::Explain(*graph, rules, ends.first, ends.second, kMaxSteps));
  const egraph::Axioms axioms =
      AxiomsOf(*graph, rules, unions, &explanation.terms);
  ENCORE_RETURN_IF_ERROR(
      egraph::CheckExplanation(&graph->language(), rules, explanation, axioms));
  return explanation.Text(*graph, rules, max_bytes,
                          [&](const egraph::TermStore::Term& term) {
                            return GlobalName(program, graph->language(), term);
                          });
}

}  // namespace encore::opt::program
