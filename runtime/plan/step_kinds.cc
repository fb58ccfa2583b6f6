#include "encore/runtime/plan/step_kinds.h"

#include <variant>

#include "encore/ir/support/overloaded.h"

namespace encore::runtime {

std::span<const PlanId> SubPlansOf(const Step& step) {
  std::span<const PlanId> plans;
  std::visit(Overloaded{[&](const Invoke& op) { plans = op.plans; },
                        Ignore<Allocate, Copy, Launch, Deallocate>()},
             step.op);
  return plans;
}

const Launch* LaunchOf(const Step& step) {
  const Launch* launch = nullptr;
  std::visit(Overloaded{[&](const Launch& op) { launch = &op; },
                        Ignore<Allocate, Copy, Deallocate, Invoke>()},
             step.op);
  return launch;
}

}  // namespace encore::runtime
