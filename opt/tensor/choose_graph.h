// ChooseGraph: the cheapest graph of a saturated e-graph that may be taken.
#ifndef ENCORE_OPT_TENSOR_CHOOSE_GRAPH_H_
#define ENCORE_OPT_TENSOR_CHOOSE_GRAPH_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"
#include "encore/opt/tensor/wide_weights.h"

namespace encore::opt {

// What a choice may not have beside what the graph has.
struct Forbidden {
  bool weights = false;  // values that follow from weights only
  bool larger = false;   // other values, larger than all of the graph
  auto operator<=>(const Forbidden&) const = default;
};

// The cheapest choice without what is forbidden.
struct Candidate {
  // By sums over nodes; nothing where there is no choice.
  std::optional<double> cost = std::nullopt;
  std::optional<double> bound = std::nullopt;  // no choice is below
  // Where those sums say that its kernels are worth a look.
  std::optional<Graph> graph = std::nullopt;
};
// An error ends the search with it.
using CandidateOf = std::function<StatusOr<Candidate>(const Forbidden&)>;

// What a graph is judged by that is to take the place of `from`. All outlive
// the call.
struct Terms {
  const Graph& from;
  const Costs& costs;
  // Parameters, by number, that something beside the graph reads as well.
  const std::vector<bool>& shared;
  // Whether the values of a graph take no more bytes at once than they may.
  std::function<bool(const GraphCost& before, const GraphCost& after)> fits;
};

// The first candidate, with its graph, where that is faster (by CostOf, or
// where that sees none of its gain by CostAsCompiled), reads at most 1.1 times
// the bytes of weights, and fits. Where only the weights that it makes are too
// many, the best one that makes none; where only its values do not fit, the
// best one that makes none larger than there were. Without a graph where none
// is taken. The bound is the first one's: with less to choose from, no choice
// is below what none was before.
StatusOr<Candidate> TakeBest(const Terms& terms,
                             const CandidateOf& candidate_of);

// All outlive the call.
struct ChoiceRequest {
  const Terms& terms;
  const TensorEGraph& tensors;
  const TensorProgram& program;
  const BodiesOf& bodies;
  double own_seconds = 0;  // as OwnSeconds said before rules were applied
  WeightArithmetic weights = WeightArithmetic::kOwnType;
  uint64_t work = 0;  // of the extractor
  // May be null. Once it has passed, only the extractor's quick methods run.
  Deadline* deadline = nullptr;
  // Is told of each candidate before it is judged; may be null.
  std::function<void(const Forbidden&, const Candidate&)> told = {};
};

// What was chosen from, and what became of it.
struct Choice {
  egraph::DagProblem dag;
  extract::Selection own;  // the graph's nodes; empty where there is none
  extract::Result result = {};
  std::optional<double> bound = std::nullopt;  // no choice is below
  std::optional<Graph> graph = std::nullopt;   // where it is better
  double extract_seconds = 0;  // of the clock, for all candidates
};

// Seconds of the graph's own nodes.
double OwnSeconds(const TensorProgram& program, const TensorEGraph& tensors,
                  const Costs& costs);

// The best choice as a graph (TakeBest). `to`: as in TensorProgram::Rebuild.
StatusOr<Choice> ChooseGraph(const ChoiceRequest& request, const Graph& to);

// A selection from `dag` as a graph.
StatusOr<Graph> RebuildChoice(const ChoiceRequest& request,
                              const egraph::DagProblem& dag,
                              const extract::Selection& selection, Graph to);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHOOSE_GRAPH_H_
