#include "encore/runtime/plan/hazards.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/integers.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

// Bytes of a storage, and the last step that wrote or read just these.
struct Record {
  int64_t begin, end;
  uint32_t step;
  bool is_write;
};

struct Place {
  SlotId storage;
  int64_t begin = 0, end = 0;
};

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
  place.storage = at;
  return place;
}

}  // namespace

StepAccess AccessOf(const CompiledGraph& graph, const Step& step) {
  StepAccess access;
  ForEachAccess(graph, step, [&](SlotId slot, bool is_write) {
    (is_write ? access.writes : access.reads).push_back(slot);
  });
  return access;
}

std::vector<std::vector<uint32_t>> StepDependencies(const CompiledGraph& graph,
                                                    PlanId plan) {
  const std::vector<Step>& steps = graph.plan(plan).steps;
  const std::vector<Symbol> symbols = DimSymbols(graph);
  std::vector<std::vector<Record>> records(graph.slots.size());
  std::vector<std::vector<uint32_t>> dependencies(steps.size());
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const auto touch = [&](SlotId slot, bool is_write) {
      const Place place = PlaceOf(graph, symbols, slot);
      std::vector<Record>& list = records[place.storage.value()];
      std::erase_if(list, [&](const Record& record) {
        if (record.step == i || record.begin >= place.end ||
            place.begin >= record.end || !(is_write || record.is_write)) {
          return false;
        }
        dependencies[i].push_back(record.step);
        // Later steps reach what this write covers through this step.
        return is_write && place.begin <= record.begin &&
               record.end <= place.end;
      });
      list.push_back({place.begin, place.end, i, is_write});
    };
    const StepAccess access = AccessOf(graph, steps[i]);
    for (const SlotId slot : access.reads) touch(slot, false);
    for (const SlotId slot : access.writes) touch(slot, true);
    std::ranges::sort(dependencies[i]);
    const auto rest = std::ranges::unique(dependencies[i]);
    dependencies[i].erase(rest.begin(), rest.end());
  }
  return dependencies;
}

}  // namespace encore::runtime
