#include "encore/backends/cuda/codegen/plan_rows.h"

#include <algorithm>
#include <utility>

#include "encore/backends/cuda/codegen/loops/row_loads.h"
#include "encore/backends/region/flat/dependences.h"

namespace encore::backends::cuda {
namespace {

// Whether it takes less to compute again than a register to keep it in.
bool IsQuick(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMax:
    case Op::kMin:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kCast:
    case Op::kCompare:
    case Op::kSelect:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
      return true;
    default:
      return false;
  }
}

// Warps that do what a block does, where teams are warps; points that a team
// has at most.
constexpr int64_t kWarpsOfTeam = 8;
// Of a scalar of up to 32 bits, as the C++ of the device keeps it.
constexpr int64_t kScalarBytes = 4;
constexpr int64_t kMostPoints = 32;
// Groups that a lane has under way at once, of all that it reads.
constexpr int kGroupsAtOnce = 4;

// Elements that a lane keeps of each step, and how many it may.
int64_t KeptInLanes(const std::vector<Storage>& results,
                    const LaunchPlan& launch, const RowLoads& loads) {
  auto kept = static_cast<int64_t>(loads.inputs.size() + launch.kept.size());
  for (const StagePlan& stage : launch.stages) {
    kept += results[stage.stage] == Storage::kLane;
  }
  return kept;
}

int64_t MostInLanes(const PlanLimits& limits, const LaunchPlan& launch) {
  if (launch.threads <= kSmallBlock) return limits.lane_elements;
  return limits.large_block_lane_elements * 1024 / launch.threads;
}

std::vector<uint32_t> InRow(const LaunchPlan& launch) {
  std::vector<uint32_t> stages;
  for (const StagePlan& stage : launch.stages) {
    if (stage.in_row) stages.push_back(stage.stage);
  }
  return stages;
}

bool IsInGroups(const LaunchPlan& launch, uint32_t load) {
  return std::ranges::any_of(launch.stages, [&](const StagePlan& stage) {
    return stage.in_row && stage.groups &&
           std::ranges::find(stage.groups->loads, load) !=
               stage.groups->loads.end();
  });
}

bool AccessesMemory(const FlatRegion& flat, uint32_t s) {
  return !flat.stores[s].empty() ||
         !FindRowLoads(flat, std::span(&s, 1), {}).inputs.empty();
}

}  // namespace

int64_t Typical(const FlatRegion& flat, std::span<const uint32_t> variables) {
  int64_t count = 1;
  for (const uint32_t v : variables) count *= flat.extents[v].typical();
  return count;
}

void KeepCostly(const FlatRegion& flat, const PlanLimits& limits,
                const std::vector<Storage>& results, LaunchPlan* launch) {
  if (launch->steps == 0) return;
  const Region& region = *flat.region;
  const Dependences depends(flat);
  const std::vector<uint32_t> in_row = InRow(*launch);
  std::vector<int> users(region.exprs.size());
  for (const uint32_t s : in_row) {
    const std::vector<bool> needed = NeededBy(region, s);
    for (size_t e = 0; e < needed.size(); ++e) users[e] += needed[e];
  }
  const RowLoads loads = FindRowLoads(flat, in_row, launch->row);
  int64_t room = MostInLanes(limits, *launch) / launch->steps -
                 KeptInLanes(results, *launch, loads);
  for (uint32_t e = 0; e < users.size() && room > 0; ++e) {
    const Expr& expr = region.exprs[e];
    if (users[e] < 2 || expr.kind != Expr::Kind::kOp || IsQuick(expr.op) ||
        !IsFloat(expr.dtype) ||
        std::ranges::none_of(
            launch->row,
            [&](uint32_t v) { return depends.On(ExprId(e), v); })) {
      continue;
    }
    launch->kept.push_back(e);
    --room;
  }
}

void ShareLoads(const FlatRegion& flat, const PlanLimits& limits,
                const std::vector<Storage>& results, LaunchPlan* launch) {
  if (launch->steps == 0) return;
  for (const StagePlan& stage : launch->stages) {
    if (results[stage.stage] > Storage::kLane) return;
  }
  const RowLoads loads = FindRowLoads(flat, InRow(*launch), launch->row);
  if (loads.shared.empty()) return;
  const bool warps = launch->team == Team::kWarp;
  std::vector<uint32_t> shared, held;
  // Of shared memory, where warps have all of them, and blocks what is held.
  int64_t room = limits.shared_bytes;
  for (const uint32_t e : loads.shared) {
    const int64_t width = BitWidth(flat.region->exprs[e].dtype) / 8;
    const int64_t count = Typical(flat, launch->row);
    const bool holds = IsInGroups(*launch, e) && count * width <= room;
    const int64_t bytes =
        holds ? count * width : count * std::max(width, kScalarBytes);
    if (holds || (warps && bytes <= room)) room -= bytes;
    if (!holds && warps && bytes > room) continue;
    (holds ? held : shared).push_back(e);
  }
  const int64_t kept =
      KeptInLanes(results, *launch, loads) - static_cast<int64_t>(held.size());
  if (kept * launch->steps > MostInLanes(limits, *launch)) return;
  const int64_t teams =
      std::max<int64_t>(limits.teams * (warps ? kWarpsOfTeam : 1), 1);
  const int64_t points = Typical(flat, flat.outer) / teams;
  if (points < 2) return;
  launch->points_of_team = static_cast<int>(std::min(points, kMostPoints));
  launch->shared = std::move(shared);
  launch->held = std::move(held);
  if (warps) launch->threads = kSmallBlock;
  const auto first = std::ranges::find_if(launch->stages, &StagePlan::in_row);
  const auto ahead =
      first->groups ? static_cast<int64_t>(first->groups->loads.size()) : 0;
  launch->loads_ahead = ahead > 0 && (kept + ahead) * launch->steps <=
                                         MostInLanes(limits, *launch);
}

void GroupRow(const FlatRegion& flat, LaunchPlan* launch) {
  for (int width = kMostVectorWidth; width > 1; width /= 2) {
    if (width > launch->steps) continue;
    bool fits = true, gains = false;
    for (StagePlan& stage : launch->stages) {
      if (!stage.in_row) continue;
      stage.groups = FindGroups(flat, stage.stage, launch->row, width);
      fits &= stage.groups.has_value() || !AccessesMemory(flat, stage.stage);
      gains |= stage.groups.has_value();
    }
    if (fits && gains) {
      launch->row_width = width;
      const int64_t all = int64_t{launch->lanes()} * width;
      launch->steps = static_cast<int>((Typical(flat, launch->row) + all - 1) /
                                       all * width);
      for (StagePlan& stage : launch->stages) {
        if (!stage.in_row) continue;
        if (!stage.groups) stage.groups = VectorPlan{width, {}, {}};
        stage.groups_at_once = launch->steps / width;
      }
      return;
    }
  }
  for (StagePlan& stage : launch->stages) stage.groups.reset();
}

void GroupShared(const FlatRegion& flat, std::span<const uint32_t> variables,
                 int team_lanes, StagePlan* stage) {
  if (variables.empty()) return;
  const int64_t count = Typical(flat, variables);
  const int64_t lanes = int64_t{team_lanes} * stage->pieces;
  for (int width = kMostVectorWidth; width > 1; width /= 2) {
    if (count < lanes * width) continue;
    stage->groups = FindGroups(flat, stage->stage, variables, width);
    if (!stage->groups) continue;
    const int64_t loads =
        std::max<int64_t>(1, int64_t(stage->groups->loads.size()));
    stage->groups_at_once = static_cast<int>(
        std::clamp<int64_t>((count + lanes * width - 1) / (lanes * width), 1,
                            std::max<int64_t>(kGroupsAtOnce / loads, 1)));
    return;
  }
}

}  // namespace encore::backends::cuda
