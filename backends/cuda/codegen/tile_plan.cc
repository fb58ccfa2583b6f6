#include "encore/backends/cuda/codegen/tile_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "encore/backends/cuda/codegen/dependences.h"

namespace encore::backends::cuda {
namespace {

using Variables = std::vector<uint32_t>;

// Tiles from the largest on; blocks that one of them has to give to be taken.
struct TileSize {
  int m, n, k, thread_m, thread_n;
};
constexpr TileSize kSizes[] = {
    {128, 128, 8, 8, 8}, {64, 64, 16, 4, 4}, {32, 32, 16, 2, 2}};
constexpr double kEnoughBlocks = 128;

bool IsSumOfProducts(const FlatRegion& flat) {
  const Region& region = *flat.region;
  if (region.stages.empty() || !region.checks.empty()) return false;
  const Stage& stage = region.stages[0];
  if (stage.kind != Stage::Kind::kReduce ||
      stage.combiner != RegionCombiner::kSum || !flat.loops[0].empty()) {
    return false;
  }
  const Expr& value = region.expr(stage.value);
  if (value.kind != Expr::Kind::kOp || value.op != Op::kMul) return false;
  for (size_t s = 1; s < region.stages.size(); ++s) {
    if (region.stages[s].kind != Stage::Kind::kMap || !flat.loops[s].empty()) {
      return false;
    }
  }
  return true;
}

// How often neighbours in one of `variables` lie side by side in what `value`
// loads.
int Contiguous(const FlatRegion& flat, ExprId value,
               const Variables& variables) {
  const std::vector<bool> needed = Reachable(*flat.region, {value});
  int count = 0;
  for (size_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = flat.region->exprs[e];
    if (!needed[e] || expr.kind != Expr::Kind::kLoad) continue;
    for (const uint32_t v : variables) {
      count += flat.loads[expr.number].address.Coefficient(v) == 1;
    }
  }
  return count;
}

// Whether neighbours in one of `variables` lie side by side in what is stored.
bool Stored(const FlatRegion& flat, const Variables& variables) {
  for (const auto& stores : flat.stores) {
    for (const FlatAccess& store : stores) {
      for (const uint32_t v : variables) {
        if (store.address.Coefficient(v) == 1) return true;
      }
    }
  }
  return false;
}

}  // namespace

double TypicalPoints(const FlatRegion& flat, const Variables& variables) {
  double points = 1;
  for (const uint32_t v : variables) {
    points *= static_cast<double>(flat.extents[v].typical());
  }
  return points;
}

std::optional<TilePlan> MakeTilePlan(const FlatRegion& flat) {
  if (!IsSumOfProducts(flat)) return std::nullopt;
  const Region& region = *flat.region;
  const Expr& product = region.expr(region.stages[0].value);
  TilePlan plan;
  plan.m.value = product.operands[0];
  plan.n.value = product.operands[1];
  plan.k = flat.reduced[0];
  const Dependences depends(flat);
  for (const uint32_t v : flat.outer) {
    const bool first = depends.On(plan.m.value, v);
    const bool second = depends.On(plan.n.value, v);
    if (!first && !second) return std::nullopt;
    (first && second ? plan.batch
     : first         ? plan.m.rows
                     : plan.n.rows)
        .push_back(v);
  }
  if (plan.m.rows.empty() || plan.n.rows.empty() || plan.k.empty()) {
    return std::nullopt;
  }
  if (!Stored(flat, plan.n.rows) && Stored(flat, plan.m.rows)) {
    std::swap(plan.m, plan.n);
  }
  for (TileFactor* factor : {&plan.m, &plan.n}) {
    factor->along_k = Contiguous(flat, factor->value, plan.k) >=
                      Contiguous(flat, factor->value, factor->rows);
  }
  const double m = TypicalPoints(flat, plan.m.rows);
  const double n = TypicalPoints(flat, plan.n.rows);
  for (const TileSize& size : kSizes) {
    plan.tile_m = size.m;
    plan.tile_n = size.n;
    plan.tile_k = size.k;
    plan.thread_m = size.thread_m;
    plan.thread_n = size.thread_n;
    const double blocks = std::ceil(m / size.m) * std::ceil(n / size.n) *
                          TypicalPoints(flat, plan.batch);
    if (blocks >= kEnoughBlocks) break;
  }
  return plan;
}

}  // namespace encore::backends::cuda
