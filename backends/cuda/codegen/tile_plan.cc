#include "encore/backends/cuda/codegen/tile_plan.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "encore/backends/region/flat/dependences.h"

namespace encore::backends::cuda {
namespace {

using Variables = std::vector<uint32_t>;

// Elements that are loaded at once, without tensor cores.
constexpr int kLeastGroup = 4;

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

TileProblem ProblemOf(const FlatRegion& flat, const TilePlan& plan) {
  return {.m = TypicalPoints(flat, plan.m.rows),
          .n = TypicalPoints(flat, plan.n.rows),
          .k = TypicalPoints(flat, plan.k),
          .batch = TypicalPoints(flat, plan.batch),
          .element_bytes =
              BitWidth(flat.region->stages[plan.stage].dtype) > 32 ? 8 : 4};
}

// Without tensor cores.
void SetSize(const TileProblem& problem, const TileSize& size,
             const TileMachine& machine, TilePlan* plan) {
  plan->tile_m = size.m;
  plan->tile_n = size.n;
  plan->tile_k = size.k;
  plan->part_m = size.part_m;
  plan->part_n = size.part_n;
  plan->pieces = size.pieces;
  plan->cycles = TileClocks(problem, size, machine);
}

}  // namespace

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

bool IsTensor(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

ExprId WithoutWidening(const Region& region, ExprId id) {
  constexpr int kLeastBits = 16;
  const auto widens = [&](const Expr& expr) {
    if (expr.kind != Expr::Kind::kOp || expr.op != Op::kCast) return false;
    const DType from = region.expr(expr.operands[0]).dtype;
    return IsFloat(from) && IsFloat(expr.dtype) &&
           BitWidth(from) >= kLeastBits &&
           BitWidth(expr.dtype) > BitWidth(from);
  };
  while (widens(region.expr(id))) id = region.expr(id).operands[0];
  return id;
}

bool InGroups(const FlatRegion& flat, ExprId id, uint32_t variable, int group) {
  const Expr& value = flat.region->expr(id);
  if (value.kind != Expr::Kind::kLoad) return false;
  const Access& access = flat.region->accesses[value.number];
  const FlatAccess& load = flat.loads[value.number];
  if (access.source != Access::Source::kInput || !load.dynamic.empty()) {
    return false;
  }
  const auto whole = [group](const Size& size) {
    return size.is_constant() && int64_t{size} % group == 0;
  };
  if (!(load.address.Coefficient(variable) == 1) ||
      !whole(load.address.offset) || !whole(flat.extents[variable])) {
    return false;
  }
  return std::ranges::all_of(load.address.terms, [&](const auto& term) {
    return term.first == variable || whole(term.second);
  });
}

void OrderSums(const FlatRegion& flat, TilePlan* plan) {
  plan->steps_in_last = false;
  if (plan->k.size() < 2) return;
  const auto extent = [&](uint32_t v) {
    const Size& size = flat.extents[v];
    const bool fills = size.is_constant() && int64_t{size} % plan->tile_k == 0;
    return fills ? int64_t{size} : 0;
  };
  const auto in_groups = [&](const TileFactor& factor) {
    if (plan->tensor) return factor.group > 1;
    const ExprId value = WithoutWidening(*flat.region, factor.value);
    const Variables& along = factor.along_k ? plan->k : factor.rows;
    return InGroups(flat, value, along.back(), kLeastGroup);
  };
  const bool groups[] = {in_groups(plan->m), in_groups(plan->n)};
  if (!groups[0] && !groups[1]) {
    const auto most = std::ranges::max_element(plan->k, {}, extent);
    std::rotate(most, most + 1, plan->k.end());
  }
  if (extent(plan->k.back()) == 0) return;
  plan->steps_in_last = true;
  for (const bool first : {true, false}) {
    TileFactor& factor = first ? plan->m : plan->n;
    if (groups[first ? 0 : 1]) continue;
    factor.along_k = Contiguous(flat, factor.value, {plan->k.back()}) >=
                     Contiguous(flat, factor.value, factor.rows);
  }
}

std::optional<TilePlan> SplitTilePlan(const FlatRegion& flat, TilePlan plan,
                                      const TileMachine& machine) {
  const TileProblem problem = ProblemOf(flat, plan);
  const auto size = ChoosePieces(problem, machine);
  if (!size) return std::nullopt;
  SetSize(problem, *size, machine, &plan);
  OrderSums(flat, &plan);
  return plan;
}

double TypicalBlocks(const FlatRegion& flat, const TilePlan& plan) {
  const double tiles =
      std::ceil(TypicalPoints(flat, plan.m.rows) / plan.tile_m) *
      std::ceil(TypicalPoints(flat, plan.n.rows) / plan.tile_n) *
      TypicalPoints(flat, plan.batch);
  return std::max(tiles, 1.0) * plan.pieces;
}

double TypicalPoints(const FlatRegion& flat, const Variables& variables) {
  double points = 1;
  for (const uint32_t v : variables) {
    points *= static_cast<double>(flat.extents[v].typical());
  }
  return points;
}

std::optional<TilePlan> MakeTilePlan(const FlatRegion& flat,
                                     const TileMachine& machine) {
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
  if (plan.n.rows.empty() ||
      (!Stored(flat, plan.n.rows) && Stored(flat, plan.m.rows))) {
    std::swap(plan.m, plan.n);
  }
  if (plan.n.rows.empty() || plan.k.empty()) return std::nullopt;
  // A row of computed factors is no matter of tiles: nothing is read twice, and
  // a thread's elements would be as many copies of what computes them.
  const auto loads = [&region](const TileFactor& factor) {
    return region.expr(WithoutWidening(region, factor.value)).kind ==
           Expr::Kind::kLoad;
  };
  if (plan.m.rows.empty() && !(loads(plan.m) && loads(plan.n))) {
    return std::nullopt;
  }
  for (TileFactor* factor : {&plan.m, &plan.n}) {
    factor->along_k = Contiguous(flat, factor->value, plan.k) >=
                      Contiguous(flat, factor->value, factor->rows);
  }
  const TileProblem problem = ProblemOf(flat, plan);
  SetSize(problem, ChooseTiles(problem, machine), machine, &plan);
  OrderSums(flat, &plan);
  return plan;
}

}  // namespace encore::backends::cuda
