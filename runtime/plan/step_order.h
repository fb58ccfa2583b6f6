// StepOrder: which steps of a plan are done before another begins, where
// devices have queues, before memory is assigned.
//
// A step comes after those whose values it uses or replaces, and what the host
// does after what it did before. Places that temporaries share add to this
// order, and so to what waits.
#ifndef ENCORE_RUNTIME_PLAN_STEP_ORDER_H_
#define ENCORE_RUNTIME_PLAN_STEP_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

class StepOrder {
 public:
  // A plan of more steps has no StepOrder: it takes a bit for each two.
  static constexpr size_t kMostSteps = size_t{1} << 14;

  // `queued`: by device, whether it has queues. REQUIRES ids in range, at most
  // kMostSteps steps.
  StepOrder(const CompiledGraph& graph, PlanId plan,
            const std::vector<bool>& queued);

  // Whether step `a` is done before step `b` of the plan begins.
  bool Before(uint32_t a, uint32_t b) const {
    return (before_[b * words_ + a / 64] >> (a % 64) & 1) != 0;
  }

 private:
  // Puts `a`, and what is before it, before `b`.
  void Add(uint32_t a, uint32_t b);

  size_t words_ = 0;
  std::vector<uint64_t> before_;  // a row of bits for each step
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_STEP_ORDER_H_
