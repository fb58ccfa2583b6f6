#include "encore/backends/cuda/codegen/plan.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "encore/backends/cuda/codegen/loops/row_loads.h"
#include "encore/backends/cuda/codegen/loops/unordered_loops.h"
#include "encore/backends/cuda/codegen/plan_rows.h"
#include "encore/backends/cuda/codegen/scalar_code.h"

namespace encore::backends::cuda {
namespace {

using Variables = std::vector<uint32_t>;

bool HasResult(const FlatRegion& flat, uint32_t stage) {
  return flat.region->stages[stage].value.valid();
}

bool HasBuffer(const FlatRegion& flat, uint32_t stage) {
  return HasResult(flat, stage) && !flat.loops[stage].empty();
}

// Bytes of a stage's result for one outer point; nothing where they are known
// at run time only.
std::optional<int64_t> BufferBytes(const FlatRegion& flat, uint32_t s) {
  const Size& size = flat.result_sizes[s];
  if (!size.is_constant()) return std::nullopt;
  const Stage& stage = flat.region->stages[s];
  const DType dtype = stage.kind == Stage::Kind::kMap
                          ? flat.region->expr(stage.value).dtype
                          : stage.dtype;
  return int64_t{size} * ComponentCount(stage.combiner) * CTypeBytes(dtype);
}

constexpr int kLargestBlock = 1024;
// Pieces that a warp merges; more of them a block does.
constexpr int kMostWarpPieces = 128;

// Whether neighbours in an inner variable, rather than in an outer one, lie
// side by side in what the region's reductions read.
bool ReducesAlongMemory(const FlatRegion& flat) {
  double inner = 0, outer = 0;
  for (uint32_t s = 0; s < flat.region->stages.size(); ++s) {
    if (flat.region->stages[s].kind == Stage::Kind::kMap) continue;
    for (const uint32_t e : FindRowLoads(flat, std::span(&s, 1), {}).inputs) {
      const uint32_t load = flat.region->exprs[e].number;
      double bytes = 1;
      for (const auto& [v, coefficient] : flat.loads[load].address.terms) {
        bytes *= static_cast<double>(flat.extents[v].typical());
      }
      for (const auto& [v, coefficient] : flat.loads[load].address.terms) {
        if (!(coefficient == 1)) continue;
        const bool is_outer =
            std::ranges::find(flat.outer, v) != flat.outer.end();
        (is_outer ? outer : inner) += bytes;
      }
    }
  }
  return inner >= outer;
}

class Planner {
 public:
  Planner(const FlatRegion& flat, const PlanLimits& limits, bool atomic)
      : flat_(flat), limits_(limits), splits_(atomic) {
    for (uint32_t s = 0; s < flat.region->stages.size(); ++s) {
      unordered_.push_back(atomic && !flat.region->stages[s].stores.empty()
                               ? flat.loops[s]
                               : UnorderedLoops(flat, s));
    }
  }

  KernelPlan Plan() {
    plan_.results.assign(unordered_.size(), Storage::kNone);
    if (WantsSplitting()) {
      for (uint32_t s = 0; s < unordered_.size(); ++s) AddSplit(s);
    } else {
      AddFused();
    }
    return std::move(plan_);
  }

 private:
  int64_t Work(uint32_t s) const {
    return Typical(flat_, flat_.loops[s]) * Typical(flat_, flat_.reduced[s]);
  }

  bool WantsSplitting() const {
    if (splits_) return true;
    if (Typical(flat_, flat_.outer) >= limits_.few_points) return false;
    for (uint32_t s = 0; s < unordered_.size(); ++s) {
      const Variables& shared =
          flat_.region->stages[s].kind == Stage::Kind::kReduce &&
                  flat_.loops[s].empty()
              ? flat_.reduced[s]
              : unordered_[s];
      if (!shared.empty() && Typical(flat_, shared) >= limits_.much_work) {
        return true;
      }
    }
    return false;
  }

  // All stages in one launch.
  void AddFused() {
    LaunchPlan launch;
    launch.points = flat_.outer;
    launch.team = FusedTeam();
    if (launch.team == Team::kBlock) launch.threads = BlockSize();
    for (uint32_t s = 0; s < unordered_.size(); ++s) {
      launch.stages.push_back(Shared(s, flat_.loops[s], launch));
    }
    FindRow(&launch);
    for (StagePlan& stage : launch.stages) FindStageGroups(launch, &stage);
    if (launch.team == Team::kThread) {
      launch.vectors = FindVectors(flat_, limits_.vector_points);
    }
    int64_t shared = 0;
    for (uint32_t s = 0; s < unordered_.size(); ++s) {
      if (!HasResult(flat_, s)) continue;
      if (!HasBuffer(flat_, s)) {
        plan_.results[s] = Storage::kRegister;
        continue;
      }
      if (StaysInLanes(s, launch)) {
        plan_.results[s] = Storage::kLane;
        continue;
      }
      plan_.results[s] = Storage::kScratch;
      const auto bytes = BufferBytes(flat_, s);
      if (!bytes) continue;
      if (launch.team == Team::kThread) {
        if (*bytes <= limits_.local_bytes) plan_.results[s] = Storage::kLocal;
        continue;
      }
      const int64_t all = *bytes * launch.teams_of_block();
      if (shared + all > limits_.shared_bytes) continue;
      shared += all;
      plan_.results[s] = Storage::kShared;
    }
    KeepCostly(flat_, limits_, plan_.results, &launch);
    ShareLoads(flat_, limits_, plan_.results, &launch);
    plan_.launches.push_back(std::move(launch));
  }

  // What the lanes of a stage share, if that is all that the stage goes
  // through.
  const Variables* SharedBy(const StagePlan& stage) const {
    if (!stage.serial.empty()) return nullptr;
    if (stage.shares_reduction) return &flat_.reduced[stage.stage];
    if (flat_.region->stages[stage.stage].kind != Stage::Kind::kMap) {
      return nullptr;
    }
    return &stage.spread;
  }

  // The first list that two stages share.
  void FindRow(LaunchPlan* launch) const {
    for (const StagePlan& first : launch->stages) {
      const Variables* row = SharedBy(first);
      if (row == nullptr || row->empty()) continue;
      const bool constant = std::ranges::all_of(*row, [&](uint32_t v) {
        return flat_.extents[v].is_constant() && flat_.extents[v] > 0;
      });
      const int64_t steps =
          (Typical(flat_, *row) + launch->lanes() - 1) / launch->lanes();
      const int64_t most = launch->team == Team::kWarp ? limits_.warp_steps
                                                       : limits_.block_steps;
      if (!constant || launch->lanes() == 1 || steps > most) continue;
      int count = 0;
      for (StagePlan& stage : launch->stages) {
        const Variables* other = SharedBy(stage);
        count += other != nullptr && *other == *row;
      }
      if (count < 2) continue;
      launch->row = *row;
      launch->steps = static_cast<int>(steps);
      for (StagePlan& stage : launch->stages) {
        const Variables* other = SharedBy(stage);
        stage.in_row = other != nullptr && *other == launch->row;
      }
      GroupRow(flat_, launch);
      return;
    }
  }

  // Of a stage that is in no row.
  void FindStageGroups(const LaunchPlan& launch, StagePlan* stage) const {
    const Variables* all = stage->shares_reduction
                               ? &flat_.reduced[stage->stage]
                               : SharedBy(*stage);
    if (stage->in_row || all == nullptr || launch.lanes() == 1) return;
    GroupShared(flat_, *all, launch.lanes(), stage);
  }

  // Whether each element of the result of `s` is read only where its own lane
  // goes through it.
  bool StaysInLanes(uint32_t s, const LaunchPlan& launch) const {
    if (launch.steps == 0 || !launch.stages[s].in_row ||
        flat_.loops[s] != launch.row) {
      return false;
    }
    for (uint32_t reader = 0; reader < launch.stages.size(); ++reader) {
      for (const uint32_t e :
           FindRowLoads(flat_, std::span(&reader, 1), {}).results) {
        const uint32_t load = flat_.region->exprs[e].number;
        if (flat_.region->accesses[load].number != s) continue;
        const Affine& address = flat_.loads[load].address;
        if (!launch.stages[reader].in_row ||
            !flat_.loads[load].dynamic.empty() || !(address.offset == 0) ||
            address.terms != flat_.results[s].terms) {
          return false;
        }
      }
    }
    return true;
  }

  Team FusedTeam() const {
    int64_t work = 0;
    bool buffers = false, combines = false, loops = false;
    for (uint32_t s = 0; s < unordered_.size(); ++s) {
      work = std::max(work, Work(s));
      buffers |= HasBuffer(flat_, s);
      combines |= flat_.region->stages[s].kind != Stage::Kind::kMap;
      loops |= !flat_.loops[s].empty() || !flat_.reduced[s].empty();
    }
    if (!loops || work < limits_.warp_work) return Team::kThread;
    if (!buffers && combines && !ReducesAlongMemory(flat_)) {
      return Team::kThread;
    }
    return work < limits_.block_work ? Team::kWarp : Team::kBlock;
  }

  // Threads of a block that is one team.
  int BlockSize() const {
    int64_t work = 0;
    for (uint32_t s = 0; s < unordered_.size(); ++s) {
      work = std::max(work, Work(s));
    }
    int threads = kSmallBlock;
    while (threads < kLargestBlock && work > threads * limits_.block_steps) {
      threads *= 2;
    }
    return threads;
  }

  // The stage of a launch whose team has `loops` of it left.
  StagePlan Shared(uint32_t s, const Variables& loops,
                   const LaunchPlan& launch) const {
    StagePlan stage;
    stage.stage = s;
    const Stage& of = flat_.region->stages[s];
    const bool reduces = of.kind == Stage::Kind::kReduce;
    const int64_t lanes = launch.lanes();
    stage.shares_reduction =
        reduces && lanes > 1 && Typical(flat_, loops) < lanes &&
        Typical(flat_, flat_.reduced[s]) > Typical(flat_, loops);
    for (const uint32_t v : loops) {
      const bool spreads =
          lanes > 1 && !stage.shares_reduction &&
          of.kind != Stage::Kind::kScan &&
          std::ranges::find(unordered_[s], v) != unordered_[s].end();
      (spreads ? stage.spread : stage.serial).push_back(v);
    }
    return stage;
  }

  // Whether what the last launch has teams for is all that `s` goes through.
  bool JoinsLast(uint32_t s) const {
    return flat_.region->stages[s].kind == Stage::Kind::kMap &&
           flat_.loops[s].empty() &&
           plan_.launches.back().points == flat_.outer &&
           plan_.launches.back().pieces() == 1;
  }

  // One stage in a launch, or in the last one.
  void AddSplit(uint32_t s) {
    if (HasResult(flat_, s)) plan_.results[s] = Storage::kScratch;
    if (!plan_.launches.empty() && JoinsLast(s)) {
      LaunchPlan& last = plan_.launches.back();
      last.stages.push_back(Shared(s, {}, last));
      return;
    }
    LaunchPlan launch;
    launch.points = flat_.outer;
    const Stage& stage = flat_.region->stages[s];
    Variables loops;
    for (const uint32_t v : flat_.loops[s]) {
      const bool point =
          stage.kind != Stage::Kind::kScan &&
          std::ranges::find(unordered_[s], v) != unordered_[s].end();
      (point ? launch.points : loops).push_back(v);
    }
    const int64_t reduced = Typical(flat_, flat_.reduced[s]);
    const int64_t work =
        stage.kind == Stage::Kind::kScan ? Typical(flat_, loops) : reduced;
    if (stage.kind != Stage::Kind::kMap && work >= limits_.warp_work) {
      launch.team = work < limits_.block_work ? Team::kWarp : Team::kBlock;
    }
    if (launch.team == Team::kBlock) {
      const bool scan = stage.kind == Stage::Kind::kScan;
      launch.threads = scan && work > 8192 ? 1024 : 256;
    }
    StagePlan plan = Shared(s, loops, launch);
    const int64_t most = limits_.piece_teams /
                         std::max<int64_t>(1, Typical(flat_, launch.points));
    const bool scans = stage.kind == Stage::Kind::kScan && launch.lanes() > 1;
    if ((plan.shares_reduction && loops.empty()) || scans) {
      plan.pieces = static_cast<int>(std::clamp<int64_t>(
          work / limits_.piece_work, 1, std::max<int64_t>(most, 1)));
    }
    if (stage.kind == Stage::Kind::kReduce) FindStageGroups(launch, &plan);
    if (scans && plan.pieces > 1) {
      StagePlan totals = plan;
      totals.totals = totals.shares_reduction = true;
      launch.stages = {totals};
      plan_.launches.push_back(launch);
      launch.stages.clear();
    }
    launch.stages.push_back(plan);
    plan_.launches.push_back(launch);
    if (plan.pieces == 1 || scans) return;
    plan.merges = true;
    launch.stages = {plan};
    const bool many = plan.pieces > kMostWarpPieces;
    launch.team = many ? Team::kBlock : Team::kWarp;
    launch.threads = many ? 256 : 128;
    plan_.launches.push_back(std::move(launch));
  }

  const FlatRegion& flat_;
  const PlanLimits& limits_;
  const bool splits_;
  std::vector<Variables> unordered_;  // by stage
  KernelPlan plan_;
};

}  // namespace

KernelPlan MakePlan(const FlatRegion& flat, const PlanLimits& limits) {
  return Planner(flat, limits, /*atomic=*/false).Plan();
}

KernelPlan MakeAtomicPlan(const FlatRegion& flat, const PlanLimits& limits) {
  return Planner(flat, limits, /*atomic=*/true).Plan();
}

}  // namespace encore::backends::cuda
