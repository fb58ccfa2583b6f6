#include "encore/opt/tensor/choose_graph.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/extract/neighbours.h"

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
// What larger graphs, models of people, would pay for at each compile: kernels
// that are extracted, and choices beside the cheapest one, which are taken from
// this share of gain on.
constexpr int kMostNodesOfSmallGraph = 64;
constexpr double kLeastGainOfNeighbour = 0.05;
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
            const Costs& costs, const ChoiceId& id = {},
            double largest = kInfinity)
      : own_(program.OwnNumbers()),
        tensors_(tensors),
        costs_(costs),
        id_(id),
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
               ? id_.no_weights
               : id_.no_larger &&
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
  const ChoiceId id_;
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

class Judge {
 public:
  explicit Judge(const Terms& terms) : terms_(terms), before_(terms) {}

  Verdict Of(const Graph& graph) {
    std::optional<GraphCost> was = before_.cost();
    std::optional<GraphCost> is = terms_.costs.CostOf(graph);
    as_compiled_ = false;
    if (!Gains(was, is, kLeastGain)) {
      if (terms_.from.node_count() > kMostNodesOfSmallGraph ||
          !Gains(was, is, -kMostLoss)) {
        return Verdict::kSlower;
      }
      as_compiled_ = true;
      was = before_.as_compiled();
      is = terms_.costs.CostAsCompiled(graph);
      if (!Gains(was, is, kLeastGainAsCompiled)) return Verdict::kSlower;
    }
    const Verdict verdict = OfBytes(graph, *was, *is);
    if (verdict == Verdict::kTaken) taken_ = is;
    return verdict;
  }

  // What is taken is faster by the slow method only, so that the fast one says
  // nothing of others beside it.
  bool took_as_compiled() const { return taken_ && as_compiled_; }

  // Of a graph that is to take the place of what was taken last, or of the
  // graph where nothing was; by the fast method.
  bool TakesNeighbour(const Graph& graph) {
    const std::optional<GraphCost> is = terms_.costs.CostOf(graph);
    if (!Gains(taken_ ? taken_ : before_.cost(), is, kLeastGainOfNeighbour) ||
        OfBytes(graph, *before_.cost(), *is) != Verdict::kTaken) {
      return false;
    }
    taken_ = is;
    as_compiled_ = false;
    return true;
  }

 private:
  Verdict OfBytes(const Graph& graph, const GraphCost& was,
                  const GraphCost& is) const {
    if (WeightBytes(graph, terms_.shared) >
        WeightBytes(terms_.from, terms_.shared) * kMostWeightBytes) {
      return Verdict::kWeights;
    }
    return terms_.fits(was, is) ? Verdict::kTaken : Verdict::kMemory;
  }

  const Terms& terms_;
  Before before_;
  bool as_compiled_ = false;  // so the last one was judged
  std::optional<GraphCost> taken_;
};

StatusOr<Choice> Extract(const ChoiceRequest& request, const ChoiceId& id) {
  const NodeCosts costs(
      request.program, request.tensors, request.terms.costs, id,
      id.no_larger ? LargestValue(request.terms.from) : kInfinity);
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
  options.greedy_first = true;
  options.start = choice.own;
  ENCORE_ASSIGN_OR_RETURN(choice.result,
                          extract::Extract(choice.dag.problem, options));
  return choice;
}

// The choices of an e-graph, found as they are asked for.
class Choices {
 public:
  // Both outlive this.
  Choices(const ChoiceRequest& request, const Graph& to)
      : request_(request), to_(to) {}

  StatusOr<Candidate> Find(const ChoiceId& id) {
    if (id.neighbour > 0) return FindNeighbour(id);
    ENCORE_ASSIGN_OR_RETURN(Choice found, Extract(request_, id));
    const Choice& choice = choices_[id] = std::move(found);
    const extract::Result& result = choice.result;
    Candidate candidate;
    if (choice.own.empty()) return candidate;
    candidate.bound = result.lower_bound;
    if (!result.feasible) return candidate;
    candidate.cost = result.cost;
    if (result.cost < request_.own_seconds * (1 - kLeastGainOfNodes)) {
      Build(choice, result.choice, &candidate);
    }
    return candidate;
  }

  // REQUIRES: it was found.
  Choice Take(const ChoiceId& id) {
    Choice choice = std::move(
        choices_.at({.no_weights = id.no_weights, .no_larger = id.no_larger}));
    if (id.neighbour > 0) {
      extract::Neighbour& neighbour =
          (*neighbours_[id.of_graph])[id.neighbour - 1];
      choice.result.choice = std::move(neighbour.choice);
      choice.result.cost = neighbour.cost;
      choice.result.optimal = false;
    }
    return choice;
  }

 private:
  StatusOr<Candidate> FindNeighbour(const ChoiceId& id) {
    const Choice& choice = choices_.at({});
    auto& neighbours = neighbours_[id.of_graph];
    if (!neighbours) {
      ENCORE_ASSIGN_OR_RETURN(neighbours, NeighboursOf(choice, id.of_graph));
    }
    Candidate candidate;
    if (id.neighbour > neighbours->size()) return candidate;
    const extract::Neighbour& neighbour = (*neighbours)[id.neighbour - 1];
    candidate.cost = neighbour.cost;
    Build(choice, neighbour.choice, &candidate);
    return candidate;
  }

  StatusOr<std::vector<extract::Neighbour>> NeighboursOf(const Choice& choice,
                                                         bool of_graph) const {
    const bool late =
        request_.deadline != nullptr && request_.deadline->Passed();
    if (late || !choice.result.feasible ||
        (of_graph && choice.own == choice.result.choice)) {
      return std::vector<extract::Neighbour>();
    }
    return extract::Neighbours(choice.dag.problem,
                               of_graph ? choice.own : choice.result.choice,
                               {.count = kMostNeighbours});
  }

  void Build(const Choice& choice, const extract::Selection& selection,
             Candidate* candidate) const {
    auto graph =
        RebuildChoice(request_, choice.dag, selection, to_.NewBody(""));
    if (graph.ok()) candidate->graph = *std::move(graph);
  }

  const ChoiceRequest& request_;
  const Graph& to_;
  std::map<ChoiceId, Choice> choices_;
  // Of the cheapest, and of the graph as it is.
  std::array<std::optional<std::vector<extract::Neighbour>>, 2> neighbours_;
};

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

StatusOr<Taken> TakeBest(const Terms& terms, const CandidateOf& candidate_of) {
  Judge judge(terms);
  Taken best;
  ENCORE_ASSIGN_OR_RETURN(best.candidate, candidate_of({}));
  const std::optional<double> cost = best.candidate.cost;
  const std::optional<double> bound = best.candidate.bound;
  const auto take = [&](const ChoiceId& id, Candidate candidate) {
    best = {id, std::move(candidate)};
    best.candidate.bound = bound;
  };
  bool taken = false;
  while (best.candidate.graph && !taken) {
    const Verdict verdict = judge.Of(*best.candidate.graph);
    taken = verdict == Verdict::kTaken;
    ChoiceId id = best.id;
    // Each forbids once.
    if (verdict == Verdict::kWeights && !id.no_weights) {
      id.no_weights = true;
    } else if (verdict == Verdict::kMemory && !id.no_larger) {
      id.no_larger = true;
    } else {
      break;
    }
    ENCORE_ASSIGN_OR_RETURN(Candidate candidate, candidate_of(id));
    take(id, std::move(candidate));
  }
  if (!taken) take({}, {.cost = cost});
  const bool small = !terms.is_part && terms.from.body_depth() == 0 &&
                     terms.from.node_count() <= kMostNodesOfSmallGraph;
  for (const bool of_graph : {false, true}) {
    if (!small || judge.took_as_compiled() || (of_graph && taken)) break;
    for (uint32_t number = 1; number <= kMostNeighbours; ++number) {
      const ChoiceId id{.neighbour = number, .of_graph = of_graph};
      ENCORE_ASSIGN_OR_RETURN(Candidate candidate, candidate_of(id));
      if (!candidate.cost) break;
      if (candidate.graph && judge.TakesNeighbour(*candidate.graph)) {
        take(id, std::move(candidate));
      }
    }
  }
  if (best.candidate.graph) best.candidate.graph->set_name(terms.from.name());
  return best;
}

StatusOr<Choice> ChooseGraph(const ChoiceRequest& request, const Graph& to) {
  using Clock = std::chrono::steady_clock;
  Choices choices(request, to);
  Clock::duration time{0};
  const auto candidate_of = [&](const ChoiceId& id) -> StatusOr<Candidate> {
    const Clock::time_point begin = Clock::now();
    ENCORE_ASSIGN_OR_RETURN(Candidate candidate, choices.Find(id));
    time += Clock::now() - begin;
    if (request.told) request.told(id, candidate);
    return candidate;
  };
  ENCORE_ASSIGN_OR_RETURN(Taken best, TakeBest(request.terms, candidate_of));
  Choice choice = choices.Take(best.id);
  choice.bound = best.candidate.bound;
  choice.graph = std::move(best.candidate.graph);
  choice.extract_seconds = std::chrono::duration<double>(time).count();
  return choice;
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
