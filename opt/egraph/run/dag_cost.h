// DagTerms: for some classes of a rebuilt graph the terms that are cheapest
// together, each chosen node paid for once however often it is used, found by
// the extractor (opt/extract/extract.h).
//
// Costs may be negative; infinity forbids a node. An operator with several
// results (Language::AddMultiOp) is paid for once: its node is the choice of
// the tuple's class, which the projections share.
//
// The problem is NP-hard: how near the optimum the terms are, and whether that
// is proven, depends on the options' time or work. Deterministic where a limit
// on work is given. The graph must not change while this is used.
#ifndef ENCORE_OPT_EGRAPH_RUN_DAG_COST_H_
#define ENCORE_OPT_EGRAPH_RUN_DAG_COST_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/term_text.h"
#include "encore/opt/egraph/run/tree_cost.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/extract/problem.h"

namespace encore::egraph {

// What the classes reach through nodes of finite cost, as the extractor's
// problem, for callers who want more of it than DagTerms gives: known
// solutions, statistics, progress.
struct DagProblem {
  opt::extract::Problem problem;
  std::vector<ClassId> class_of;  // by class of the problem, canonical
  std::vector<NodeId> node_of;    // by node of the problem
};

// REQUIRES: graph.rebuilt(); no cost is NaN or minus infinity. Linear in what
// is reached.
DagProblem MakeDagProblem(const EGraph& graph, std::span<const ClassId> roots,
                          const NodeCostFn& cost = DeclaredCost);

class DagTerms {
 public:
  // NotFound where one of the classes has no term of finite cost. What is
  // required of `graph` and `cost`: as above.
  static StatusOr<DagTerms> Extract(const EGraph& graph,
                                    std::span<const ClassId> roots,
                                    const opt::extract::Options& options = {},
                                    const NodeCostFn& cost = DeclaredCost);

  double cost() const { return cost_; }
  // No choice is cheaper; nothing where no bound is known.
  std::optional<double> lower_bound() const { return lower_bound_; }
  bool optimal() const { return optimal_; }

  // The node chosen for a class; nothing where the roots do not need it.
  std::optional<NodeId> best(ClassId c) const;
  // All chosen nodes, each after those of its arguments: a program.
  std::span<const NodeId> nodes() const { return nodes_; }

  // The term of a class that the roots need. TermText says what can fail.
  StatusOr<std::string> Text(
      ClassId c, size_t max_bytes = size_t{1} << 28,
      const LiteralTextFn& literal = DefaultLiteralText) const;
  // The same with each shared term that has arguments written once, as lines
  // "(let $1 (* x x))" ahead of the line of the term. Linear in what is shared.
  StatusOr<std::string> Lets(
      ClassId c, size_t max_bytes = size_t{1} << 28,
      const LiteralTextFn& literal = DefaultLiteralText) const;

 private:
  explicit DagTerms(const EGraph& graph)
      : graph_(&graph), best_(graph.node_limit()) {}
  void OrderNodes(std::span<const ClassId> roots);

  const EGraph* graph_;
  std::vector<NodeId> best_;  // by canonical class
  std::vector<NodeId> nodes_;
  double cost_ = 0;
  std::optional<double> lower_bound_;
  bool optimal_ = false;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_RUN_DAG_COST_H_
