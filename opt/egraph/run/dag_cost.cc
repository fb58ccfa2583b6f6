#include "encore/opt/egraph/run/dag_cost.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {
namespace {

// Calls `visit` with the class of each argument of `node` that is a term.
template <typename Visit>
void ForEachTerm(const EGraph& graph, NodeId node, Visit visit) {
  const std::vector<SortId>& sorts = graph.language().op(graph.op(node)).args;
  const std::span<const Value> args = graph.args(node);
  for (size_t i = 0; i < args.size(); ++i) {
    if (graph.language().has_terms(sorts[i])) {
      visit(graph.Find(ClassId(args[i])));
    }
  }
}

}  // namespace

DagProblem MakeDagProblem(const EGraph& graph, std::span<const ClassId> roots,
                          const NodeCostFn& cost) {
  ENCORE_CHECK(graph.rebuilt());
  constexpr uint32_t kNew = std::numeric_limits<uint32_t>::max();
  DagProblem out;
  std::vector<uint32_t> number(graph.node_limit(), kNew);
  const auto reach = [&](ClassId c) {
    uint32_t& index = number[c.value()];
    if (index == kNew) {
      index = static_cast<uint32_t>(out.class_of.size());
      out.class_of.push_back(c);
    }
    return index;
  };
  for (const ClassId root : roots) {
    out.problem.roots.push_back(reach(graph.Find(root)));
  }
  std::vector<opt::extract::ClassIndex> children;
  for (size_t i = 0; i < out.class_of.size(); ++i) {
    for (const NodeId node : graph.Members(out.class_of[i])) {
      const double node_cost = cost(graph, node);
      if (std::isinf(node_cost)) continue;
      children.clear();
      ForEachTerm(graph, node,
                  [&](ClassId c) { children.push_back(reach(c)); });
      out.problem.AddNode(node_cost, children);
      out.node_of.push_back(node);
    }
    out.problem.FinishClass();
  }
  return out;
}

StatusOr<DagTerms> DagTerms::Extract(const EGraph& graph,
                                     std::span<const ClassId> roots,
                                     const opt::extract::Options& options,
                                     const NodeCostFn& cost) {
  const DagProblem dag = MakeDagProblem(graph, roots, cost);
  ENCORE_ASSIGN_OR_RETURN(const opt::extract::Result result,
                          opt::extract::Extract(dag.problem, options));
  if (!result.feasible) {
    return NotFoundError("a class has no term of finite cost");
  }
  DagTerms terms(graph);
  for (uint32_t c = 0; c < result.choice.size(); ++c) {
    if (result.choice[c] == opt::extract::kNoNode) continue;
    terms.best_[dag.class_of[c].value()] = dag.node_of[result.choice[c]];
  }
  terms.cost_ = result.cost;
  terms.lower_bound_ = result.lower_bound;
  terms.optimal_ = result.optimal;
  terms.OrderNodes(roots);
  return terms;
}

// Depth first, a node behind its arguments.
void DagTerms::OrderNodes(std::span<const ClassId> roots) {
  std::vector<uint8_t> open(best_.size(), false), done(best_.size(), false);
  std::vector<ClassId> stack;
  for (const ClassId root : roots) {
    stack.push_back(graph_->Find(root));
    while (!stack.empty()) {
      const ClassId c = stack.back();
      if (!std::exchange(open[c.value()], true)) {
        ForEachTerm(*graph_, best_[c.value()], [&](ClassId child) {
          if (!open[child.value()]) stack.push_back(child);
        });
        continue;
      }
      stack.pop_back();
      if (!std::exchange(done[c.value()], true)) {
        nodes_.push_back(best_[c.value()]);
      }
    }
  }
}

std::optional<NodeId> DagTerms::best(ClassId c) const {
  const NodeId node = best_[graph_->Find(c).value()];
  if (!node.valid()) return std::nullopt;
  return node;
}

StatusOr<std::string> DagTerms::Text(ClassId c, size_t max_bytes,
                                     const LiteralTextFn& literal) const {
  return TermText(
      *graph_, c, [this](ClassId cls) { return best(cls); }, max_bytes,
      literal);
}

StatusOr<std::string> DagTerms::Lets(ClassId c, size_t max_bytes,
                                     const LiteralTextFn& literal) const {
  if (!best(c).has_value()) return Text(c, max_bytes, literal);
  // How often the terms below c use each class.
  std::vector<uint32_t> uses(best_.size(), 0);
  std::vector<ClassId> stack = {graph_->Find(c)};
  while (!stack.empty()) {
    const ClassId cls = stack.back();
    stack.pop_back();
    ForEachTerm(*graph_, best_[cls.value()], [&](ClassId child) {
      if (uses[child.value()]++ == 0) stack.push_back(child);
    });
  }
  std::vector<std::string> names(best_.size());
  const auto name = [&](ClassId cls) -> std::string_view {
    return names[graph_->Find(cls).value()];
  };
  const auto chosen = [this](ClassId cls) { return best(cls); };
  std::string text;
  int lets = 0;
  for (const NodeId node : nodes_) {
    const ClassId cls = graph_->class_of(node);
    bool leaf = true;
    ForEachTerm(*graph_, node, [&](ClassId) { leaf = false; });
    if (leaf || uses[cls.value()] < 2) continue;
    ENCORE_ASSIGN_OR_RETURN(
        const std::string term,
        TermText(*graph_, cls, chosen, max_bytes, literal, name));
    names[cls.value()] = StrCat("$", ++lets);
    StrAppend(&text, "(let ", names[cls.value()], " ", term, ")\n");
    if (text.size() > max_bytes) {
      return ResourceExhaustedError(
          StrCat("the terms are longer than ", max_bytes, " bytes"));
    }
  }
  ENCORE_ASSIGN_OR_RETURN(
      const std::string term,
      TermText(*graph_, c, chosen, max_bytes, literal, name));
  return text + term;
}

}  // namespace encore::egraph
