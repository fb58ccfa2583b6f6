#include "encore/tests/benchmarks/live_bytes.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "encore/runtime/plan/hazards.h"

namespace encore {
namespace {

using runtime::CompiledGraph;
using runtime::SlotId;

// The slot with a place in an arena that `slot` lies in; invalid for none.
SlotId Placed(const CompiledGraph& graph, SlotId slot) {
  while (graph.slot(slot).base.valid()) {
    const SlotId base = graph.slot(slot).base;
    if (graph.slot(base).is_arena) return slot;
    slot = base;
  }
  return SlotId();
}

// The length of the union of intervals [begin, end).
int64_t UnionLength(std::vector<std::pair<int64_t, int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  int64_t length = 0, reached = 0;
  for (const auto& [begin, end] : intervals) {
    const int64_t from = std::max(begin, reached);
    if (end > from) length += end - from;
    reached = std::max(reached, end);
  }
  return length;
}

}  // namespace

int64_t MostLiveBytes(const CompiledGraph& graph) {
  const auto& steps = graph.plan(graph.run).steps;
  std::map<uint32_t, std::pair<size_t, size_t>> uses;  // first and last step
  for (size_t i = 0; i < steps.size(); ++i) {
    runtime::ForEachAccess(graph, steps[i], [&](SlotId slot, bool) {
      const SlotId placed = Placed(graph, slot);
      if (!placed.valid()) return;
      uses.try_emplace(placed.value(), i, i).first->second.second = i;
    });
  }
  int64_t most = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<std::pair<int64_t, int64_t>> live;
    for (const auto& [number, range] : uses) {
      const runtime::Slot& slot = graph.slots[number];
      if (i < range.first || i > range.second || !slot.bytes.is_constant() ||
          !slot.offset.is_constant()) {
        continue;
      }
      const int64_t begin = slot.offset.constant();
      const int64_t size = (slot.bytes.constant() + runtime::kAlignment - 1) /
                           runtime::kAlignment * runtime::kAlignment;
      live.emplace_back(begin, begin + size);
    }
    most = std::max(most, UnionLength(std::move(live)));
  }
  return most;
}

}  // namespace encore
