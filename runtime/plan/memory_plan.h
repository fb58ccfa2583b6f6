// PlanOffsets: where in an arena each of a set of buffers goes.
//
// A buffer is live from step `first` to step `last`, both included; buffers
// that are live at once, or beside one another, do not share bytes, except
// in-place pairs. The planner
// tries several greedy orders (by size; by breadth of the step, after Pisarchyk
// and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020;
// by size times lifetime), each with best fit, then improves the best by moving
// what stands at the top to the front, and stops early where the lower bound is
// met. Deterministic. Cost: about (number of buffers)^2 per order, some tens of
// orders at most.
#ifndef ENCORE_RUNTIME_PLAN_MEMORY_PLAN_H_
#define ENCORE_RUNTIME_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

namespace encore::runtime {

struct LiveBuffer {
  int64_t bytes = 0;  // not negative
  uint32_t first = 0, last = 0;
  // The index of a buffer in whose place this one may lie, because the step
  // that makes this one is the last to read that one (last == first here); -1:
  // none.
  int32_t in_place_of = -1;
  // Ascending: buffers that begin after this one is live, and should not do so
  // in its place, because who uses it may still run.
  std::vector<uint32_t> beside = {};
};

struct OffsetPlan {
  std::vector<int64_t> offsets;  // per buffer, multiples of kAlignment
  int64_t bytes = 0;             // of the arena
  // No plan is smaller: the most bytes (rounded up to kAlignment) that are live
  // at one step, buffers that share a place counted once; none beside another.
  int64_t lower_bound = 0;
};

// REQUIRES sizes whose sum is within int64.
OffsetPlan PlanOffsets(std::span<const LiveBuffer> buffers);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_MEMORY_PLAN_H_
