#include "encore/opt/tensor/improve.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/tensor/coded/apply_coded_rules.h"
#include "encore/opt/tensor/parts/improve_parts.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/saturate.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A gain below this share is none: estimates are not that good. Sums over nodes
// only say what is worth to be looked at as a whole.
constexpr double kLeastGain = 0.005, kLeastGainOfNodes = 0.0005;
constexpr double kMostWeightBytes = 1.1;
// What a node that a rule made costs beside its seconds, so that of equals the
// graph's own stay.
constexpr double kPreference = 1e-12;

// Whether rules' nodes that follow from weights only may be chosen.
enum class NewWeights : uint8_t { kAllowed, kForbidden };

// Seconds of a node of the e-graph; infinite for what must not be chosen.
class NodeCosts {
 public:
  NodeCosts(const TensorProgram& program, const TensorEGraph& tensors,
            const Costs& costs, NewWeights weights = NewWeights::kAllowed)
      : own_(program.OwnNumbers()),
        tensors_(tensors),
        costs_(costs),
        weights_(weights) {}

  double operator()(eg::NodeId node) const {
    if (tensors_.op(node).kind != TensorOp::Kind::kOp) return 0;
    const bool own = is_own(node);
    if (!own && (IsComposite(node) || !HoldsForAllSizes(node))) {
      return kInfinity;
    }
    const eg::ClassId c = tensors_.graph().class_of(node);
    if (!own && weights_ == NewWeights::kForbidden &&
        tensors_.fact(c).weight_only) {
      return kInfinity;
    }
    const TensorType* const result = tensors_.type(c);
    std::vector<const TensorType*> operands;
    for (const eg::ClassId operand : tensors_.operands(node)) {
      operands.push_back(tensors_.type(operand));
    }
    if (result == nullptr || std::ranges::count(operands, nullptr) > 0) {
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
  // Inference leaves nothing to the call.
  bool HoldsForAllSizes(eg::NodeId node) const {
    std::vector<Dim> open;
    return tensors_.CheckTypes(node, &open).ok() && open.empty();
  }

  const std::vector<uint32_t> own_;
  const TensorEGraph& tensors_;
  const Costs& costs_;
  const NewWeights weights_;
};

// The graph's own choice: of each class its first node, whose operands' classes
// have earlier ones, so that there is no cycle.
opt::extract::Selection OwnChoice(const eg::DagProblem& dag,
                                  const NodeCosts& costs) {
  const auto& problem = dag.problem;
  opt::extract::Selection choice(problem.num_classes(), opt::extract::kNoNode);
  std::vector<opt::extract::ClassIndex> work = problem.roots;
  while (!work.empty()) {
    const auto c = work.back();
    work.pop_back();
    if (choice[c] != opt::extract::kNoNode) continue;
    uint32_t first = TensorProgram::kNotOwn;
    for (uint32_t n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      const uint32_t number = costs.number(dag.node_of[n]);
      if (number < first) {
        first = number;
        choice[c] = n;
      }
    }
    if (choice[c] == opt::extract::kNoNode) return {};
    const auto children = problem.children(choice[c]);
    work.insert(work.end(), children.begin(), children.end());
  }
  return choice;
}

class Improver {
 public:
  explicit Improver(const ImproveOptions& options)
      : options_(options),
        costs_(options.costs != nullptr ? *options.costs : roofline_),
        floats_(options.level == RewriteLevel::kFast ? RoundedFloats::kAll
                                                     : RoundedFloats::kWide),
        coded_([&](RuleTag tag,
                   std::string_view name) { return MayUse(tag, name); },
               floats_) {
    AddRules(AllRules());
    book_rules_ = rules_.size();
    AddRules(options.user_rules);
    counts_.resize(rules_.size());
  }

  // `to`: as in TensorProgram::Rebuild. Bodies nest at most kMaxBodyDepth
  // deep, so recursion is bounded.
  StatusOr<std::optional<Graph>> Improve(const Graph& from, Graph to,
                                         bool is_body) {
    std::map<NodeId, std::vector<std::optional<Graph>>> bodies;
    bool improved_bodies = false;
    for (const NodeId node : Nodes(from)) {
      for (const Graph& body : from.bodies(node)) {
        ENCORE_ASSIGN_OR_RETURN(std::optional<Graph> improved,
                                Improve(body, to.NewBody(body.name()), true));
        improved_bodies |= improved.has_value();
        bodies[node].push_back(std::move(improved));
      }
    }
    const BodiesOf bodies_of =
        [&](NodeId node, const Graph& graph) -> StatusOr<std::vector<Graph>> {
      std::vector<Graph> result;
      for (size_t i = 0; i < from.bodies(node).size(); ++i) {
        const std::optional<Graph>& improved = bodies.at(node)[i];
        const Graph& body = improved ? *improved : from.bodies(node)[i];
        ENCORE_ASSIGN_OR_RETURN(Graph copy,
                                CopyGraph(body, graph.NewBody(body.name())));
        result.push_back(std::move(copy));
      }
      return result;
    };
    ENCORE_ASSIGN_OR_RETURN(
        std::optional<Improved> improved,
        parts_.Improve(from, bodies_of, improved_bodies, to));
    if (!improved) {
      ENCORE_ASSIGN_OR_RETURN(improved,
                              AsWhole(from, std::move(to), bodies_of,
                                      {.improved_bodies = improved_bodies}));
    }
    if (options_.report != nullptr && !is_body) {
      options_.report->own_choice = improved->own_choice;
      options_.report->best_choice = improved->best_choice;
      options_.report->bound = improved->bound;
    }
    return std::move(improved->graph);
  }

  // What was told to the report beside the rest.
  void Finish(const Graph& before, const Graph* after) {
    if (options_.report == nullptr) return;
    ImproveReport& report = *options_.report;
    report.cost_before = costs_.GraphSeconds(before).value_or(kInfinity);
    report.cost_after = after == nullptr
                            ? report.cost_before
                            : costs_.GraphSeconds(*after).value_or(kInfinity);
    report.improved = after != nullptr;
    report.parts = parts_.parts();
    report.distinct_parts = parts_.kinds();
    for (const auto& [name, count] : coded_.counts()) {
      if (count.applications == 0) continue;
      report.rules.push_back({std::string(name), count});
    }
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (counts_[i].applications == 0) continue;
      report.rules.push_back({rules_[i].name, counts_[i]});
    }
  }

 private:
  bool MayUse(RuleTag tag, std::string_view name) const {
    return Allows(options_.level, tag) &&
           (!options_.filter || options_.filter(name));
  }
  void AddRules(std::span<const TextRule> rules) {
    for (const TextRule& rule : rules) {
      if (MayUse(rule.tag, rule.name)) rules_.push_back(rule);
    }
  }

  struct Context {
    bool improved_bodies = false;
    // Parameters, by number, that something beside the graph reads as well.
    std::vector<bool> shared = {};
  };
  struct Saturated {
    const Graph& from;
    TensorEGraph& tensors;
    const TensorProgram& program;
    const BodiesOf& bodies;
    const Context& context;
    double own_cost = 0;  // of all nodes, before any are shown to be equal
    eg::RuleBook book{};
  };

  // In one e-graph.
  StatusOr<Improved> AsWhole(const Graph& from, Graph to,
                             const BodiesOf& bodies, const Context& context) {
    TensorEGraph tensors(
        from.symbols(),
        options_.observer != nullptr && options_.observer->wants_reasons());
    const TensorProgram program(from, &tensors);
    Saturated saturated{from,   tensors, program,
                        bodies, context, OwnCost(program, tensors)};
    const bool changed = Saturate(&saturated);
    const bool watched = options_.observer != nullptr && !faulty_;
    if (changed || context.improved_bodies || watched) {
      return Choose(saturated, std::move(to));
    }
    return Improved{.graph = std::nullopt,
                    .own_choice = saturated.own_cost,
                    .best_choice = saturated.own_cost,
                    .bound = saturated.own_cost};
  }

  // Seconds of what is there before rules add to it.
  double OwnCost(const TensorProgram& program,
                 const TensorEGraph& tensors) const {
    const NodeCosts costs(program, tensors, costs_);
    double total = 0;
    for (uint32_t node = 0; node < program.node_limit(); ++node) {
      if (!tensors.graph().live(eg::NodeId(node))) continue;
      total += costs(eg::NodeId(node));
    }
    return total;
  }

  // Whether rules found anything.
  bool Saturate(Saturated* saturated) {
    TensorEGraph& tensors = saturated->tensors;
    const TensorProgram& program = saturated->program;
    ImproveReport* const report = options_.report;
    if (report != nullptr) report->nodes += program.free_nodes();
    // A rule of the book needs two nodes.
    const int fewest = rules_.size() > book_rules_ ? 1 : 2;
    if (program.free_nodes() < fewest || (rules_.empty() && coded_.empty()))
      return false;
    eg::EGraph& graph = tensors.graph();
    eg::RuleBook& book = saturated->book;
    const uint64_t version = graph.version();
    coded_.Before(&tensors, &book);
    StatusOr<CompiledRules> compiled =
        CompileRules(rules_, &tensors, counts_, floats_);
    if (!compiled.ok()) return Fault(compiled.status());
    std::vector<eg::RuleId> own, users;
    for (size_t i = 0; i < compiled->rules.size(); ++i) {
      (compiled->text[i] < book_rules_ ? own : users)
          .push_back(book.Add(std::move(compiled->rules[i])));
    }
    const Saturation saturation = Run(saturated, own, users);
    if (graph.version() != version) coded_.After(&tensors);
    Report(graph, saturation);
    const eg::StopReason stop = saturation.stop;
    if (stop == eg::StopReason::kFailed) return Fault(saturation.error);
    return graph.version() != version;
  }

  Saturation Run(Saturated* saturated, std::span<const eg::RuleId> own,
                 std::span<const eg::RuleId> users) const {
    eg::EGraph& graph = saturated->tensors.graph();
    const TensorProgram& program = saturated->program;
    const ImproveLimits& limits = options_.limits;
    const size_t most = program.node_limit() +
                        limits.nodes_per_node * program.free_nodes() +
                        limits.more_nodes;
    const SaturationLimits own_limits{
        .nodes = most - std::min(most, graph.num_enodes()),
        .iterations = limits.iterations,
        .matches = limits.matches};
    const auto user_nodes = static_cast<size_t>(
        static_cast<double>(own_limits.nodes) * limits.user_nodes);
    return opt::Saturate(&graph, &saturated->book, own, own_limits, users,
                         {.nodes = user_nodes,
                          .iterations = limits.user_iterations,
                          .matches = limits.matches});
  }

  void Report(const eg::EGraph& graph, const Saturation& saturation) {
    if (options_.report == nullptr) return;
    ImproveReport& report = *options_.report;
    report.enodes += graph.num_enodes();
    report.classes += graph.num_classes();
    report.iterations = std::max(report.iterations, saturation.iterations);
    if (report.stop.empty() || saturation.stop != eg::StopReason::kSaturated) {
      report.stop = eg::ToString(saturation.stop);
    }
  }

  bool Fault(const Status& status) {
    faulty_ = true;
    if (options_.report != nullptr) options_.report->fault = status;
    return false;
  }

  // What was chosen from, and what became of it.
  struct Choice {
    eg::DagProblem dag;
    extract::Selection own;  // empty where there is none
    extract::Result result = {};
    std::optional<Graph> graph = std::nullopt;  // where it is better
    bool too_many_weights = false;  // where these alone speak against it
  };

  StatusOr<Choice> MakeChoice(const Saturated& saturated, const Graph& to,
                              NewWeights weights) const {
    const TensorProgram& program = saturated.program;
    const NodeCosts costs(program, saturated.tensors, costs_, weights);
    Choice choice{
        .dag = eg::MakeDagProblem(
            saturated.tensors.graph(), program.Roots(),
            [&](const eg::EGraph&, eg::NodeId node) { return costs(node); }),
        .own = {}};
    choice.own = OwnChoice(choice.dag, costs);
    if (choice.own.empty()) return choice;
    extract::Options options;
    options.work = options_.limits.extraction_work;
    options.start = choice.own;
    ENCORE_ASSIGN_OR_RETURN(choice.result,
                            extract::Extract(choice.dag.problem, options));
    const extract::Result& result = choice.result;
    if (!result.feasible ||
        result.cost >= saturated.own_cost * (1 - kLeastGainOfNodes)) {
      return choice;
    }
    auto graph = Rebuild(saturated, choice.dag, result.choice, to.NewBody(""));
    if (!graph.ok() || !IsFaster(saturated.from, *graph)) return choice;
    const std::vector<bool>& shared = saturated.context.shared;
    choice.too_many_weights =
        WeightBytes(*graph, shared) >
        WeightBytes(saturated.from, shared) * kMostWeightBytes;
    if (choice.too_many_weights) return choice;
    graph->set_name(saturated.from.name());
    choice.graph = *std::move(graph);
    return choice;
  }

  // The best choice as a graph, where it is better. Where only the weights that
  // it makes are too many, the best one that makes none.
  StatusOr<Improved> Choose(const Saturated& saturated, Graph to) {
    const double before = saturated.own_cost;
    Improved improved{.graph = std::nullopt,
                      .own_choice = before,
                      .best_choice = before,
                      .bound = std::nullopt};
    ENCORE_ASSIGN_OR_RETURN(Choice choice,
                            MakeChoice(saturated, to, NewWeights::kAllowed));
    if (choice.own.empty()) return improved;
    improved.bound = choice.result.lower_bound;
    if (choice.too_many_weights) {
      ENCORE_ASSIGN_OR_RETURN(
          choice, MakeChoice(saturated, to, NewWeights::kForbidden));
    }
    if (choice.result.feasible) improved.best_choice = choice.result.cost;
    improved.graph = std::move(choice.graph);
    if (options_.observer != nullptr) {
      ENCORE_RETURN_IF_ERROR(options_.observer->Extracted(
          {saturated.from, saturated.tensors, saturated.program, saturated.book,
           choice.dag, choice.result, improved.graph.has_value()}));
    }
    if (improved.graph || !saturated.context.improved_bodies) return improved;
    StatusOr<Graph> graph =
        Rebuild(saturated, choice.dag, choice.own, std::move(to));
    if (graph.ok()) improved.graph = *std::move(graph);
    return improved;
  }

  StatusOr<Graph> Rebuild(const Saturated& saturated, const eg::DagProblem& dag,
                          const extract::Selection& selection, Graph to) const {
    std::vector<eg::NodeId> by_class(saturated.tensors.graph().node_limit());
    for (uint32_t c = 0; c < selection.size(); ++c) {
      if (selection[c] == extract::kNoNode) continue;
      by_class[dag.class_of[c].value()] = dag.node_of[selection[c]];
    }
    return saturated.program.Rebuild(
        [&](eg::ClassId c) {
          return by_class[saturated.tensors.graph().Find(c).value()];
        },
        std::move(to), saturated.bodies,
        Allows(options_.level, RuleTag::kReassociating)
            ? WeightArithmetic::kWide
            : WeightArithmetic::kOwnType);
  }

  // Of whole graphs, by what becomes of them.
  bool IsFaster(const Graph& before, const Graph& after) const {
    const auto old_seconds = costs_.GraphSeconds(before);
    const auto new_seconds = costs_.GraphSeconds(after);
    return old_seconds && new_seconds &&
           *new_seconds <= *old_seconds * (1 - kLeastGain);
  }

  const ImproveOptions& options_;
  const RooflineCosts roofline_;
  const Costs& costs_;
  const RoundedFloats floats_;
  CodedRuleSet coded_;
  std::vector<TextRule> rules_;  // of the book first
  size_t book_rules_ = 0;
  std::vector<RuleCount> counts_;
  bool faulty_ = false;  // a rule was wrong
  const ImprovePart improve_part_ = [this](const Graph& part,
                                           const std::vector<bool>& shared) {
    const BodiesOf own = [&](NodeId node, const Graph& in) {
      return CopyBodies(part, node, in);
    };
    return AsWhole(part, part.NewBody(""), own, {.shared = shared});
  };
  PartsImprover parts_{costs_, options_.limits.parts, improve_part_};
};

}  // namespace

bool Allows(RewriteLevel level, RuleTag tag) {
  switch (tag) {
    case RuleTag::kExact:
    case RuleTag::kDefinition:
      return level >= RewriteLevel::kExact;
    case RuleTag::kReassociating:
      return level >= RewriteLevel::kReassociate;
    case RuleTag::kFiniteMath:
      return level >= RewriteLevel::kFast;
  }
  return false;
}

StatusOr<std::optional<Graph>> Improve(const Graph& graph,
                                       const ImproveOptions& options) {
  if (options.level == RewriteLevel::kNone) return std::nullopt;
  Graph to(graph.name());
  for (const Symbol& symbol : graph.symbols()) {
    ENCORE_RETURN_IF_ERROR(to.AddSymbol(symbol).status());
  }
  Improver improver(options);
  ENCORE_ASSIGN_OR_RETURN(std::optional<Graph> improved,
                          improver.Improve(graph, std::move(to), false));
  improver.Finish(graph, improved ? &*improved : nullptr);
  return improved;
}

}  // namespace encore::opt
