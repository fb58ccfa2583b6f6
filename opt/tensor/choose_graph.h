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

// Which choice is meant: the cheapest one that has nothing beside what the
// graph has of what is forbidden, or one next to it.
struct ChoiceId {
  bool no_weights = false;  // values that follow from weights only
  bool no_larger = false;   // other values, larger than all of the graph
  // 0: that choice itself. Otherwise, where nothing is forbidden, its neighbour
  // of that number, from 1 (opt/extract/neighbours.h), or that of the graph as
  // it is.
  uint32_t neighbour = 0;
  bool of_graph = false;
  auto operator<=>(const ChoiceId&) const = default;
};

inline constexpr uint32_t kMostNeighbours = 16;

// A graph that takes another's place reads at most so many times its bytes of
// weights.
inline constexpr double kMostWeightBytes = 1.1;

struct Candidate {
  // By sums over nodes; nothing where there is no such choice.
  std::optional<double> cost = std::nullopt;
  std::optional<double> bound = std::nullopt;  // no choice is below
  // Where those sums say that its kernels are worth a look.
  std::optional<Graph> graph = std::nullopt;
};
// An error ends the search with it.
using CandidateOf = std::function<StatusOr<Candidate>(const ChoiceId&)>;

// What a graph is judged by that is to take the place of `from`. All outlive
// the call.
struct Terms {
  const Graph& from;
  const Costs& costs;
  // Parameters, by number, that something beside the graph reads as well.
  const std::vector<bool>& shared;
  bool is_part;  // of a larger graph
  // Whether the values of a graph take no more bytes at once than they may.
  std::function<bool(const GraphCost& before, const GraphCost& after)> fits;
};

// What became of the search, and which choice it is.
struct Taken {
  ChoiceId id;
  // Without a graph where none is taken; then the first one's. The bound is
  // always the first one's: with less to choose from, no choice is below what
  // none was before.
  Candidate candidate;
};

// The cheapest choice, where its graph is faster (by CostOf, or where that sees
// none of its gain by CostAsCompiled), reads at most 1.1 times the bytes of
// weights, and fits. Where only the weights that it makes are too many, the
// cheapest one that makes none; where only its values do not fit, the cheapest
// one that makes none larger than there were.
//
// Sums over nodes do not see what is fused. So of a graph of up to 64 nodes the
// cheapest one's neighbours are judged as well, and where it was not taken
// those of the graph as it is; the fastest by CostOf takes its place where it
// gains a twentieth: of many estimates the least is likely to be too low.
StatusOr<Taken> TakeBest(const Terms& terms, const CandidateOf& candidate_of);

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
  std::function<void(const ChoiceId&, const Candidate&)> told = {};
};

// What was chosen from, and what became of it: what is taken, or where nothing
// is, the cheapest choice.
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
