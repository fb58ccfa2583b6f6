#include "encore/backends/cpu/loops/stages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "encore/backends/cpu/loops/prune.h"
#include "encore/backends/region/affine.h"

namespace encore::backends::cpu {
namespace {

// The variables of the store's dims, outermost first; nothing where two points
// of `count` variables may be of one element.
std::optional<std::vector<uint32_t>> OneToOne(const Store& store,
                                              size_t count) {
  std::vector<uint32_t> variables;
  for (const Index& index : store.indices) {
    if (index.indirect.valid() || index.divisor != 1 ||
        index.terms.size() > 1) {
      return std::nullopt;
    }
    for (const Index::Term& term : index.terms) {
      if (std::ranges::count(variables, term.variable) > 0) return std::nullopt;
      variables.push_back(term.variable);
    }
  }
  if (variables.size() != count) return std::nullopt;
  return variables;
}

bool OnlyStores(const Region& region, const Stage& stage) {
  if (stage.kind != Stage::Kind::kMap || stage.value.valid() ||
      stage.stores.size() != 1 || stage.stores[0].checked ||
      stage.stores[0].update != Update::kSet) {
    return false;
  }
  const std::vector<bool> needed = Reachable(region, {stage.stores[0].value});
  for (size_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (needed[e] && expr.kind == Expr::Kind::kLoad &&
        region.accesses[expr.number].source == Access::Source::kStage) {
      return false;
    }
  }
  return true;
}

bool AreApart(const Store& a, const Store& b, const Region& region) {
  if (a.output != b.output) return true;
  for (size_t d = 0; d < a.indices.size(); ++d) {
    const auto first = Range(a.indices[d], region.extents);
    const auto second = Range(b.indices[d], region.extents);
    if (first && second &&
        (first->second < second->first || second->second < first->first)) {
      return true;
    }
  }
  return false;
}

bool AreApart(const Region& region) {
  for (size_t s = 0; s < region.stages.size(); ++s) {
    for (size_t t = 0; t < s; ++t) {
      if (!AreApart(region.stages[s].stores[0], region.stages[t].stores[0],
                    region)) {
        return false;
      }
    }
  }
  return true;
}

// The stage alone, its variables the outer ones in that order.
Region Alone(const Region& region, size_t stage,
             const std::vector<uint32_t>& variables) {
  Region alone = region;
  alone.stages = {region.stages[stage]};
  alone.stages[0].loops.clear();
  Prune(&alone);
  alone.extents.clear();
  alone.outer = static_cast<uint32_t>(variables.size());
  std::vector<uint32_t> renamed(region.extents.size());
  for (uint32_t i = 0; i < variables.size(); ++i) {
    renamed[variables[i]] = i;
    alone.extents.push_back(region.extents[variables[i]]);
  }
  const auto rename = [&](std::vector<Index>* indices) {
    for (Index& index : *indices) {
      for (Index::Term& term : index.terms) {
        term.variable = renamed[term.variable];
      }
      std::ranges::sort(index.terms, {}, &Index::Term::variable);
    }
  };
  for (Access& access : alone.accesses) rename(&access.indices);
  rename(&alone.stages[0].stores[0].indices);
  for (Expr& expr : alone.exprs) {
    if (expr.kind == Expr::Kind::kVariable) expr.number = renamed[expr.number];
  }
  return alone;
}

}  // namespace

std::vector<Region> SeparateStages(const Region& region) {
  if (!region.checks.empty() ||
      !std::ranges::all_of(region.stages, [&](const Stage& stage) {
        return OnlyStores(region, stage);
      })) {
    return {};
  }
  if (region.stages.size() == 1 && region.stages[0].loops.empty()) return {};
  if (!AreApart(region)) return {};
  std::vector<Region> alone;
  for (size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    const auto variables =
        OneToOne(stage.stores[0], region.outer + stage.loops.size());
    if (!variables) return {};
    alone.push_back(Alone(region, s, *variables));
  }
  return alone;
}

}  // namespace encore::backends::cpu
