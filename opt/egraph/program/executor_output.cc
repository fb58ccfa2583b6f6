// Executor's commands that print: extract, explain, print-size, print-stats.
#include <memory>
#include <string>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/executor.h"
#include "encore/opt/egraph/run/dag_cost.h"

namespace encore::opt::program {
namespace {

constexpr size_t kMaxTermBytes = size_t{1} << 26;

}  // namespace

std::string Executor::LiteralText(SortId sort, egraph::Value value) const {
  std::string text;
  AppendLiteral(sort,
                map_.Bits(sort, value, state_.graph.language().literals()),
                *program_.names, &text);
  return text;
}

Status Executor::Extract(ExprId e) {
  ENCORE_ASSIGN_OR_RETURN(const egraph::Value value, Evaluate(e));
  const SortId sort = program_.exprs[e].sort;
  if (!IsClassSort(sort)) {
    output_(LiteralText(sort, value) + "\n");
    return OkStatus();
  }
  if (!state_.graph.rebuilt()) state_.graph.Rebuild();
  const egraph::ClassId c(value);
  if (dag_work_.has_value()) {
    ENCORE_ASSIGN_OR_RETURN(const std::string text, ExtractDag(c));
    output_(text + "\n");
    return OkStatus();
  }
  if (costs_ == nullptr || costs_of_ != state_.graph.version()) {
    costs_ = std::make_unique<egraph::TreeCosts>(state_.graph);
    costs_of_ = state_.graph.version();
  }
  ENCORE_ASSIGN_OR_RETURN(const std::string term,
                          costs_->Text(c, kMaxTermBytes, LiteralTexts()));
  output_(term);
  output_("\n");
  return OkStatus();
}

StatusOr<std::string> Executor::ExtractDag(egraph::ClassId c) const {
  extract::Options options;
  options.work = dag_work_;
  options.interrupt = runner_.limits().interrupt;
  ENCORE_ASSIGN_OR_RETURN(
      const egraph::DagTerms terms,
      egraph::DagTerms::Extract(state_.graph, {&c, 1}, options));
  return terms.Lets(c, kMaxTermBytes, LiteralTexts());
}

egraph::LiteralTextFn Executor::LiteralTexts() const {
  return
      [this](const egraph::EGraph&, egraph::SortId sort, egraph::Value value) {
        return LiteralText(map_.BuiltinSort(sort), value);
      };
}

Status Executor::Explain(ExprId a, ExprId b) {
  ENCORE_ASSIGN_OR_RETURN(const egraph::Value left, Evaluate(a));
  ENCORE_ASSIGN_OR_RETURN(const egraph::Value right, Evaluate(b));
  if (!state_.graph.rebuilt()) state_.graph.Rebuild();
  ENCORE_ASSIGN_OR_RETURN(
      const std::string text,
      ExplainText(program_, &state_.graph, state_.rules, state_.unions,
                  {egraph::ClassId(left), egraph::ClassId(right)},
                  kMaxTermBytes));
  output_(text);
  return OkStatus();
}

void Executor::PrintSizes(const std::vector<TableId>& tables) {
  std::string line = "(";
  for (const TableId table : tables) {
    StrAppend(&line, line.size() > 1 ? " (" : "(",
              program_.Name(program_.tables[table].name), " ", NumRows(table),
              ")");
  }
  output_(line + ")\n");
}

void Executor::PrintStats() {
  const ExecutorStats stats = Stats();
  output_(StrCat("; ", stats.enodes, " e-nodes in ", stats.classes,
                 " classes after ", stats.iterations, " iterations, ",
                 state_.rules.size(), " rules\n"));
}

}  // namespace encore::opt::program
