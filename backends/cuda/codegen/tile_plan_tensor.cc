// Tiles on tensor cores, and which of them takes least.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "encore/backends/cuda/codegen/tile_plan.h"

namespace encore::backends::cuda {
namespace {

// Along k a tile is 64 bytes. `blocks` are those that a multiprocessor holds at
// once, by their registers and 228 KiB of shared memory.
struct TensorSize {
  int m, n, part_m, part_n, stages, blocks;
};
constexpr TensorSize kSizes[] = {
    {128, 256, 64, 64, 4, 1}, {256, 128, 64, 64, 4, 1},
    {128, 128, 64, 64, 4, 2}, {64, 128, 32, 64, 4, 3},
    {128, 64, 64, 32, 4, 3},  {64, 64, 32, 32, 4, 4},
    {32, 128, 32, 32, 5, 3},  {128, 32, 32, 32, 5, 3},
    {16, 128, 16, 32, 8, 3},  {128, 16, 32, 16, 8, 3},
    {16, 64, 16, 16, 10, 4},
};
constexpr int kTileBytes = 64;
// Of a block, dynamic: what every device from sm_80 on has.
constexpr int kMostSharedBytes = 99 * 1024;
static_assert(std::ranges::all_of(kSizes, [](const TensorSize& size) {
  return size.stages * (size.m + size.n) * kTileBytes <= kMostSharedBytes;
}));
constexpr int kGroupBytes = 16;
// Results go through shared memory in so many rows of a part at a time, with
// so many elements behind them (tile_emitter_tensor.cc).
constexpr int kResultRows = 16;
constexpr int kResultPadding = 8;

// What a multiprocessor does in a cycle, by the lowest of the devices that are
// known: products of two bytes, bytes of shared memory, bytes from the cache
// that all share. And cycles until memory answers, of a step whatever is in it,
// and of a block beside its steps.
constexpr double kProducts = 1024;
constexpr double kSharedBytes = 128;
constexpr double kCacheBytes = 24;
constexpr double kLatency = 1200;
constexpr double kStepCycles = 150;
constexpr double kBlockCycles = 2500;
// Of an element that is loaded by itself; and lanes that a multiprocessor has
// instructions of in a cycle.
constexpr double kElementInstructions = 10;
constexpr double kLanes = 128;

// Tiles along k that a piece has at least: its sum is written and read once
// more.
constexpr double kLeastSteps = 4;
constexpr int kMostPieces = 32;

class TensorCost {
 public:
  TensorCost(const FlatRegion& flat, const TilePlan& plan,
             const TileMachine& machine)
      : machine_(machine),
        m_(std::max(1.0, TypicalPoints(flat, plan.m.rows))),
        n_(std::max(1.0, TypicalPoints(flat, plan.n.rows))),
        k_(std::max(1.0, TypicalPoints(flat, plan.k))),
        batch_(std::max(1.0, TypicalPoints(flat, plan.batch))),
        bytes_(plan.element_bytes()) {}

  double k() const { return k_; }

  // Of both launches.
  double Cycles(const TilePlan& plan, int blocks_at_once) const {
    const double tiles =
        std::ceil(m_ / plan.tile_m) * std::ceil(n_ / plan.tile_n) * batch_;
    const double steps = std::ceil(k_ / plan.pieces / plan.tile_k);
    const double each =
        std::ceil(tiles * plan.pieces / machine_.multiprocessors);
    const double at_once = std::min<double>(each, blocks_at_once);
    const double rounds = std::ceil(each / at_once);
    const double own =
        rounds * (kBlockCycles + steps * StepCycles(plan, at_once));
    const double moved = (m_ * k_ + k_ * n_) * batch_ * bytes_;
    const double all = machine_.multiprocessors;
    const double sums =
        plan.pieces == 1 ? 0
                         : 2 * sizeof(float) * m_ * n_ * batch_ * plan.pieces;
    return std::max(own, moved / (all * machine_.bytes_per_cycle)) +
           sums / (all * kCacheBytes) + (plan.pieces > 1 ? kLaunchCycles : 0);
  }

 private:
  // Of one step of as many blocks: what takes longest of products, the two
  // memories, and waiting for what is under way.
  double StepCycles(const TilePlan& plan, double at_once) const {
    const double products =
        plan.tile_m * plan.tile_n * (kTileBytes / 2) / kProducts * (bytes_ / 2);
    const double shared = plan.parts_m() * plan.parts_n() *
                          (plan.part_m + plan.part_n) * kTileBytes /
                          kSharedBytes;
    const double one_by_one = (plan.m.group > 1 ? 0 : plan.tile_m) +
                              (plan.n.group > 1 ? 0 : plan.tile_n);
    const double elements =
        one_by_one * plan.tile_k * kElementInstructions / kLanes;
    const double busy = std::max(products, shared) + elements;
    const double rows =
        std::min<double>(m_, plan.tile_m) + std::min<double>(n_, plan.tile_n);
    const double read = rows * kTileBytes / kCacheBytes;
    const double waits = elements > 0 ? kLatency : kStepCycles;
    return std::max({at_once * busy, busy + waits, at_once * read,
                     kLatency / (plan.stages - 1)});
  }

  const TileMachine machine_;
  const double m_, n_, k_, batch_, bytes_;
};

void Choose(const FlatRegion& flat, const TileMachine& machine, bool split,
            std::optional<TilePlan>* plan) {
  const TensorCost cost(flat, **plan, machine);
  std::optional<TilePlan> best;
  for (const TensorSize& size : kSizes) {
    TilePlan tile = **plan;
    tile.tile_m = size.m;
    tile.tile_n = size.n;
    tile.part_m = size.part_m;
    tile.part_n = size.part_n;
    tile.stages = size.stages;
    const double most = std::floor(cost.k() / (kLeastSteps * tile.tile_k));
    const int last =
        split ? static_cast<int>(std::min<double>(most, kMostPieces)) : 1;
    for (tile.pieces = split ? 2 : 1; tile.pieces <= last; ++tile.pieces) {
      tile.cycles = cost.Cycles(tile, size.blocks);
      if (!best || tile.cycles < best->cycles) best = tile;
    }
  }
  *plan = std::move(best);
}

}  // namespace

int64_t TilePlan::shared_bytes() const {
  const int64_t tiles = int64_t{stages} * (tile_m + tile_n) * kTileBytes;
  const int64_t results = int64_t{parts_m()} * kResultRows *
                          (tile_n + kResultPadding) * int64_t{sizeof(float)};
  return std::max(tiles, results);
}

std::optional<TilePlan> MakeTensorPlan(const FlatRegion& flat,
                                       std::optional<DType> precision,
                                       const TileMachine& machine, bool split) {
  std::optional<TilePlan> plan = MakeTilePlan(flat, machine);
  if (!plan) return std::nullopt;
  const Region& region = *flat.region;
  // In which tensor cores sum.
  if (region.expr(region.stages[0].value).dtype != DType::kF32) {
    return std::nullopt;
  }
  // The factors as they are before products are made of them.
  for (TileFactor* factor : {&plan->m, &plan->n}) {
    factor->value = WithoutWidening(region, factor->value);
  }
  const DType dtype = region.expr(plan->m.value).dtype;
  if (dtype != region.expr(plan->n.value).dtype) return std::nullopt;
  if (IsTensor(dtype)) {
    plan->tensor = dtype;
  } else if (dtype == DType::kF32 && precision) {
    plan->tensor = precision;
  } else {
    return std::nullopt;
  }
  plan->tile_k = kTileBytes / plan->element_bytes();
  for (TileFactor* factor : {&plan->m, &plan->n}) {
    const uint32_t along = (factor->along_k ? plan->k : factor->rows).back();
    const int group = kGroupBytes / plan->element_bytes();
    if (dtype == *plan->tensor && InGroups(flat, factor->value, along, group)) {
      factor->group = group;
    }
  }
  OrderSums(flat, &*plan);
  Choose(flat, machine, split, &plan);
  return plan;
}

}  // namespace encore::backends::cuda
