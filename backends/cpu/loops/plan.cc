#include "encore/backends/cpu/loops/plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "encore/backends/cpu/loops/keep.h"
#include "encore/backends/cpu/loops/split.h"
#include "encore/backends/cpu/loops/stages.h"
#include "encore/backends/cpu/loops/windows.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cpu {
namespace {

// Nests of a kernel: each is code of its own.
constexpr size_t kMostNests = 16;
// What it is worth that elements are written as they follow one another, which
// counts of cycles do not say.
constexpr double kStraightWorth = 1.25;

double CyclesOf(const LoopPlan& plan) {
  double cycles = 0;
  for (const LoopNest& nest : plan) cycles += nest.schedule.compute_cycles;
  return cycles;
}

LoopNest NestOf(std::shared_ptr<const Region> owned, const Region& region,
                Isa isa) {
  std::optional<FlatRegion> flat = Flatten(region, /*repeats=*/true);
  ENCORE_CHECK(flat.has_value());
  LoopNest nest{std::move(owned), *std::move(flat), {}};
  nest.schedule = MakeSchedule(nest.flat, isa);
  return nest;
}

LoopPlan PlanOf(std::vector<Region> parts, Isa isa) {
  LoopPlan plan;
  for (Region& part : parts) {
    auto owned = std::make_shared<const Region>(std::move(part));
    plan.push_back(NestOf(owned, *owned, isa));
  }
  return plan;
}

NestMemory MemoryOf(const LoopNest& nest) {
  return MemoryOf(RegionNest{&nest.flat, &nest.schedule});
}

// Whether a rewritten region keeps no more than what stays in a core's cache
// until it is read, or than `own_bytes`, which the region keeps as it is.
// Longer rows are computed, or read, again: their values would come back from
// memory, which estimates do not count, and each partition would need as much
// scratch memory as a row.
bool StaysInCache(const LoopPlan& other, int64_t own_bytes) {
  return std::ranges::all_of(other, [&](const LoopNest& rewritten) {
    return MemoryOf(rewritten).kept_bytes <=
           std::max<int64_t>(kSecondCacheBytes, own_bytes);
  });
}

// Where `other` takes less than `most` times as long.
void TakeCheaper(LoopPlan other, LoopPlan* best, double most = 1) {
  if (CyclesOf(other) < most * CyclesOf(*best)) *best = std::move(other);
}

// Whether points of the region keep nothing in memory, so that nests may follow
// one another with one scratch memory: none.
bool HasBuffers(const Region& region) {
  return std::ranges::any_of(region.stages, [](const Stage& stage) {
    return !stage.loops.empty() && stage.value.valid();
  });
}

// Whether range checks look at windows: at places that outer and reduced
// variables give together.
bool ChecksWindows(const Region& region) {
  return std::ranges::any_of(region.accesses, [&](const Access& access) {
    return access.checked &&
           std::ranges::any_of(access.indices, [&](const Index& index) {
             return !index.terms.empty() &&
                    index.terms.front().variable < region.outer &&
                    index.terms.back().variable >= region.outer;
           });
  });
}

// Whether something in the region may be decided by a range of a variable, and
// is not the business of tiles, which compute sums over windows.
bool MayBeCut(const Region& region) {
  const bool sums = std::ranges::any_of(region.stages, [](const Stage& stage) {
    return stage.kind == Stage::Kind::kReduce &&
           stage.combiner == RegionCombiner::kSum;
  });
  if (sums && (region.contraction || ChecksWindows(region))) return false;
  return std::ranges::any_of(region.accesses, &Access::checked) ||
         std::ranges::any_of(region.exprs, [](const Expr& expr) {
           return expr.kind == Expr::Kind::kOp && expr.op == Op::kCompare;
         });
}

// Each nest cut along one variable after the other, where that takes less.
void SplitNests(Isa isa, LoopPlan* plan) {
  uint32_t outer = 0;
  for (const LoopNest& nest : *plan) {
    outer = std::max(outer, nest.flat.region->outer);
  }
  for (uint32_t v = 0; v < outer; ++v) {
    LoopPlan split;
    size_t left = plan->size();
    for (LoopNest& nest : *plan) {
      --left;
      const Region& region = *nest.flat.region;
      std::vector<Region> parts;
      if (v < region.outer) parts = SplitAlong(region, v);
      if (!parts.empty() && split.size() + parts.size() + left <= kMostNests) {
        LoopPlan cut = PlanOf(std::move(parts), isa);
        if (CyclesOf(cut) < nest.schedule.compute_cycles) {
          std::ranges::move(cut, std::back_inserter(split));
          continue;
        }
      }
      split.push_back(std::move(nest));
    }
    *plan = std::move(split);
  }
}

}  // namespace

LoopPlan PlanLoops(const Region& region, Isa isa) {
  LoopPlan plan;
  plan.push_back(NestOf(nullptr, region, isa));
  const bool empty = std::ranges::any_of(
      region.extents, [](const Dim& extent) { return extent == Dim(0); });
  if (empty || !region.checks.empty()) return plan;
  const double bytes = plan[0].flat.moved_bytes;
  const int64_t own_bytes = MemoryOf(plan[0]).kept_bytes;
  for (std::optional<Region>& rewritten :
       std::array{SeparateWindows(region), KeepRepeated(region)}) {
    if (!rewritten) continue;
    LoopPlan other = PlanOf({*std::move(rewritten)}, isa);
    if (StaysInCache(other, own_bytes)) TakeCheaper(std::move(other), &plan);
  }
  std::vector<Region> stages = SeparateStages(region);
  if (!stages.empty() && stages.size() <= kMostNests) {
    TakeCheaper(PlanOf(std::move(stages), isa), &plan, kStraightWorth);
  }
  if (MayBeCut(region) && !HasBuffers(*plan[0].flat.region)) {
    SplitNests(isa, &plan);
  }
  if (plan.size() == 1) return plan;
  const int64_t partitions =
      LoopPartitions(std::max(CyclesOf(plan), bytes / kBytesPerCycle));
  for (LoopNest& nest : plan) nest.schedule.partitions = partitions;
  return plan;
}

int64_t ScratchBytes(const LoopPlan& plan) {
  int64_t bytes = 0;  // of the only nest that has some
  for (const LoopNest& nest : plan) bytes += MemoryOf(nest).scratch_bytes;
  return bytes;
}

GeneratedKernel GenerateLoops(const LoopPlan& plan, std::string_view name,
                              int vector_bits) {
  std::vector<RegionNest> nests;
  for (const LoopNest& nest : plan) {
    nests.push_back({&nest.flat, &nest.schedule});
  }
  return GenerateRegion(nests, name, vector_bits);
}

}  // namespace encore::backends::cpu
