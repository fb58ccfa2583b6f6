#include "encore/runtime/testing/plan_mutations.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "encore/ir/types/dim.h"

namespace encore::runtime {
namespace {

// Moves one slot id of the step to a random one.
void ChangeOperand(Step& step, SlotId slot, Random& random) {
  if (auto* launch = std::get_if<Launch>(&step.op)) {
    std::vector<SlotId>& list =
        launch->reads.empty() || random() % 2 ? launch->writes : launch->reads;
    if (!list.empty()) Pick(list, random) = slot;
  } else if (auto* copy = std::get_if<Copy>(&step.op)) {
    (random() % 2 ? copy->src : copy->dst) = slot;
  } else if (auto* allocate = std::get_if<Allocate>(&step.op)) {
    allocate->slot = slot;
  } else if (auto* deallocate = std::get_if<Deallocate>(&step.op)) {
    deallocate->slot = slot;
  } else if (auto* invoke = std::get_if<Invoke>(&step.op)) {
    if (!invoke->carried.empty()) Pick(invoke->carried, random).next = slot;
    if (!invoke->scanned.empty()) Pick(invoke->scanned, random).stacked = slot;
    if (invoke->kind == InvokeKind::kIf) invoke->selector = slot;
  }
}

}  // namespace

void MutatePlan(CompiledGraph* graph, Random& random) {
  std::vector<Step>& steps = Pick(graph->plans, random).steps;
  Slot& slot = Pick(graph->slots, random);
  const SlotId any(random() % graph->slots.size());
  if (steps.empty()) return;
  const size_t at = random() % steps.size(), other = random() % steps.size();
  switch (random() % 9) {
    case 0:
      steps.erase(steps.begin() + at);
      break;
    case 1:
      std::swap(steps[at], steps[other]);
      break;
    case 2: {
      const Step copy = steps[at];
      if (!std::holds_alternative<Invoke>(copy.op)) {
        steps.insert(steps.begin() + other, copy);
      }
      break;
    }
    case 3:
    case 4:
      slot.offset = Dim(static_cast<int64_t>(random() % 12) * 32);
      break;
    case 5:
      slot.bytes = Dim(static_cast<int64_t>(random() % 40) * 4);
      break;
    case 6:
      slot.base = any;
      break;
    case 7:
      if (auto* launch = std::get_if<Launch>(&steps[at].op)) {
        launch->in_place = {{0, 0}};
        break;
      }
      [[fallthrough]];
    default:
      ChangeOperand(steps[at], any, random);
  }
}

}  // namespace encore::runtime
