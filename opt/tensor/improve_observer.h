// ImproveObserver: who is shown the e-graphs of an Improve while they are
// there.
#ifndef ENCORE_OPT_TENSOR_IMPROVE_OBSERVER_H_
#define ENCORE_OPT_TENSOR_IMPROVE_OBSERVER_H_

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {

// A saturated e-graph and what was chosen from it; all of it lives for the call
// only.
struct Extraction {
  const Graph& graph;  // that was improved: the graph itself, or a body
  TensorEGraph& tensors;
  const TensorProgram& program;
  const egraph::RuleBook& rules;  // as they were run
  const egraph::DagProblem& dag;
  const extract::Result& result;
  bool taken = false;  // whether the choice became a graph
};

class ImproveObserver {
 public:
  virtual ~ImproveObserver() = default;
  // Whether e-graphs are to keep why classes became equal, which costs time and
  // memory (opt/egraph/explain).
  virtual bool wants_reasons() const = 0;
  // Called for each graph and body whose classes were extracted from, bodies
  // first, by the thread that improves. An error ends Improve with it.
  virtual Status Extracted(const Extraction& extraction) = 0;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_IMPROVE_OBSERVER_H_
