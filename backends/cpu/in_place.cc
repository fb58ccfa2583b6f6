#include "encore/backends/cpu/in_place.h"

#include <cstdint>

#include "encore/backends/region/region.h"

namespace encore::backends::cpu {
namespace {

// Whether every load of `input` is of the element that `store` writes.
bool LoadsOnly(const FlatRegion& flat, uint32_t input,
               const FlatAccess& store) {
  bool any = false;
  for (size_t a = 0; a < flat.loads.size(); ++a) {
    const Access& access = flat.region->accesses[a];
    if (access.source != Access::Source::kInput || access.number != input) {
      continue;
    }
    any = true;
    const FlatAccess& load = flat.loads[a];
    if (!load.dynamic.empty() || load.address.offset != store.address.offset ||
        load.address.terms != store.address.terms) {
      return false;
    }
  }
  return any;
}

}  // namespace

std::vector<runtime::Launch::InPlace> InPlacePairs(const FlatRegion& flat) {
  const Region& region = *flat.region;
  std::vector<runtime::Launch::InPlace> pairs;
  if (region.stages.size() != 1 || !region.stages[0].loops.empty() ||
      region.stages[0].kind != Stage::Kind::kMap) {
    return pairs;
  }
  const std::vector<Store>& stores = region.stages[0].stores;
  for (size_t s = 0; s < stores.size(); ++s) {
    const DType dtype = region.outputs[stores[s].output].dtype;
    if (stores[s].update != Update::kSet ||
        !flat.stores[0][s].dynamic.empty()) {
      continue;
    }
    for (uint32_t i = 0; i < region.inputs.size(); ++i) {
      if (BitWidth(region.inputs[i].dtype) == BitWidth(dtype) &&
          LoadsOnly(flat, i, flat.stores[0][s])) {
        pairs.push_back({i, stores[s].output});
      }
    }
  }
  return pairs;
}

}  // namespace encore::backends::cpu
