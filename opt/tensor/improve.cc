#include "encore/opt/tensor/improve.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/tensor/choose_graph.h"
#include "encore/opt/tensor/coded/apply_coded_rules.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/kept/choice_keeper.h"
#include "encore/opt/tensor/kept/kept_choices.h"
#include "encore/opt/tensor/parts/improve_parts.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/saturate.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"
#include "encore/opt/tensor/wide_weights.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;
using Clock = std::chrono::steady_clock;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// What the values that live at once, with inputs and outputs, may grow by. A
// large graph has its parts improved twice, each time by what its share of the
// graph's own allows.
constexpr double kMoreLiveBytes = 0.05, kMoreLiveBytesOfParts = 0.025;
// A cache of the first level holds these: no more of them is too many.
constexpr double kFewLiveBytes = 32768;

// Of what lives beside the values between kernels: inputs and outputs.
double BytesOfSignature(const Graph& graph) {
  double bytes = 0;
  const auto add = [&](ValueId value) {
    const TensorType& type = graph.type(value);
    if (type.kind != ValueKind::kTensor) return;
    bytes += TypicalBytes(type, graph.symbols());
  };
  for (const Graph::Argument& argument : graph.arguments()) {
    if (!argument.is_parameter) add(argument.value);
  }
  for (const Graph::Output& output : graph.outputs()) add(output.value);
  return bytes;
}

class Improver {
 public:
  explicit Improver(const ImproveOptions& options)
      : options_(options),
        costs_(options.costs != nullptr ? *options.costs : roofline_),
        floats_(options.level == RewriteLevel::kFast ? RoundedFloats::kAll
                                                     : RoundedFloats::kWide),
        keeper_(options, costs_),
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
    whole_ = &from;
    whole_live_bytes_.reset();
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
    if (options_.report_costs) {
      report.cost_before = costs_.GraphSeconds(before).value_or(kInfinity);
      report.cost_after = after == nullptr
                              ? report.cost_before
                              : costs_.GraphSeconds(*after).value_or(kInfinity);
    }
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
    bool is_part = false;
  };
  struct Saturated {
    const Graph& from;
    TensorEGraph& tensors;
    const TensorProgram& program;
    const BodiesOf& bodies;
    const Context& context;
    double own_cost = 0;  // of all nodes, before any are shown to be equal
    eg::RuleBook book{};
    SaturationFigures figures{};
  };

  // In one e-graph, or as it was found in one before.
  StatusOr<Improved> AsWhole(const Graph& from, Graph to,
                             const BodiesOf& bodies, const Context& context) {
    std::optional<ChoicesOfGraph> kept = keeper_.Open(from);
    if (kept) {
      const Terms terms = TermsOf(from, context);
      ENCORE_ASSIGN_OR_RETURN(auto recalled, kept->Recall(terms, to));
      if (recalled) {
        if (options_.report != nullptr) ++options_.report->recalled;
        Report(recalled->figures);
        return Improved{
            .graph = std::move(recalled->best.graph),
            .own_choice = recalled->own_seconds,
            .best_choice = recalled->best.cost.value_or(recalled->own_seconds),
            .bound = recalled->best.bound};
      }
    }
    ENCORE_ASSIGN_OR_RETURN(Improved improved,
                            InEGraph(from, std::move(to), bodies, context,
                                     kept ? &*kept : nullptr));
    const bool cut_short =
        options_.deadline != nullptr && options_.deadline->cut_short();
    if (kept && !cut_short && !faulty_) kept->Keep();
    return improved;
  }

  // In one e-graph. `kept`, which may be null, is told what is found.
  StatusOr<Improved> InEGraph(const Graph& from, Graph to,
                              const BodiesOf& bodies, const Context& context,
                              ChoicesOfGraph* kept) {
    TensorEGraph tensors(
        from.symbols(),
        options_.observer != nullptr && options_.observer->wants_reasons());
    const TensorProgram program(from, &tensors);
    Saturated saturated{from,   tensors, program,
                        bodies, context, OwnSeconds(program, tensors, costs_)};
    const Clock::time_point begin = Clock::now();
    const bool changed = Saturate(&saturated);
    AddTime(begin, &ImproveReport::saturate_seconds);
    Report(saturated.figures);
    if (kept != nullptr) {
      kept->Saturated(saturated.own_cost, saturated.figures, changed);
    }
    const bool watched = options_.observer != nullptr && !faulty_;
    if (changed || context.improved_bodies || watched) {
      return Choose(saturated, std::move(to), kept);
    }
    return Improved{.graph = std::nullopt,
                    .own_choice = saturated.own_cost,
                    .best_choice = saturated.own_cost,
                    .bound = saturated.own_cost};
  }

  // Whether rules found anything.
  bool Saturate(Saturated* saturated) {
    TensorEGraph& tensors = saturated->tensors;
    const TensorProgram& program = saturated->program;
    SaturationFigures& figures = saturated->figures;
    figures.nodes = program.free_nodes();
    // A rule of the book needs two nodes.
    const int fewest = rules_.size() > book_rules_ ? 1 : 2;
    if (program.free_nodes() < fewest || (rules_.empty() && coded_.empty()))
      return false;
    Deadline* const deadline = options_.deadline;
    if (deadline != nullptr && deadline->Passed()) {
      figures.stop = eg::StopReason::kTime;
      return false;
    }
    eg::EGraph& graph = tensors.graph();
    eg::RuleBook& book = saturated->book;
    const uint64_t version = graph.version();
    coded_.Before(&tensors, &book);
    StatusOr<CompiledRules> compiled =
        CompileRules(rules_, &tensors, counts_, floats_);
    if (!compiled.ok()) return Fault(compiled.status(), "");
    std::vector<eg::RuleId> own, users;
    for (size_t i = 0; i < compiled->rules.size(); ++i) {
      (compiled->text[i] < book_rules_ ? own : users)
          .push_back(book.Add(std::move(compiled->rules[i])));
    }
    const Saturation saturation = Run(saturated, own, users);
    if (graph.version() != version) coded_.After(&tensors);
    const eg::StopReason stop = saturation.stop;
    figures = {.nodes = figures.nodes,
               .enodes = graph.num_enodes(),
               .classes = graph.num_classes(),
               .iterations = saturation.iterations,
               .stop = stop};
    if (stop == eg::StopReason::kTime && deadline != nullptr) {
      deadline->CutShort();
    }
    if (stop == eg::StopReason::kFailed) {
      return Fault(saturation.error, FaultOrigin(*saturated));
    }
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
    const double seconds = options_.deadline != nullptr
                               ? options_.deadline->SecondsLeft()
                               : std::numeric_limits<double>::infinity();
    const SaturationLimits own_limits{
        .nodes = most - std::min(most, graph.num_enodes()),
        .iterations = limits.iterations,
        .matches = limits.matches,
        .seconds = seconds};
    const auto user_nodes = static_cast<size_t>(
        static_cast<double>(own_limits.nodes) * limits.user_nodes);
    return opt::Saturate(&graph, &saturated->book, own, own_limits, users,
                         {.nodes = user_nodes,
                          .iterations = limits.user_iterations,
                          .matches = limits.matches,
                          .seconds = seconds});
  }

  void Report(const SaturationFigures& figures) {
    if (options_.report == nullptr) return;
    ImproveReport& report = *options_.report;
    report.nodes += static_cast<int>(figures.nodes);
    report.enodes += figures.enodes;
    report.classes += figures.classes;
    report.iterations = std::max<size_t>(report.iterations, figures.iterations);
    if (figures.stop == eg::StopReason::kNone) return;
    ++report.stops[std::string(eg::ToString(figures.stop))];
    if (report.stop.empty() || figures.stop != eg::StopReason::kSaturated) {
      report.stop = eg::ToString(figures.stop);
    }
  }
  void AddTime(Clock::time_point begin, double ImproveReport::* seconds) const {
    if (options_.report == nullptr) return;
    const std::chrono::duration<double> time = Clock::now() - begin;
    options_.report->*seconds += time.count();
  }

  // The first is told.
  bool Fault(const Status& status, std::string origin) {
    faulty_ = true;
    if (options_.report != nullptr && options_.report->fault.ok()) {
      options_.report->fault = status;
      options_.report->fault_origin = std::move(origin);
    }
    return false;
  }

  static std::string FaultOrigin(const Saturated& saturated) {
    const eg::ClassId fault = saturated.tensors.fault_class();
    if (!fault.valid()) return "";
    const eg::ClassId wanted = saturated.tensors.graph().Find(fault);
    for (const NodeId node : Nodes(saturated.from)) {
      for (int i = 0; i < saturated.from.result_count(node); ++i) {
        const ValueId value = saturated.from.result(node, i);
        if (saturated.program.class_of(value) == wanted) {
          return saturated.from.origin(node);
        }
      }
    }
    return "";
  }

  // Whether values do not take too many bytes at once. A part may take as much
  // more as the whole graph may.
  bool Fits(const Context& context, const GraphCost& before,
            const GraphCost& after) {
    const double more = after.live_bytes - before.live_bytes;
    if (after.live_bytes <= kFewLiveBytes) return true;
    if (!context.is_part) {
      return more <=
             (before.live_bytes + BytesOfSignature(*whole_)) * kMoreLiveBytes;
    }
    if (more <= before.live_bytes * kMoreLiveBytesOfParts) return true;
    return more <= WholeLiveBytes() * kMoreLiveBytesOfParts;
  }

  // What GraphCost::live_bytes of the whole is, known once somebody asked.
  double WholeLiveBytes() {
    if (!whole_live_bytes_) {
      const auto whole = costs_.CostOf(*whole_);
      whole_live_bytes_ = whole ? whole->live_bytes : 0;
    }
    return *whole_live_bytes_;
  }

  // Whether a graph put together of parts may take the place of `before`: each
  // of them fits, but those among others do not see what these hold meanwhile,
  // nor how long they hold what the part gives. Costs what fusion does, twice.
  bool WholeFits(const Graph& before, const Graph& after, bool among_others) {
    if (WeightBytes(after) > WeightBytes(before) * kMostWeightBytes) {
      return false;
    }
    if (!among_others) return true;
    const auto cost = costs_.CostOf(after);
    if (!cost || cost->live_bytes <= kFewLiveBytes) return true;
    return cost->live_bytes - WholeLiveBytes() <=
           (WholeLiveBytes() + BytesOfSignature(before)) * kMoreLiveBytes;
  }

  Terms TermsOf(const Graph& from, const Context& context) {
    return {
        .from = from,
        .costs = costs_,
        .shared = context.shared,
        .is_part = context.is_part,
        .fits = [this, &context](const GraphCost& was, const GraphCost& is) {
          return Fits(context, was, is);
        }};
  }

  StatusOr<Improved> Choose(const Saturated& saturated, Graph to,
                            ChoicesOfGraph* kept) {
    const double before = saturated.own_cost;
    Improved improved{.graph = std::nullopt,
                      .own_choice = before,
                      .best_choice = before,
                      .bound = std::nullopt};
    const Terms terms = TermsOf(saturated.from, saturated.context);
    const ChoiceRequest request{
        .terms = terms,
        .tensors = saturated.tensors,
        .program = saturated.program,
        .bodies = saturated.bodies,
        .own_seconds = saturated.own_cost,
        .weights = Allows(options_.level, RuleTag::kReassociating)
                       ? WeightArithmetic::kWide
                       : WeightArithmetic::kOwnType,
        .work = options_.limits.extraction_work,
        .deadline = options_.deadline,
        .told = [&](const ChoiceId& id, const Candidate& candidate) {
          if (kept != nullptr) kept->Add(id, candidate);
        }};
    const Clock::time_point begin = Clock::now();
    ENCORE_ASSIGN_OR_RETURN(Choice choice, ChooseGraph(request, to));
    AddTime(begin, &ImproveReport::judge_seconds);
    if (options_.report != nullptr) {
      options_.report->extract_seconds += choice.extract_seconds;
      options_.report->judge_seconds -= choice.extract_seconds;
    }
    if (choice.own.empty()) return improved;
    improved.bound = choice.bound;
    if (choice.result.feasible) improved.best_choice = choice.result.cost;
    improved.graph = std::move(choice.graph);
    if (options_.observer != nullptr) {
      ENCORE_RETURN_IF_ERROR(options_.observer->Extracted(
          {saturated.from, saturated.tensors, saturated.program, saturated.book,
           choice.dag, choice.result, improved.graph.has_value()}));
    }
    if (improved.graph || !saturated.context.improved_bodies) return improved;
    StatusOr<Graph> graph =
        RebuildChoice(request, choice.dag, choice.own, std::move(to));
    if (graph.ok()) improved.graph = *std::move(graph);
    return improved;
  }

  const ImproveOptions& options_;
  const RooflineCosts roofline_;
  const Costs& costs_;
  const RoundedFloats floats_;
  const ChoiceKeeper keeper_;
  CodedRuleSet coded_;
  std::vector<TextRule> rules_;  // of the book first
  size_t book_rules_ = 0;
  std::vector<RuleCount> counts_;
  bool faulty_ = false;  // a rule was wrong
  // Whose parts are being improved, and GraphCost::live_bytes of it, once
  // somebody asked.
  const Graph* whole_ = nullptr;
  std::optional<double> whole_live_bytes_;
  const ImprovePart improve_part_ = [this](const Graph& part,
                                           const std::vector<bool>& shared) {
    const BodiesOf own = [&](NodeId node, const Graph& in) {
      return CopyBodies(part, node, in);
    };
    return AsWhole(part, part.NewBody(""), own,
                   {.shared = shared, .is_part = true});
  };
  const GraphFits whole_fits_ = [this](const Graph& before, const Graph& after,
                                       bool among_others) {
    return WholeFits(before, after, among_others);
  };
  PartsImprover parts_{costs_, options_.limits.parts, improve_part_,
                       whole_fits_, options_.deadline};
};

}  // namespace

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
