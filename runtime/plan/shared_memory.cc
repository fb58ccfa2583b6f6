#include "encore/runtime/plan/shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include "encore/runtime/plan/hazards.h"

namespace encore::runtime {
namespace {

SlotId StorageOf(const CompiledGraph& graph, SlotId slot) {
  while (graph.slot(slot).base.valid()) slot = graph.slot(slot).base;
  return slot;
}

// Whether the step reads no element of `input` after it wrote it to `output`.
bool IsInPlace(const CompiledGraph& graph, const Step& step, SlotId input,
               SlotId output) {
  if (const auto* const copy = std::get_if<Copy>(&step.op)) {
    return copy->src == input && copy->dst == output;
  }
  const auto* const launch = std::get_if<Launch>(&step.op);
  if (launch == nullptr) return false;
  const auto only = [&](const std::vector<SlotId>& slots,
                        SlotId slot) -> std::optional<uint32_t> {
    const auto lies_there = [&](SlotId other) {
      return StorageOf(graph, other) == slot;
    };
    const auto at = std::ranges::find(slots, slot);
    if (at == slots.end() || std::ranges::count_if(slots, lies_there) != 1) {
      return std::nullopt;
    }
    return static_cast<uint32_t>(at - slots.begin());
  };
  const auto read = only(launch->reads, input);
  const auto write = only(launch->writes, output);
  return read && write &&
         std::ranges::any_of(launch->in_place, [&](const auto& pair) {
           return pair.read == *read && pair.write == *write;
         });
}

bool Touches(const CompiledGraph& graph, const Plan& plan, SlotId storage) {
  bool touches = false;
  for (const Step& step : plan.steps) {
    ForEachAccess(graph, step, [&](SlotId slot, bool) {
      touches |= StorageOf(graph, slot) == storage;
    });
  }
  return touches;
}

}  // namespace

bool MayShareMemory(const CompiledGraph& graph, SlotId input, SlotId output) {
  if (graph.slot(input).base.valid() || graph.slot(output).base.valid() ||
      graph.slot(input).pool != kHostPool ||
      graph.slot(output).pool != kHostPool ||
      graph.slot(input).is_host_object() ||
      graph.slot(output).is_host_object()) {
    return false;
  }
  for (uint32_t i = 0; i < graph.plans.size(); ++i) {
    if (PlanId(i) == graph.run || PlanId(i) == graph.prepare) continue;
    // Inputs are not among what an invoke declares.
    if (Touches(graph, graph.plans[i], input)) return false;
  }
  bool written = false;
  for (const Step& step : graph.plan(graph.run).steps) {
    bool reads = false, writes = false;
    ForEachAccess(graph, step, [&](SlotId slot, bool is_write) {
      const SlotId storage = StorageOf(graph, slot);
      reads |= !is_write && storage == input;
      writes |= is_write && storage == output;
    });
    if (reads &&
        (written || (writes && !IsInPlace(graph, step, input, output)))) {
      return false;
    }
    written |= writes;
  }
  return true;
}

}  // namespace encore::runtime
