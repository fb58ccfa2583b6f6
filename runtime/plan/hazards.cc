#include "encore/runtime/plan/hazards.h"

#include <algorithm>

#include "encore/ir/support/integers.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

Place PlaceOf(const CompiledGraph& graph, std::span<const Symbol> symbols,
              SlotId slot) {
  Place place;
  place.end = graph.slot(slot).bytes.UpperBound(symbols);
  if (graph.slot(slot).is_host_object()) place.end = 1;
  SlotId at = slot;
  for (; graph.slot(at).base.valid(); at = graph.slot(at).base) {
    const Dim& offset = graph.slot(at).offset;
    place.begin = SaturatingAdd(place.begin, offset.LowerBound(symbols));
    place.end = SaturatingAdd(place.end, offset.UpperBound(symbols));
  }
  place.storage = at.value();
  return place;
}

}  // namespace

Places::Places(const CompiledGraph& graph) {
  const std::vector<Symbol> symbols = DimSymbols(graph);
  places_.reserve(graph.slots.size());
  for (uint32_t s = 0; s < graph.slots.size(); ++s) {
    places_.push_back(PlaceOf(graph, symbols, SlotId(s)));
  }
  for (const Plan& plan : graph.plans) {
    for (const Step& step : plan.steps) {
      const Invoke* invoke = std::get_if<Invoke>(&step.op);
      if (invoke == nullptr) continue;
      for (const Invoke::StackedOperand& scanned : invoke->scanned) {
        places_[scanned.slice.value()] = places_[scanned.stacked.value()];
      }
    }
  }
}

void AccessHistory::Keep(const Access& access) {
  std::vector<Access>& list = by_storage_[access.place.storage];
  if (list.empty()) used_.push_back(access.place.storage);
  list.push_back(access);
}

void AccessHistory::Clear() {
  for (const uint32_t storage : used_) by_storage_[storage].clear();
  used_.clear();
}

std::vector<Access> AccessHistory::Kept() const {
  std::vector<uint32_t> storages = used_;
  std::ranges::sort(storages);
  const auto rest = std::ranges::unique(storages);
  storages.erase(rest.begin(), rest.end());
  std::vector<Access> kept;
  for (const uint32_t storage : storages) {
    const std::vector<Access>& list = by_storage_[storage];
    kept.insert(kept.end(), list.begin(), list.end());
  }
  std::ranges::sort(kept);
  const auto same = std::ranges::unique(kept);
  kept.erase(same.begin(), same.end());
  return kept;
}

}  // namespace encore::runtime
