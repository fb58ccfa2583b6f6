#include "encore/opt/tensor/improve.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/schedulers.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/tensor/merge_products.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A gain below this share is none: estimates are not that good.
constexpr double kLeastGain = 0.005;
constexpr double kMostWeightBytes = 1.1;
// What a node that a rule made costs beside its seconds, so that of equals the
// graph's own stay.
constexpr double kPreference = 1e-12;

// Seconds of a node of the e-graph; infinite for what must not be chosen.
class NodeCosts {
 public:
  NodeCosts(const TensorProgram& program, const TensorEGraph& tensors,
            const Costs& costs)
      : program_(program), tensors_(tensors), costs_(costs) {}

  double operator()(eg::NodeId node) const {
    if (tensors_.op(node).kind != TensorOp::Kind::kOp) return 0;
    const bool own = node.value() < program_.node_limit();
    if (!own && !HoldsForAllSizes(node)) return kInfinity;
    const eg::ClassId c = tensors_.graph().class_of(node);
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

 private:
  // Inference leaves nothing to the call.
  bool HoldsForAllSizes(eg::NodeId node) const {
    std::vector<Dim> open;
    return tensors_.CheckTypes(node, &open).ok() && open.empty();
  }

  const TensorProgram& program_;
  const TensorEGraph& tensors_;
  const Costs& costs_;
};

// The graph's own choice: of each class its first node, whose operands' classes
// have earlier ones, so that there is no cycle.
opt::extract::Selection OwnChoice(const eg::DagProblem& dag,
                                  uint32_t node_limit) {
  const auto& problem = dag.problem;
  opt::extract::Selection choice(problem.num_classes(), opt::extract::kNoNode);
  std::vector<opt::extract::ClassIndex> work = problem.roots;
  while (!work.empty()) {
    const auto c = work.back();
    work.pop_back();
    if (choice[c] != opt::extract::kNoNode) continue;
    uint32_t first = node_limit;
    for (uint32_t n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      if (dag.node_of[n].value() < first) {
        first = dag.node_of[n].value();
        choice[c] = n;
      }
    }
    if (choice[c] == opt::extract::kNoNode) return {};
    const auto children = problem.children(choice[c]);
    work.insert(work.end(), children.begin(), children.end());
  }
  return choice;
}

// A graph as it is, as the body of a node of another one.
StatusOr<Graph> CopyBody(const Graph& body, Graph to) {
  GraphBuilder builder(std::move(to), {.simplify = false});
  std::vector<Value> inputs;
  for (const Graph::Argument& argument : body.arguments()) {
    const auto scope =
        builder.Origin(body.origin(body.producer(argument.value)));
    const TensorType& type = body.type(argument.value);
    inputs.push_back(argument.is_parameter
                         ? builder.Parameter(argument.name, type, argument.data)
                         : builder.Input(argument.name, type));
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> values,
                          InlineGraph(builder, body, inputs, nullptr));
  std::vector<std::pair<std::string, Value>> outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    outputs.emplace_back(body.outputs()[i].name, values[i]);
  }
  return builder.Build(outputs);
}

class Improver {
 public:
  explicit Improver(const ImproveOptions& options)
      : options_(options),
        costs_(options.costs != nullptr ? *options.costs : roofline_) {
    for (const TextRule& rule : AllRules()) {
      if (Allows(options.level, rule.tag) &&
          (!options.filter || options.filter(rule.name))) {
        rules_.push_back(rule);
      }
    }
    counts_.resize(rules_.size());
    merge_products_ = Allows(options.level, kMergeProductsTag) &&
                      (!options.filter || options.filter(kMergeProducts));
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
                                CopyBody(body, graph.NewBody(body.name())));
        result.push_back(std::move(copy));
      }
      return result;
    };
    TensorEGraph tensors(from.symbols());
    const TensorProgram program(from, &tensors);
    Saturated saturated{from,      tensors, program,
                        bodies_of, is_body, OwnCost(program, tensors)};
    const bool changed = Saturate(&saturated);
    if (!changed && !improved_bodies) return std::nullopt;
    return Choose(saturated, std::move(to), improved_bodies);
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
    if (merged_.applications > 0) {
      report.rules.push_back({std::string(kMergeProducts), merged_});
    }
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (counts_[i].applications == 0) continue;
      report.rules.push_back({rules_[i].name, counts_[i]});
    }
  }

 private:
  struct Saturated {
    const Graph& from;
    TensorEGraph& tensors;
    const TensorProgram& program;
    const BodiesOf& bodies;
    bool is_body;
    double own_cost = 0;  // of all nodes, before any are shown to be equal
  };

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
    // A rule needs two nodes.
    if (program.free_nodes() < 2 || (rules_.empty() && !merge_products_))
      return false;
    StatusOr<CompiledRules> compiled = CompileRules(
        rules_, &tensors, counts_,
        options_.level == RewriteLevel::kFast ? RoundedFloats::kAll
                                              : RoundedFloats::kWide);
    if (!compiled.ok()) return Fault(compiled.status());
    eg::RuleBook book;
    std::vector<eg::RuleId> ids;
    for (eg::Rule& rule : compiled->rules) {
      ids.push_back(book.Add(std::move(rule)));
    }
    eg::EGraph& graph = tensors.graph();
    const uint64_t version = graph.version();
    if (merge_products_) MergeProducts(&tensors, &merged_);
    const ImproveLimits& limits = options_.limits;
    eg::Runner runner(
        &graph, &book,
        {.max_nodes = program.node_limit() +
                      limits.nodes_per_node * program.free_nodes() +
                      limits.more_nodes,
         .max_iterations = limits.iterations});
    eg::BackoffScheduler scheduler(limits.matches);
    const eg::StopReason stop = runner.Run(ids, &scheduler);
    if (report != nullptr) {
      report->enodes += graph.num_enodes();
      report->classes += graph.num_classes();
      report->iterations = std::max(report->iterations, runner.iterations());
      if (!saturated->is_body) report->stop = eg::ToString(stop);
    }
    if (stop == eg::StopReason::kFailed) return Fault(runner.error());
    return graph.version() != version;
  }

  bool Fault(const Status& status) {
    if (options_.report != nullptr) options_.report->fault = status;
    return false;
  }

  // The best choice as a graph, where it is better.
  StatusOr<std::optional<Graph>> Choose(const Saturated& saturated, Graph to,
                                        bool improved_bodies) {
    const TensorProgram& program = saturated.program;
    const TensorEGraph& tensors = saturated.tensors;
    const NodeCosts costs(program, tensors, costs_);
    const std::vector<eg::ClassId> roots = program.Roots();
    const eg::DagProblem dag = eg::MakeDagProblem(
        tensors.graph(), roots,
        [&](const eg::EGraph&, eg::NodeId node) { return costs(node); });
    const extract::Selection own = OwnChoice(dag, program.node_limit());
    if (own.empty()) return std::nullopt;
    extract::Options options;
    options.work = options_.limits.extraction_work;
    options.start = own;
    ENCORE_ASSIGN_OR_RETURN(const extract::Result result,
                            extract::Extract(dag.problem, options));
    const double before = saturated.own_cost;
    if (options_.report != nullptr && !saturated.is_body) {
      options_.report->own_choice = before;
      options_.report->best_choice = result.feasible ? result.cost : before;
      options_.report->bound = result.lower_bound;
    }
    const bool better =
        result.feasible && result.cost < before * (1 - kLeastGain);
    if (better) {
      auto graph = Rebuild(saturated, dag, result.choice, to.NewBody(""));
      if (graph.ok()) graph->set_name(saturated.from.name());
      if (graph.ok() && IsBetter(saturated.from, *graph)) {
        return std::optional<Graph>(*std::move(graph));
      }
    }
    if (!improved_bodies) return std::nullopt;
    StatusOr<Graph> graph = Rebuild(saturated, dag, own, std::move(to));
    if (!graph.ok()) return std::nullopt;
    return std::optional<Graph>(*std::move(graph));
  }

  static StatusOr<Graph> Rebuild(const Saturated& saturated,
                                 const eg::DagProblem& dag,
                                 const extract::Selection& selection,
                                 Graph to) {
    std::vector<eg::NodeId> by_class(saturated.tensors.graph().node_limit());
    for (uint32_t c = 0; c < selection.size(); ++c) {
      if (selection[c] == extract::kNoNode) continue;
      by_class[dag.class_of[c].value()] = dag.node_of[selection[c]];
    }
    return saturated.program.Rebuild(
        [&](eg::ClassId c) {
          return by_class[saturated.tensors.graph().Find(c).value()];
        },
        std::move(to), saturated.bodies);
  }

  // Of whole graphs, by what becomes of them.
  bool IsBetter(const Graph& before, const Graph& after) const {
    const auto old_seconds = costs_.GraphSeconds(before);
    const auto new_seconds = costs_.GraphSeconds(after);
    if (!old_seconds || !new_seconds ||
        *new_seconds > *old_seconds * (1 - kLeastGain)) {
      return false;
    }
    return WeightBytes(after) <= WeightBytes(before) * kMostWeightBytes;
  }

  const ImproveOptions& options_;
  const RooflineCosts roofline_;
  const Costs& costs_;
  std::vector<TextRule> rules_;
  std::vector<RuleCount> counts_;
  bool merge_products_ = false;
  RuleCount merged_;
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
