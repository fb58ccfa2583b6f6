#include "encore/opt/tensor/parts/improve_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/transform/rewrite.h"

namespace encore::opt {
namespace {

// Beyond so many, kinds behind the first ones that fit are left out with them.
constexpr int kMostKindsLeftOut = 8;
// Graphs that are judged to find these: each costs what fusion of it does.
constexpr int kMostJudged = 24;

void AddFigures(const Improved& part, Improved* sum) {
  sum->own_choice += part.own_choice;
  sum->best_choice += part.best_choice;
  if (sum->bound && part.bound) {
    *sum->bound += *part.bound;
  } else {
    sum->bound.reset();
  }
}

// Whether computed values stand between the first and the last node of a part
// that it does not make; by part. Weights are prepared elsewhere.
std::vector<bool> AmongOthers(const Graph& graph,
                              const std::vector<Part>& parts) {
  const std::vector<bool> weights = WeightOnlyValues(graph);
  std::vector<int> before(graph.node_count() + 1);  // such nodes, by node
  for (const NodeId node : Nodes(graph)) {
    bool computed = graph.result_count(node) == 0;
    for (int i = 0; i < graph.result_count(node); ++i) {
      const ValueId value = graph.result(node, i);
      computed |= graph.argument(value) == nullptr && !weights[value.value()];
    }
    before[node.value() + 1] = before[node.value()] + (computed ? 1 : 0);
  }
  std::vector<bool> among(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::vector<NodeId>& nodes = parts[i].nodes;
    if (nodes.empty()) continue;
    int own = 0;
    for (const NodeId node : nodes) {
      own += before[node.value() + 1] - before[node.value()];
    }
    among[i] =
        before[nodes.back().value() + 1] - before[nodes.front().value()] != own;
  }
  return among;
}

}  // namespace

StatusOr<PartsImprover::Plan> PartsImprover::MakePlan(const Graph& graph,
                                                      Division division) const {
  Plan plan{.division = std::move(division), .parts = {}};
  std::set<std::string_view> fresh;
  for (const Part& part : plan.division.parts) {
    ENCORE_ASSIGN_OR_RETURN(PartGraph made, MakePartGraph(graph, part, costs_));
    const auto nodes = static_cast<int>(part.nodes.size());
    plan.nodes += nodes;
    plan.parts.push_back(std::move(made));
    PartGraph& kept = plan.parts.back();
    if (!kinds_.contains(kept.key) && fresh.insert(kept.key).second) {
      plan.new_nodes += nodes;
    } else {
      kept.graph = Graph("");
    }
  }
  return plan;
}

StatusOr<const PartsImprover::Kind*> PartsImprover::KindOf(const Part& part,
                                                           PartGraph made) {
  const auto [it, fresh] = kinds_.try_emplace(std::move(made.key));
  Kind& kind = it->second;
  if (!fresh) return &kind;
  std::vector<bool> shared;
  for (const Part::Input& input : part.inputs) shared.push_back(input.shared);
  ENCORE_ASSIGN_OR_RETURN(kind.improved, improve_(made.graph, shared));
  for (size_t i = 0; i < made.origins.size(); ++i) {
    kind.origins.emplace(made.origins[i], i);
  }
  return &kind;
}

StatusOr<PartsImprover::Outcome> PartsImprover::Run(const Round& round,
                                                    Plan plan) {
  Outcome outcome;
  outcome.figures.bound = 0;
  const std::vector<Part>& parts = plan.division.parts;
  parts_ += static_cast<int>(parts.size());
  std::vector<Replacement> replacements(parts.size());
  std::vector<std::vector<std::string>> origins(parts.size());
  const std::vector<bool> among_others = AmongOthers(round.graph, parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    origins[i] = plan.parts[i].origins;
    ENCORE_ASSIGN_OR_RETURN(const Kind* const kind,
                            KindOf(parts[i], std::move(plan.parts[i])));
    AddFigures(kind->improved, &outcome.figures);
    if (!kind->improved.graph) continue;
    outcome.among_others |= among_others[i];
    replacements[i].graph = &*kind->improved.graph;
    replacements[i].origin =
        [kind,
         &names = origins[i]](const std::string& origin) -> std::string_view {
      const auto it = kind->origins.find(origin);
      return it == kind->origins.end() ? std::string_view() : names[it->second];
    };
  }
  ENCORE_ASSIGN_OR_RETURN(outcome.assembled,
                          PutTogether(round, parts, std::move(replacements)));
  return outcome;
}

bool PartsImprover::MayJudge() {
  if (deadline_ != nullptr && deadline_->Passed()) return false;
  return judged_ < kMostJudged;
}

StatusOr<std::optional<Assembled>> PartsImprover::PutTogether(
    const Round& round, const std::vector<Part>& parts,
    std::vector<Replacement> replacements) {
  std::vector<const Graph*> kinds;  // what takes the place of parts, in order
  for (const Replacement& replacement : replacements) {
    if (replacement.graph != nullptr &&
        std::ranges::find(kinds, replacement.graph) == kinds.end()) {
      kinds.push_back(replacement.graph);
    }
  }
  const auto assemble =
      [&](size_t count) -> StatusOr<std::optional<Assembled>> {
    if (count == 0 && !round.improved_bodies) return std::nullopt;
    std::vector<Replacement> some = replacements;
    for (Replacement& replacement : some) {
      const auto end = kinds.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(kinds.begin(), end, replacement.graph) == end) {
        replacement.graph = nullptr;
      }
    }
    ENCORE_ASSIGN_OR_RETURN(
        Assembled assembled,
        Assemble(round.graph, parts, some, round.bodies, round.to.NewBody("")));
    assembled.graph.set_name(round.graph.name());
    return std::optional(std::move(assembled));
  };
  const auto fits = [&](const Graph& graph) {
    ++judged_;
    return fits_(*round.whole, graph, true);
  };
  for (int left_out = 0;; ++left_out) {
    ENCORE_ASSIGN_OR_RETURN(auto all, assemble(kinds.size()));
    if (kinds.empty() || round.whole == nullptr) return all;
    if (!MayJudge()) return assemble(0);
    if (fits(all->graph)) return all;
    // None of them does fit, all of them do not.
    size_t few = 0, many = kinds.size();
    while (many - few > 1 && MayJudge()) {
      const size_t middle = few + (many - few) / 2;
      ENCORE_ASSIGN_OR_RETURN(const auto some, assemble(middle));
      (fits(some->graph) ? few : many) = middle;
    }
    if (left_out == kMostKindsLeftOut || !MayJudge()) return assemble(few);
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(few));
  }
}

StatusOr<PartsImprover::Rounds> PartsImprover::InTwoRounds(
    const Graph& graph, Plan plan, const BodiesOf& bodies, bool improved_bodies,
    const Graph& to, bool judged) {
  const Graph* const whole = judged ? &graph : nullptr;
  const std::vector<bool> cut = plan.division.cut;
  ENCORE_ASSIGN_OR_RETURN(
      Outcome first,
      Run({graph, bodies, improved_bodies, to, whole}, std::move(plan)));
  const Graph& next = first.assembled ? first.assembled->graph : graph;
  std::vector<bool> cut_now(next.value_count());
  for (uint32_t v = 0; v < cut.size(); ++v) {
    const ValueId value =
        first.assembled ? first.assembled->values[v] : ValueId(v);
    if (cut[v] && value.valid()) cut_now[value.value()] = true;
  }
  ENCORE_ASSIGN_OR_RETURN(plan,
                          MakePlan(next, DivideAroundCuts(next, cut_now)));
  const BodiesOf copies = [&next](NodeId node, const Graph& in) {
    return CopyBodies(next, node, in);
  };
  ENCORE_ASSIGN_OR_RETURN(
      Outcome second, Run({next, copies, false, to, whole}, std::move(plan)));
  Improved result = std::move(first.figures);
  std::optional<Assembled>& last =
      second.assembled ? second.assembled : first.assembled;
  if (last) result.graph = std::move(last->graph);
  return Rounds{std::move(result), first.among_others || second.among_others};
}

StatusOr<std::optional<Improved>> PartsImprover::Improve(const Graph& graph,
                                                         const BodiesOf& bodies,
                                                         bool improved_bodies,
                                                         const Graph& to) {
  if (graph.node_count() <= limits_.whole_nodes) return std::nullopt;
  ENCORE_ASSIGN_OR_RETURN(Plan plan,
                          MakePlan(graph, Divide(graph, limits_.divide)));
  if (plan.nodes <= limits_.most_whole_nodes &&
      2 * plan.new_nodes > plan.nodes) {
    return std::nullopt;
  }
  const int parts = parts_;
  ENCORE_ASSIGN_OR_RETURN(Rounds rounds,
                          InTwoRounds(graph, std::move(plan), bodies,
                                      improved_bodies, to, /*judged=*/false));
  Improved& result = rounds.result;
  if (!result.graph || fits_(graph, *result.graph, rounds.among_others)) {
    return std::optional(std::move(result));
  }
  judged_ = 0;
  if (!MayJudge()) {
    result.graph.reset();
    return std::optional(std::move(result));
  }
  parts_ = parts;
  ENCORE_ASSIGN_OR_RETURN(plan, MakePlan(graph, Divide(graph, limits_.divide)));
  ENCORE_ASSIGN_OR_RETURN(
      rounds, InTwoRounds(graph, std::move(plan), bodies, improved_bodies, to,
                          /*judged=*/true));
  return std::optional(std::move(result));
}

}  // namespace encore::opt
