#include "encore/opt/egraph/program/explanations.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/explain.h"
#include "encore/opt/egraph/explain_check.h"
#include "encore/opt/egraph/language.h"

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

// Writes the rows that stand for globals (language_map.h) as their names.
std::string WithGlobalNames(const Program& program, std::string_view text) {
  constexpr std::string_view kRow = "(global ";
  std::string out;
  for (size_t at = text.find(kRow); at != std::string_view::npos;
       at = text.find(kRow)) {
    const size_t end = std::min(text.find(')', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    const std::optional<int64_t> global =
        ParseInt64(row.substr(row.rfind(' ') + 1));
    const bool known = global.has_value() && *global >= 0 &&
                       *global < int64_t(program.globals.size());
    StrAppend(&out, text.substr(0, at),
              known ? program.Name(program.globals[*global].name)
                    : text.substr(at, end - at + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out.append(text);
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
  ENCORE_ASSIGN_OR_RETURN(const std::string text,
                          explanation.Text(*graph, rules, max_bytes));
  return WithGlobalNames(program, text);
}

}  // namespace encore::opt::program
