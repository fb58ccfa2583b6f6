#include "encore/backends/cuda/codegen/row_loads.h"

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

RowLoads FindRowLoads(const FlatRegion& flat, std::span<const uint32_t> stages,
                      std::span<const uint32_t> row) {
  const Region& region = *flat.region;
  std::vector<ExprId> roots;
  for (const uint32_t s : stages) {
    roots.push_back(region.stages[s].value);
    for (const Store& store : region.stages[s].stores) {
      roots.push_back(store.value);
      for (const Index& index : store.indices) {
        roots.push_back(index.indirect);
      }
    }
  }
  const std::vector<bool> needed = Reachable(region, roots);
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
