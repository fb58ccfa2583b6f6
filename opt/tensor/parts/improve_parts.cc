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

// Beyond so many nothing is changed.
constexpr int kMostKindsLeftOut = 8;

void AddFigures(const Improved& part, Improved* sum) {
  sum->own_choice += part.own_choice;
  sum->best_choice += part.best_choice;
  if (sum->bound && part.bound) {
    *sum->bound += *part.bound;
  } else {
    sum->bound.reset();
  }
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
  for (size_t i = 0; i < parts.size(); ++i) {
    origins[i] = plan.parts[i].origins;
    ENCORE_ASSIGN_OR_RETURN(const Kind* const kind,
                            KindOf(parts[i], std::move(plan.parts[i])));
    AddFigures(kind->improved, &outcome.figures);
    if (!kind->improved.graph) continue;
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

StatusOr<std::optional<Assembled>> PartsImprover::PutTogether(
    const Round& round, const std::vector<Part>& parts,
    std::vector<Replacement> replacements) const {
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
  for (int left_out = 0; left_out <= kMostKindsLeftOut; ++left_out) {
    ENCORE_ASSIGN_OR_RETURN(auto all, assemble(kinds.size()));
    if (kinds.empty() || round.whole == nullptr) return all;
    if (fits_(*round.whole, all->graph)) return all;
    // None of them does fit, all of them do not.
    size_t few = 0, many = kinds.size();
    while (many - few > 1) {
      const size_t middle = few + (many - few) / 2;
      ENCORE_ASSIGN_OR_RETURN(const auto some, assemble(middle));
      const bool fits = fits_(*round.whole, some->graph);
      (fits ? few : many) = middle;
    }
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(few));
  }
  return assemble(0);
}

StatusOr<Improved> PartsImprover::InTwoRounds(const Graph& graph, Plan plan,
                                              const BodiesOf& bodies,
                                              bool improved_bodies,
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
  return result;
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
  ENCORE_ASSIGN_OR_RETURN(Improved result,
                          InTwoRounds(graph, std::move(plan), bodies,
                                      improved_bodies, to, /*judged=*/false));
  if (!result.graph) return std::optional(std::move(result));
  if (fits_(graph, *result.graph)) return std::optional(std::move(result));
  parts_ = parts;
  ENCORE_ASSIGN_OR_RETURN(plan, MakePlan(graph, Divide(graph, limits_.divide)));
  ENCORE_ASSIGN_OR_RETURN(
      result, InTwoRounds(graph, std::move(plan), bodies, improved_bodies, to,
                          /*judged=*/true));
  return std::optional(std::move(result));
}

}  // namespace encore::opt
