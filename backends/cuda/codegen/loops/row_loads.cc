#include "encore/backends/cuda/codegen/loops/row_loads.h"

#include <algorithm>

namespace encore::backends::cuda {
namespace {

bool IsShared(const FlatRegion& flat, const FlatAccess& load,
              std::span<const uint32_t> row) {
  bool differs = false;
  for (const auto& [v, coefficient] : load.address.terms) {
    if (flat.extents[v] == 1) continue;
    if (std::ranges::find(row, v) == row.end()) return false;
    differs = true;
  }
  return differs && load.dynamic.empty();
}

}  // namespace

std::vector<bool> NeededBy(const Region& region, uint32_t stage) {
  const Stage& of = region.stages[stage];
  std::vector<ExprId> roots = {of.value};
  for (const Store& store : of.stores) {
    roots.push_back(store.value);
    for (const Index& index : store.indices) roots.push_back(index.indirect);
  }
  return Reachable(region, roots);
}

RowLoads FindRowLoads(const FlatRegion& flat, std::span<const uint32_t> stages,
                      std::span<const uint32_t> row) {
  const Region& region = *flat.region;
  std::vector<bool> needed(region.exprs.size());
  for (const uint32_t s : stages) {
    const std::vector<bool> by_stage = NeededBy(region, s);
    for (size_t e = 0; e < needed.size(); ++e) {
      if (by_stage[e]) needed[e] = true;
    }
  }
  RowLoads loads;
  for (uint32_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (!needed[e] || expr.kind != Expr::Kind::kLoad) continue;
    if (region.accesses[expr.number].source != Access::Source::kInput) {
      loads.results.push_back(e);
      continue;
    }
    loads.inputs.push_back(e);
    if (IsShared(flat, flat.loads[expr.number], row)) {
      loads.shared.push_back(e);
    }
  }
  return loads;
}

}  // namespace encore::backends::cuda
