// What the `loops` template makes of a region: one nest of loops, or several
// one after the other, each over some of the region's points.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_PLAN_H_
#define ENCORE_BACKENDS_CPU_LOOPS_PLAN_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct LoopNest {
  // What `flat` is of; null: the region that was asked for.
  std::shared_ptr<const Region> region;
  FlatRegion flat;
  Schedule schedule;
};

// Nests that have all operands in common and write none of their elements
// twice; their schedules have one number of partitions.
using LoopPlan = std::vector<LoopNest>;

// The plan with the least estimate: the region as it is, or rewritten
// (windows.h, keep.h, stages.h, split.h) where what that keeps of a row stays
// in a core's second level of cache, or is no more than the region keeps as it
// is. Deterministic, and the same for any
// number of threads. REQUIRES constant sizes; `region` is used as long as the
// plan is.
LoopPlan PlanLoops(const Region& region, Isa isa);

// The scratch memory of a launch, at the typical sizes.
int64_t ScratchBytes(const LoopPlan& plan);

// The function `name` (a KernelFunction) for the plan.
GeneratedKernel GenerateLoops(const LoopPlan& plan, std::string_view name,
                              int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_PLAN_H_
