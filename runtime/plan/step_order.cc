#include "encore/runtime/plan/step_order.h"

#include <map>
#include <optional>
#include <variant>

#include "encore/ir/support/check.h"
#include "encore/ir/support/overloaded.h"
#include "encore/runtime/plan/hazards.h"

namespace encore::runtime {
namespace {

// The tensor or arena that a slot is part of.
SlotId WholeOf(const CompiledGraph& graph, SlotId slot) {
  while (graph.slot(slot).base.valid()) slot = graph.slot(slot).base;
  return slot;
}

// Whether the host does the step by itself; an invocation is many steps.
bool IsOnHost(const CompiledGraph& graph, const Step& step,
              const std::vector<bool>& queued) {
  const auto works_at_once = [&](DeviceId device) {
    return !device.valid() || device.value() >= queued.size() ||
           !queued[device.value()];
  };
  const auto pool_of = [&](SlotId slot) {
    return graph.pools[graph.slot(slot).pool.value()].device;
  };
  return std::visit(
      Overloaded{[&](const Launch& op) { return works_at_once(op.device); },
                 [&](const Copy& op) {
                   return works_at_once(pool_of(op.src)) &&
                          works_at_once(pool_of(op.dst));
                 },
                 [](const Invoke&) { return false; },
                 [](const Allocate&) { return false; },
                 [](const Deallocate&) { return false; }},
      step.op);
}

struct Users {
  std::optional<uint32_t> writer;
  std::vector<uint32_t> readers;  // since then
};

}  // namespace

StepOrder::StepOrder(const CompiledGraph& graph, PlanId plan,
                     const std::vector<bool>& queued) {
  const std::vector<Step>& steps = graph.plan(plan).steps;
  ENCORE_CHECK_LE(steps.size(), kMostSteps);
  words_ = (steps.size() + 63) / 64;
  before_.resize(steps.size() * words_);
  std::optional<uint32_t> last_on_host;
  std::map<SlotId, Users> users;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    ForEachAccess(graph, steps[i], [&](SlotId slot, bool is_write) {
      Users& of = users[WholeOf(graph, slot)];
      if (of.writer) Add(*of.writer, i);
      if (!is_write) return;
      for (const uint32_t reader : of.readers) Add(reader, i);
    });
    ForEachAccess(graph, steps[i], [&](SlotId slot, bool is_write) {
      Users& of = users[WholeOf(graph, slot)];
      if (!is_write) {
        of.readers.push_back(i);
      } else {
        of = {i, {}};
      }
    });
    if (!IsOnHost(graph, steps[i], queued)) continue;
    if (last_on_host) Add(*last_on_host, i);
    last_on_host = i;
  }
}

void StepOrder::Add(uint32_t a, uint32_t b) {
  if (a == b || Before(a, b)) return;
  for (size_t word = 0; word < words_; ++word) {
    before_[b * words_ + word] |= before_[a * words_ + word];
  }
  before_[b * words_ + a / 64] |= uint64_t{1} << (a % 64);
}

}  // namespace encore::runtime
