#include "encore/opt/tensor/choose_graph.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A gain below this share is none: estimates are not that good. Sums over nodes
// only say what is worth to be looked at as a whole.
constexpr double kLeastGain = 0.005, kLeastGainOfNodes = 0.0005;
// Where the fast method of cutting kernels finds a graph at most so much
// dearer, it is looked at as it will be compiled, and taken from this share of
// gain on: so far off are estimates of kernels that are cut in different ways.
constexpr double kMostLoss = 0.1, kLeastGainAsCompiled = 0.2;
// Extraction of kernels takes time, which larger graphs, models of people,
// would pay at each compile.
constexpr int kMostNodesAsCompiled = 64;
constexpr double kMostWeightBytes = 1.1;
// What a node that a rule made costs beside its seconds, so that of equals the
// graph's own stay.
constexpr double kPreference = 1e-12;

// What is to be said of a graph that is to take the place of another.
enum class Verdict : uint8_t { kTaken, kSlower, kWeights, kMemory };

// Seconds of a node of the e-graph; infinite for what must not be chosen.
class NodeCosts {
 public:
  // `largest`: bytes of the largest value of the graph.
  NodeCosts(const TensorProgram& program, const TensorEGraph& tensors,
            const Costs& costs, const Forbidden& forbidden = {},
            double largest = kInfinity)
      : own_(program.OwnNumbers()),
        tensors_(tensors),
        costs_(costs),
        forbidden_(forbidden),
        largest_(largest) {}

  double operator()(eg::NodeId node) const {
    if (tensors_.op(node).kind != TensorOp::Kind::kOp) return 0;
    const bool own = is_own(node);
    if (!own && (IsComposite(node) || !HoldsForAllSizes(node))) {
      return kInfinity;
    }
    const eg::ClassId c = tensors_.graph().class_of(node);
    const TensorType* const result = tensors_.type(c);
    std::vector<const TensorType*> operands;
    for (const eg::ClassId operand : tensors_.operands(node)) {
      operands.push_back(tensors_.type(operand));
    }
    if (result == nullptr || std::ranges::count(operands, nullptr) > 0 ||
        (!own && IsForbidden(c, *result))) {
      return kInfinity;
    }
    const auto seconds =
        costs_.NodeSeconds({.op = tensors_.op(node).op,
                            .attributes = tensors_.attributes(node),
                            .operands = operands,
                            .result = *result,
                            .symbols = tensors_.symbols(),
                            .weight_only = tensors_.fact(c).weight_only});
    if (own) return seconds.value_or(0);
    return seconds ? *seconds + kPreference : kInfinity;
  }

  bool is_own(eg::NodeId node) const {
    return number(node) != TensorProgram::kNotOwn;
  }
  // As TensorProgram::OwnNumbers.
  uint32_t number(eg::NodeId node) const { return own_[node.value()]; }

 private:
  // Only says what a class is: its decomposition has kernels.
  bool IsComposite(eg::NodeId node) const {
    return Info(tensors_.op(node).op).level == OpLevel::kComposite;
  }
  bool IsForbidden(eg::ClassId c, const TensorType& type) const {
    return tensors_.fact(c).weight_only
               ? forbidden_.weights
               : forbidden_.larger &&
                     TypicalBytes(type, tensors_.symbols()) > largest_;
  }
  // Inference leaves nothing to the call.
  bool HoldsForAllSizes(eg::NodeId node) const {
    std::vector<Dim> open;
    return tensors_.CheckTypes(node, &open).ok() && open.empty();
  }

  const std::vector<uint32_t> own_;
  const TensorEGraph& tensors_;
  const Costs& costs_;
  const Forbidden forbidden_;
  const double largest_;
};

// The graph's own choice: of each class its first node, whose operands' classes
// have earlier ones, so that there is no cycle.
extract::Selection OwnChoice(const eg::DagProblem& dag,
                             const NodeCosts& costs) {
  const auto& problem = dag.problem;
  extract::Selection choice(problem.num_classes(), extract::kNoNode);
  std::vector<extract::ClassIndex> work = problem.roots;
  while (!work.empty()) {
    const auto c = work.back();
    work.pop_back();
    if (choice[c] != extract::kNoNode) continue;
    uint32_t first = TensorProgram::kNotOwn;
    for (uint32_t n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      const uint32_t number = costs.number(dag.node_of[n]);
      if (number < first) {
        first = number;
        choice[c] = n;
      }
    }
    if (choice[c] == extract::kNoNode) return {};
    const auto children = problem.children(choice[c]);
    work.insert(work.end(), children.begin(), children.end());
  }
  return choice;
}

// The largest value of the graph that is none of weights.
double LargestValue(const Graph& graph) {
  const std::vector<bool> weights = WeightOnlyValues(graph);
  double most = 0;
  for (uint32_t v = 0; v < graph.value_count(); ++v) {
    if (weights[v]) continue;
    most =
        std::max(most, TypicalBytes(graph.type(ValueId(v)), graph.symbols()));
  }
  return most;
}

// What the graph costs that is to be replaced.
class Before {
 public:
  explicit Before(const Terms& terms) : terms_(terms) {}

  const std::optional<GraphCost>& cost() {
    if (!cost_) cost_ = terms_.costs.CostOf(terms_.from);
    return *cost_;
  }
  const std::optional<GraphCost>& as_compiled() {
    if (!as_compiled_) as_compiled_ = terms_.costs.CostAsCompiled(terms_.from);
    return *as_compiled_;
  }

 private:
  const Terms& terms_;
  // Nothing: not asked for yet.
  std::optional<std::optional<GraphCost>> cost_, as_compiled_;
};

bool Gains(const std::optional<GraphCost>& before,
           const std::optional<GraphCost>& after, double share) {
  return before && after && after->seconds <= before->seconds * (1 - share);
}

Verdict Judge(const Terms& terms, const Graph& graph, Before* before) {
  std::optional<GraphCost> was = before->cost();
  std::optional<GraphCost> is = terms.costs.CostOf(graph);
  if (!Gains(was, is, kLeastGain)) {
    if (terms.from.node_count() > kMostNodesAsCompiled ||
        !Gains(was, is, -kMostLoss)) {
      return Verdict::kSlower;
    }
    was = before->as_compiled();
    is = terms.costs.CostAsCompiled(graph);
    if (!Gains(was, is, kLeastGainAsCompiled)) return Verdict::kSlower;
  }
  if (WeightBytes(graph, terms.shared) >
      WeightBytes(terms.from, terms.shared) * kMostWeightBytes) {
    return Verdict::kWeights;
  }
  return terms.fits(*was, *is) ? Verdict::kTaken : Verdict::kMemory;
}

StatusOr<Choice> Extract(const ChoiceRequest& request,
                         const Forbidden& forbidden) {
  const NodeCosts costs(
      request.program, request.tensors, request.terms.costs, forbidden,
      forbidden.larger ? LargestValue(request.terms.from) : kInfinity);
  Choice choice{
      .dag = eg::MakeDagProblem(
          request.tensors.graph(), request.program.Roots(),
          [&](const eg::EGraph&, eg::NodeId node) { return costs(node); }),
      .own = {}};
  choice.own = OwnChoice(choice.dag, costs);
  if (choice.own.empty()) return choice;
  extract::Options options;
  const bool late = request.deadline != nullptr && request.deadline->Passed();
  options.work = late ? 0 : request.work;
  options.start = choice.own;
  ENCORE_ASSIGN_OR_RETURN(choice.result,
                          extract::Extract(choice.dag.problem, options));
  return choice;
}

}  // namespace

double OwnSeconds(const TensorProgram& program, const TensorEGraph& tensors,
                  const Costs& costs) {
  const NodeCosts node_costs(program, tensors, costs);
  double total = 0;
  for (uint32_t node = 0; node < program.node_limit(); ++node) {
    if (!tensors.graph().live(eg::NodeId(node))) continue;
    total += node_costs(eg::NodeId(node));
  }
  return total;
}

StatusOr<Candidate> TakeBest(const Terms& terms,
                             const CandidateOf& candidate_of) {
  Forbidden forbidden;
  Before before(terms);
  std::optional<double> bound;
  for (bool first = true;; first = false) {
    ENCORE_ASSIGN_OR_RETURN(Candidate candidate, candidate_of(forbidden));
    if (first) bound = candidate.bound;
    candidate.bound = bound;
    if (!candidate.graph) return candidate;
    const Verdict verdict = Judge(terms, *candidate.graph, &before);
    // Each forbids once.
    if (verdict == Verdict::kWeights && !forbidden.weights) {
      forbidden.weights = true;
    } else if (verdict == Verdict::kMemory && !forbidden.larger) {
      forbidden.larger = true;
    } else {
      if (verdict != Verdict::kTaken) candidate.graph.reset();
      if (candidate.graph) candidate.graph->set_name(terms.from.name());
      return candidate;
    }
  }
}

StatusOr<Choice> ChooseGraph(const ChoiceRequest& request, const Graph& to) {
  using Clock = std::chrono::steady_clock;
  std::optional<Choice> choice;  // of the last candidate
  Clock::duration time{0};
  const auto candidate_of =
      [&](const Forbidden& forbidden) -> StatusOr<Candidate> {
    const Clock::time_point begin = Clock::now();
    ENCORE_ASSIGN_OR_RETURN(choice, Extract(request, forbidden));
    Candidate candidate;
    if (!choice->own.empty()) {
      const extract::Result& result = choice->result;
      candidate.bound = result.lower_bound;
      if (result.feasible) candidate.cost = result.cost;
      if (result.feasible &&
          result.cost < request.own_seconds * (1 - kLeastGainOfNodes)) {
        auto graph =
            RebuildChoice(request, choice->dag, result.choice, to.NewBody(""));
        if (graph.ok()) candidate.graph = *std::move(graph);
      }
    }
    time += Clock::now() - begin;
    if (request.told) request.told(forbidden, candidate);
    return candidate;
  };
  ENCORE_ASSIGN_OR_RETURN(Candidate best,
                          TakeBest(request.terms, candidate_of));
  choice->bound = best.bound;
  choice->graph = std::move(best.graph);
  choice->extract_seconds = std::chrono::duration<double>(time).count();
  return *std::move(choice);
}

StatusOr<Graph> RebuildChoice(const ChoiceRequest& request,
                              const eg::DagProblem& dag,
                              const extract::Selection& selection, Graph to) {
  const eg::EGraph& egraph = request.tensors.graph();
  std::vector<eg::NodeId> by_class(egraph.node_limit());
  for (uint32_t c = 0; c < selection.size(); ++c) {
    if (selection[c] == extract::kNoNode) continue;
    by_class[dag.class_of[c].value()] = dag.node_of[selection[c]];
  }
  return request.program.Rebuild(
      [&](eg::ClassId c) { return by_class[egraph.Find(c).value()]; },
      std::move(to), request.bodies, request.weights);
}

}  // namespace encore::opt
