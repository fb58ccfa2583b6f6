#include "encore/backends/cuda/codegen/tiles/tile_groups.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "encore/backends/cuda/codegen/loops/row_loads.h"

namespace encore::backends::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kRegistersOfFile = 64 * 1024;  // of a multiprocessor
// Lanes of a warp along n, whose groups fill the banks of shared memory.
constexpr int kLanesAcross = 8;

bool FitsGroup(DType dtype) {
  return !IsPacked(dtype) && kTileGroup * BitWidth(dtype) <= kTileGroupBits;
}

// Whether each group along `variable`, the first at a multiple of it, is as
// many neighbours, at a multiple of it too.
bool InGroups(const FlatAccess& access, uint32_t variable) {
  const auto whole = [](const Size& size) {
    return size.is_constant() && int64_t{size} % kTileGroup == 0;
  };
  return access.dynamic.empty() && access.address.Coefficient(variable) == 1 &&
         whole(access.address.offset) &&
         std::ranges::all_of(access.address.terms, [&](const auto& term) {
           return term.first == variable || whole(term.second);
         });
}

// A load of an input whose groups of neighbours along `variable` are
// neighbours in memory, if what is in *conditions is a multiple of the group.
bool LiesInGroups(const FlatRegion& flat, const Expr& value, uint32_t variable,
                  std::vector<Size>* conditions) {
  if (value.kind != Expr::Kind::kLoad || IsPacked(value.dtype)) return false;
  const Access& access = flat.region->accesses[value.number];
  const FlatAccess& load = flat.loads[value.number];
  if (access.source != Access::Source::kInput || !load.dynamic.empty() ||
      !(load.address.Coefficient(variable) == 1)) {
    return false;
  }
  std::vector<Size> sizes = {load.address.offset, flat.extents[variable]};
  for (const auto& [v, coefficient] : load.address.terms) {
    if (v != variable) sizes.push_back(coefficient);
  }
  for (const Size& size : sizes) {
    if (!size.is_constant()) {
      conditions->push_back(size);
    } else if (int64_t{size} % kTileGroup != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::pair<int, int> LanesOf(const TilePlan& plan) {
  const int down = std::min(kWarp / kLanesAcross, plan.parts_m());
  const int across = std::min(kWarp / down, plan.parts_n());
  return {kWarp / across, across};
}

TileFill FillOf(const FlatRegion& flat, const TilePlan& plan, bool of_m) {
  TileFill fill;
  const TileFactor& factor = of_m ? plan.m : plan.n;
  fill.factor = &factor;
  fill.name = of_m ? "m" : "n";
  fill.rows = of_m ? plan.tile_m : plan.tile_n;
  // Lanes that write neighbours along k do not meet in a bank.
  const bool pads = factor.along_k && fill.rows % kElementsAcross == 0;
  fill.pitch = pads ? fill.rows + kTileGroup : fill.rows;
  const ExprId value = WithoutWidening(*flat.region, factor.value);
  const int least = factor.along_k ? kWarp / kGroupsAcross : kTileGroup;
  const uint32_t variable = factor.along_k ? plan.k.back() : factor.rows.back();
  if (fill.rows % least == 0 && LiesInGroups(flat, flat.region->expr(value),
                                             variable, &fill.conditions)) {
    fill.groups = value;
  }
  fill.count = fill.rows * plan.tile_k / (fill.groups ? kTileGroup : 1);
  return fill;
}

int LeastBlocks(const FlatRegion& flat, const TilePlan& plan) {
  constexpr int kRegisters = 128;  // of a thread
  const bool plain = FillOf(flat, plan, /*of_m=*/true).groups &&
                     FillOf(flat, plan, /*of_m=*/false).groups;
  const DType dtype = flat.region->stages[plan.stage].dtype;
  if (plan.tensor || !plain || BitWidth(dtype) > 32) return 0;
  // What a thread keeps: its part, what is under way, and two factors.
  const int loads = plan.tile_k * (plan.tile_m + plan.tile_n) / plan.threads();
  const int kept = (plan.part_m + 1) * (plan.part_n + 1) - 1 + loads;
  constexpr int kMostKept = 96;
  return kept > kMostKept ? 0
                          : kRegistersOfFile / (kRegisters * plan.threads());
}

std::optional<VectorPlan> FindResultGroups(const FlatRegion& flat,
                                           const TilePlan& plan,
                                           int element_bytes) {
  const Region& region = *flat.region;
  const uint32_t variable = plan.n.rows.back();
  const Size& extent = flat.extents[variable];
  if (!extent.is_constant() || int64_t{extent} % kTileGroup != 0) {
    return std::nullopt;
  }
  VectorPlan vectors{.width = kTileGroup, .loads = {}, .stores = {}};
  if (plan.pieces > 1) {
    if (kTileGroup * element_bytes * 8 > kTileGroupBits) return std::nullopt;
    return vectors;
  }
  for (uint32_t s = plan.stage + 1; s < region.stages.size(); ++s) {
    const std::vector<Store>& stores = region.stages[s].stores;
    // What is stored is named by its number in the stage.
    if (!stores.empty() && !vectors.stores.empty()) return std::nullopt;
    for (size_t i = 0; i < stores.size(); ++i) {
      if (stores[i].update != Update::kSet ||
          !FitsGroup(region.outputs[stores[i].output].dtype) ||
          !InGroups(flat.stores[s][i], variable)) {
        return std::nullopt;
      }
      vectors.stores.push_back(true);
    }
    for (const uint32_t e : FindRowLoads(flat, std::span(&s, 1), {}).inputs) {
      const Expr& expr = region.exprs[e];
      if (FitsGroup(expr.dtype) &&
          InGroups(flat.loads[expr.number], variable) &&
          std::ranges::find(vectors.loads, e) == vectors.loads.end()) {
        vectors.loads.push_back(e);
      }
    }
  }
  if (vectors.stores.empty()) return std::nullopt;
  return vectors;
}

}  // namespace encore::backends::cuda
