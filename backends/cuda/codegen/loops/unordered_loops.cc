#include "encore/backends/cuda/codegen/loops/unordered_loops.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace encore::backends::cuda {
namespace {

using Variables = std::vector<uint32_t>;

// The variables of the region that `kept`, one of a flat list, stands for.
Variables Constituents(const FlatRegion& flat, const Variables& original,
                       uint32_t kept) {
  Variables parts;
  for (const uint32_t v : original) {
    parts.push_back(v);
    if (v == kept) return parts;
    if (!(flat.extents[v] == 1)) parts.clear();  // the end of another one
  }
  return parts;
}

// Of `loops`, which take part in `index`, those whose change changes it: all,
// where no two of their points give the same index.
Variables Distinguished(const FlatRegion& flat, const Index& index,
                        const Variables& loops,
                        const std::vector<bool>& depends_on_loops) {
  const Region& region = *flat.region;
  if (index.divisor != 1) return {};
  if (index.indirect.valid() && depends_on_loops[index.indirect.value()]) {
    return {};
  }
  std::vector<std::pair<int64_t, int64_t>> steps;  // |stride|, extent
  Variables found;
  for (const Index::Term& term : index.terms) {
    if (std::ranges::find(loops, term.variable) == loops.end()) continue;
    const Dim& extent = region.extents[term.variable];
    found.push_back(term.variable);
    if (!term.stride.is_constant() || !extent.is_constant()) {
      // One alone needs no comparison.
      steps.emplace_back(-1, -1);
      continue;
    }
    steps.emplace_back(std::abs(term.stride.constant()), extent.constant());
  }
  if (steps.size() <= 1) return found;
  std::ranges::sort(steps);
  int64_t reach = 0;
  for (const auto& [stride, extent] : steps) {
    if (stride < 0 || stride <= reach) return {};
    reach += stride * std::max<int64_t>(extent - 1, 0);
  }
  return found;
}

// By expression: whether it depends on one of `loops`.
std::vector<bool> DependsOn(const Region& region, const Variables& loops) {
  std::vector<bool> depends(region.exprs.size());
  const auto is_loop = [&](uint32_t v) {
    return std::ranges::find(loops, v) != loops.end();
  };
  for (size_t e = 0; e < region.exprs.size(); ++e) {
    const Expr& expr = region.exprs[e];
    bool found = expr.kind == Expr::Kind::kVariable && is_loop(expr.number);
    for (const ExprId operand : expr.operands) {
      if (operand.valid()) found |= depends[operand.value()];
    }
    if (expr.kind == Expr::Kind::kLoad) {
      const Access& access = region.accesses[expr.number];
      if (access.fill.valid()) found |= depends[access.fill.value()];
      for (const Index& index : access.indices) {
        if (index.indirect.valid()) found |= depends[index.indirect.value()];
        for (const Index::Term& term : index.terms) {
          found |= is_loop(term.variable);
        }
      }
    }
    depends[e] = found;
  }
  return depends;
}

}  // namespace

std::vector<uint32_t> UnorderedLoops(const FlatRegion& flat, uint32_t stage) {
  const Stage& of = flat.region->stages[stage];
  if (of.stores.empty()) return flat.loops[stage];
  const std::vector<bool> depends = DependsOn(*flat.region, of.loops);
  Variables safe = of.loops;
  for (const Store& store : of.stores) {
    Variables found;
    for (const Index& index : store.indices) {
      const Variables here = Distinguished(flat, index, of.loops, depends);
      found.insert(found.end(), here.begin(), here.end());
    }
    std::erase_if(safe, [&](uint32_t v) {
      return !(flat.region->extents[v] == Dim(1)) &&
             std::ranges::find(found, v) == found.end();
    });
  }
  Variables result;
  for (const uint32_t v : flat.loops[stage]) {
    const Variables parts = Constituents(flat, of.loops, v);
    if (std::ranges::all_of(parts, [&](uint32_t part) {
          return std::ranges::find(safe, part) != safe.end();
        })) {
      result.push_back(v);
    }
  }
  return result;
}

}  // namespace encore::backends::cuda
