// TreeCosts: for each class of a rebuilt graph the least cost of a term, a node
// shared by two subterms counted twice, and the node that gives it.
//
// The cost of a term is the cost of its operator plus those of its arguments;
// costs must not be negative. Costs saturate at infinity. Ties go to the node
// created first. Cost of construction: O((nodes + users) log classes), no
// recursion. The graph must not change while this is used.
#ifndef ENCORE_OPT_EGRAPH_RUN_TREE_COST_H_
#define ENCORE_OPT_EGRAPH_RUN_TREE_COST_H_

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/term_text.h"

namespace encore::egraph {

// The cost of the node itself, without its arguments; infinity = never choose.
using NodeCostFn = std::function<double(const EGraph&, NodeId)>;

// The operator's declared cost (infinity where it is not extractable) plus 1
// per column of a literal sort or of Unit.
double DeclaredCost(const EGraph& graph, NodeId node);

class TreeCosts {
 public:
  explicit TreeCosts(const EGraph& graph,
                     const NodeCostFn& cost = DeclaredCost);

  // Infinity where the class has no term of finite cost.
  double cost(ClassId c) const;
  std::optional<NodeId> best(ClassId c) const;
  // The term as an S-expression, "(+ x (Const 1))". ResourceExhausted where it
  // is longer than `max_bytes`, NotFound where there is none.
  StatusOr<std::string> Text(
      ClassId c, size_t max_bytes = size_t{1} << 28,
      const LiteralTextFn& literal = DefaultLiteralText) const;

 private:
  const EGraph* graph_;
  std::vector<double> costs_;  // by class id
  std::vector<NodeId> best_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_RUN_TREE_COST_H_
