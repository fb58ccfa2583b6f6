// The part of a plan that is of rows and of what lanes share: groups of
// neighbours, what lanes keep, what teams of several points read once.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_PLAN_ROWS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_PLAN_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Threads of a block whose lanes have registers enough for a row.
constexpr int kSmallBlock = 256;

// How many points the variables have, where sizes are typical.
int64_t Typical(const FlatRegion& flat, std::span<const uint32_t> variables);

// The widest groups that all stages of the launch's row can have, if any has
// some. REQUIRES that the row is found.
void GroupRow(const FlatRegion& flat, LaunchPlan* launch);

// The same of a stage that is in no row, of which so many lanes share
// `variables`.
void GroupShared(const FlatRegion& flat, std::span<const uint32_t> variables,
                 int team_lanes, StagePlan* stage);

// LaunchPlan::kept, of a launch whose results lie so.
void KeepCostly(const FlatRegion& flat, const PlanLimits& limits,
                const std::vector<Storage>& results, LaunchPlan* launch);

// Gives teams several points where rows read the same (a norm's scale) and
// there are more points than a device has teams for.
void ShareLoads(const FlatRegion& flat, const PlanLimits& limits,
                const std::vector<Storage>& results, LaunchPlan* launch);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_PLAN_ROWS_H_
