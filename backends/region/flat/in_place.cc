#include "encore/backends/region/flat/in_place.h"

#include <algorithm>
#include <cstdint>

#include "encore/backends/region/region.h"

namespace encore::backends {
namespace {

// Whether each of both adds the same to the address and is not checked.
bool AreSame(const DynamicIndex& a, const DynamicIndex& b) {
  const auto fixed = [](const DynamicIndex& index) {
    return !index.checked && !index.indirect.valid() && index.divisor == 1;
  };
  return fixed(a) && fixed(b) && a.index.offset == b.index.offset &&
         a.index.terms == b.index.terms && a.stride == b.stride &&
         a.block == b.block && a.block_stride == b.block_stride;
}

// Whether zeros in the padding of `output` are what is in that of `input`.
bool PadsAlike(const Operand& input, const Operand& output) {
  return (input.layout.blocks.empty() && output.layout.blocks.empty()) ||
         (input.layout == output.layout && input.dims == output.dims);
}

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
    if (!std::ranges::equal(load.dynamic, store.dynamic, AreSame) ||
        load.address.offset != store.address.offset ||
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
    const Operand& output = region.outputs[stores[s].output];
    const FlatAccess& store = flat.stores[0][s];
    if (stores[s].update != Update::kSet ||
        !std::ranges::equal(store.dynamic, store.dynamic, AreSame)) {
      continue;
    }
    for (uint32_t i = 0; i < region.inputs.size(); ++i) {
      const Operand& input = region.inputs[i];
      // Where elements share a byte, other threads still read it.
      if (BitWidth(input.dtype) == BitWidth(output.dtype) &&
          !IsPacked(input.dtype) && PadsAlike(input, output) &&
          LoadsOnly(flat, i, store)) {
        pairs.push_back({i, stores[s].output});
      }
    }
  }
  return pairs;
}

}  // namespace encore::backends
