#include "encore/backends/cuda/codegen/loops/vectors.h"

#include <algorithm>

#include "encore/backends/cuda/codegen/loops/row_loads.h"

namespace encore::backends::cuda {
namespace {

constexpr int kVectorBits = 128;

// Whether each group of `width` points along `variable` is as many neighbours.
bool InGroups(const FlatAccess& access, uint32_t variable, int width) {
  const auto whole = [width](const Size& size) {
    return size.is_constant() && int64_t{size} % width == 0;
  };
  if (!access.dynamic.empty() || !(access.address.Coefficient(variable) == 1)) {
    return false;
  }
  return whole(access.address.offset) &&
         std::ranges::all_of(access.address.terms, [&](const auto& term) {
           return term.first == variable || whole(term.second);
         });
}

VectorPlan PlanOf(const FlatRegion& flat, uint32_t stage, uint32_t variable,
                  int width) {
  const Region& region = *flat.region;
  VectorPlan plan{.width = width, .loads = {}, .stores = {}};
  for (const uint32_t e : FindRowLoads(flat, std::span(&stage, 1), {}).inputs) {
    const Expr& expr = region.exprs[e];
    if (!IsPacked(expr.dtype) &&
        InGroups(flat.loads[expr.number], variable, width)) {
      plan.loads.push_back(e);
    }
  }
  for (size_t s = 0; s < flat.stores[stage].size(); ++s) {
    const Store& store = region.stages[stage].stores[s];
    plan.stores.push_back(store.update == Update::kSet &&
                          !IsPacked(region.outputs[store.output].dtype) &&
                          InGroups(flat.stores[stage][s], variable, width));
  }
  return plan;
}

int BitsOf(const Region& region, uint32_t stage, const VectorPlan& plan) {
  int bits = 8;
  for (const uint32_t e : plan.loads) {
    bits = std::max(bits, BitWidth(region.exprs[e].dtype));
  }
  for (size_t s = 0; s < plan.stores.size(); ++s) {
    if (!plan.stores[s]) continue;
    const uint32_t output = region.stages[stage].stores[s].output;
    bits = std::max(bits, BitWidth(region.outputs[output].dtype));
  }
  return bits;
}

}  // namespace

std::optional<VectorPlan> FindVectors(const FlatRegion& flat,
                                      int64_t least_points) {
  const Region& region = *flat.region;
  if (region.stages.size() != 1 || flat.outer.empty() ||
      region.stages[0].kind != Stage::Kind::kMap || !flat.loops[0].empty()) {
    return std::nullopt;
  }
  const uint32_t variable = flat.outer.back();
  double points = 1;
  for (const uint32_t v : flat.outer) {
    points *= static_cast<double>(flat.extents[v].typical());
  }
  const Size& extent = flat.extents[variable];
  if (points < static_cast<double>(least_points) || !extent.is_constant()) {
    return std::nullopt;
  }
  for (int width = kMostVectorWidth; width > 1; width /= 2) {
    if (int64_t{extent} % width != 0) continue;
    VectorPlan plan = PlanOf(flat, 0, variable, width);
    if (std::ranges::find(plan.stores, true) == plan.stores.end()) continue;
    if (width * BitsOf(region, 0, plan) <= kVectorBits) return plan;
  }
  return std::nullopt;
}

std::optional<VectorPlan> FindGroups(const FlatRegion& flat, uint32_t stage,
                                     std::span<const uint32_t> variables,
                                     int width) {
  const Size& extent = flat.extents[variables.back()];
  if (!extent.is_constant() || extent < 1 || int64_t{extent} % width != 0) {
    return std::nullopt;
  }
  VectorPlan plan = PlanOf(flat, stage, variables.back(), width);
  const bool stores = std::ranges::find(plan.stores, true) != plan.stores.end();
  if ((plan.loads.empty() && !stores) ||
      width * BitsOf(*flat.region, stage, plan) > kVectorBits) {
    return std::nullopt;
  }
  return plan;
}

}  // namespace encore::backends::cuda
