#include "encore/backends/cuda/codegen/tile_plan.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "encore/backends/cuda/codegen/tiles/tile_choice.h"
#include "encore/backends/region/flat/dependences.h"

namespace encore::backends::cuda {
namespace {

using Variables = std::vector<uint32_t>;

// Tiles from the largest on; blocks that one of them has to give to be taken.
constexpr TileSize kTensorSizes[] = {{128, 128, 32, 64, 32},
                                     {64, 64, 32, 32, 32}};
constexpr int kGroup = 8;
constexpr double kEnoughBlocks = 128;
// Of a device that tiles are chosen for where none is known.
constexpr int64_t kMultiprocessors = 132;

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

// The largest tile that is filled by half and of which there are enough, else
// the smallest.
void Choose(const FlatRegion& flat, std::span<const TileSize> sizes,
            TilePlan* plan) {
  const double m = TypicalPoints(flat, plan->m.rows);
  const double n = TypicalPoints(flat, plan->n.rows);
  for (const TileSize& size : sizes) {
    plan->tile_m = size.m;
    plan->tile_n = size.n;
    plan->tile_k = size.k;
    plan->part_m = size.part_m;
    plan->part_n = size.part_n;
    const bool filled = 2 * m > size.m && 2 * n > size.n;
    if (TypicalBlocks(flat, *plan) >= kEnoughBlocks && filled) break;
  }
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
void SetSize(const TileSize& size, TilePlan* plan) {
  plan->tile_m = size.m;
  plan->tile_n = size.n;
  plan->tile_k = size.k;
  plan->part_m = size.part_m;
  plan->part_n = size.part_n;
  plan->pieces = size.pieces;
}

// Tiles along k that a piece has at least: its sum is written and read once
// more.
constexpr int kLeastTilesOfPiece = 4;
constexpr double kMostPieces = 32;

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

bool InGroups(const FlatRegion& flat, ExprId id, uint32_t variable) {
  const Expr& value = flat.region->expr(id);
  if (value.kind != Expr::Kind::kLoad) return false;
  const Access& access = flat.region->accesses[value.number];
  const FlatAccess& load = flat.loads[value.number];
  if (access.source != Access::Source::kInput || !load.dynamic.empty()) {
    return false;
  }
  const auto whole = [](const Size& size) {
    return size.is_constant() && int64_t{size} % kGroup == 0;
  };
  if (!(load.address.Coefficient(variable) == 1) ||
      !whole(load.address.offset) || !whole(flat.extents[variable])) {
    return false;
  }
  return std::ranges::all_of(load.address.terms, [&](const auto& term) {
    return term.first == variable || whole(term.second);
  });
}

std::optional<TilePlan> SplitTilePlan(const FlatRegion& flat, TilePlan plan,
                                      int64_t multiprocessors) {
  if (!plan.tensor) {
    const auto size = ChoosePieces(ProblemOf(flat, plan), multiprocessors);
    if (!size) return std::nullopt;
    SetSize(*size, &plan);
    return plan;
  }
  const double wanted = std::floor(static_cast<double>(multiprocessors) /
                                   TypicalBlocks(flat, plan));
  const double most = std::floor(TypicalPoints(flat, plan.k) /
                                 (kLeastTilesOfPiece * plan.tile_k));
  const double pieces = std::min({wanted, most, kMostPieces});
  if (pieces < 2) return std::nullopt;
  plan.pieces = static_cast<int>(pieces);
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
  if (plan.n.rows.empty() ||
      (!Stored(flat, plan.n.rows) && Stored(flat, plan.m.rows))) {
    std::swap(plan.m, plan.n);
  }
  if (plan.n.rows.empty() || plan.k.empty()) return std::nullopt;
  for (TileFactor* factor : {&plan.m, &plan.n}) {
    factor->along_k = Contiguous(flat, factor->value, plan.k) >=
                      Contiguous(flat, factor->value, factor->rows);
  }
  SetSize(ChooseTiles(ProblemOf(flat, plan), kMultiprocessors), &plan);
  return plan;
}

std::optional<TilePlan> MakeTensorPlan(const FlatRegion& flat,
                                       std::optional<DType> precision) {
  std::optional<TilePlan> plan = MakeTilePlan(flat);
  if (!plan || plan->m.rows.empty()) return std::nullopt;
  const Region& region = *flat.region;
  // In which tensor cores sum.
  if (region.expr(region.stages[0].value).dtype != DType::kF32) {
    return std::nullopt;
  }
  // The factors as they are before products are made of them.
  for (TileFactor* factor : {&plan->m, &plan->n}) {
    factor->value = WithoutWidening(region, factor->value);
  }
  const DType dtype = region.expr(plan->m.value).dtype;
  if (dtype != region.expr(plan->n.value).dtype) return std::nullopt;
  if (IsTensor(dtype)) {
    plan->tensor = dtype;
  } else if (dtype == DType::kF32 && precision) {
    plan->tensor = precision;
  } else {
    return std::nullopt;
  }
  for (TileFactor* factor : {&plan->m, &plan->n}) {
    const uint32_t along = (factor->along_k ? plan->k : factor->rows).back();
    factor->in_groups =
        dtype == *plan->tensor && InGroups(flat, factor->value, along);
  }
  Choose(flat, kTensorSizes, &*plan);
  // 64 bytes of each row.
  if (*plan->tensor == DType::kF32) plan->tile_k /= 2;
  return plan;
}

}  // namespace encore::backends::cuda
