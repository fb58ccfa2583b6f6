// What tiles pay for lines that are not in the first level of cache.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cpu {
namespace {

// Lines of a set that one input may fill, of the first and second level of
// cache.
constexpr double kFirstWays = kFirstCacheBytes / kFirstWayBytes;
constexpr double kSecondWays = kSecondCacheBytes / kSecondWayBytes;
// Inputs up to this size are read from the third level at most, larger ones
// from memory.
constexpr int64_t kThirdCacheBytes = 8 << 20;
// Cycles until a run of lines has come from each level, where no prefetcher
// foresees it, since a step of the sum leads to another page, or from memory to
// half of one, which two show no stride of; other lines come in time.
// kLostMemory: from memory, where the lines that come beside it are pushed out
// before they are used.
enum Level : uint8_t { kFirst, kSecond, kThird, kMemory, kLostMemory };
constexpr double kRunCycles[] = {0, 4, 15, 50, 180};
// Of each line but one that the rows of a tile read at a point of the sum, from
// beyond the first level.
constexpr double kRowLineCycles = 4;

// Where the operand is read from.
Level LevelOf(const Operand& operand) {
  const int64_t bytes =
      MemoryBytes(operand.dtype, operand.dims, operand.layout).constant();
  if (bytes <= kSecondCacheBytes) return kSecond;
  return bytes <= kThirdCacheBytes ? kThird : kMemory;
}

}  // namespace

double TileCoster::FarCycles(size_t stage, const FlatAccess& access,
                             const Access& load, uint32_t along, int64_t width,
                             StridedReads::Step rows, int64_t passes) const {
  if (load.source != Access::Source::kInput || load.number == staged_ ||
      access.padded || IsPacked(load, along)) {
    return 0;
  }
  const Operand& input = region_.inputs[load.number];
  const int64_t bytes = std::max(BitWidth(input.dtype) / 8, 1);
  const int64_t step = std::abs(access.address.Coefficient(along)) * bytes;
  std::vector<StridedReads::Step> steps = {{rows.bytes * bytes, rows.extent}};
  double points = 1;
  Level at = LevelOf(input);
  const int64_t foreseen_bytes = at == kMemory ? kPageBytes / 2 : kPageBytes;
  bool foreseen = true;
  for (const uint32_t r : flat_.reduced[stage]) {
    const int64_t apart = access.address.Coefficient(r) * bytes;
    foreseen &= std::abs(apart) < foreseen_bytes || flat_.extents[r] == 1;
    steps.push_back({apart, flat_.extents[r]});
    points *= static_cast<double>(flat_.extents[r]);
  }
  points = std::max(points, 1.0);  // of none, nothing is read
  if (foreseen) return 0;
  steps.push_back({step, width});
  const double runs = StridedReads(steps, bytes).runs();
  // What passes before a tile reads the lines again: of a core's share of the
  // columns.
  steps.back().extent = std::clamp<int64_t>(
      kSecondCacheBytes / 4 / (static_cast<int64_t>(points) * bytes), width,
      std::max<int64_t>(flat_.extents[along], width));
  const StridedReads between(steps, bytes);
  const bool first = between.LinesPerSet(kFirstWayBytes) <= kFirstWays;
  const bool second = between.LinesPerSet(kSecondWayBytes) <= kSecondWays;
  if (at == kMemory && !second) at = kLostMemory;
  const Level again = first ? kFirst : second ? kSecond : std::min(at, kThird);
  // Of the first pass, what the neighbouring tile has not read.
  const double fresh =
      std::min(1.0, static_cast<double>(step * width) / kLineBytes);
  return runs *
         (fresh * kRunCycles[at] +
          (static_cast<double>(passes) - fresh) * kRunCycles[again]) /
         (static_cast<double>(passes) * points);
}

double TileCoster::FarCycles(const TileSchedule& plan, size_t stage,
                             const FlatAccess& access,
                             const Access& load) const {
  const uint32_t v = plan.vector_variable, m = plan.row_variable;
  const auto step = [&](uint32_t x) { return access.address.Coefficient(x); };
  const auto tiles = [&](uint32_t x, int64_t size) {
    return CeilDiv<int64_t>(std::max<int64_t>(flat_.extents[x], 1), size);
  };
  if (step(v) == 0) {
    if (v == m || step(m) == 0) return 0;
    // Columns are cut into pieces that stay in the second level (Partition).
    double tile_bytes = sizeof(float) * static_cast<double>(plan.block());
    for (const uint32_t r : flat_.reduced[stage]) {
      tile_bytes *= static_cast<double>(flat_.extents[r]);
    }
    int64_t passes = tiles(v, plan.block());
    if (static_cast<double>(passes) * tile_bytes > kSecondCacheBytes) {
      passes = static_cast<int64_t>(
          std::max(kSecondCacheBytes / 4 / tile_bytes, 1.0));
    }
    return std::max(
        RowLineCycles(plan, stage, access, load),
        FarCycles(stage, access, load, m, plan.rows, {0, 1}, passes));
  }
  // Others are read element by element.
  if (std::abs(step(v)) > kMostDenseStep) return 0;
  const bool in_rows = v != m && (step(m) != 0 || access.DynamicIn(m));
  return FarCycles(stage, access, load, v, plan.block(),
                   {step(m), in_rows ? plan.rows : 1},
                   in_rows || v == m ? 1 : tiles(m, plan.rows));
}

double TileCoster::RowLineCycles(const TileSchedule& plan, size_t stage,
                                 const FlatAccess& access,
                                 const Access& load) const {
  if (load.source != Access::Source::kInput || load.number == staged_ ||
      access.padded || IsPacked(load, plan.row_variable)) {
    return 0;
  }
  const int64_t bytes =
      std::max(BitWidth(region_.inputs[load.number].dtype) / 8, 1);
  for (const uint32_t r : flat_.reduced[stage]) {
    const int64_t apart = access.address.Coefficient(r) * bytes;
    // Neighbouring points share the lines.
    if (std::abs(apart) < kLineBytes && flat_.extents[r] > 1) return 0;
  }
  const int64_t step = access.address.Coefficient(plan.row_variable) * bytes;
  const double lines = StridedReads({{step, plan.rows}}, bytes).lines();
  return (lines - 1) * kRowLineCycles;
}

double TileCoster::FarRowCycles(const TileSchedule& plan) const {
  double cycles = 0;
  const auto add = [&](const FlatAccess& access, const Operand& operand) {
    const int64_t step = access.address.Coefficient(plan.row_variable);
    const bool pages =
        std::abs(step) * BitWidth(operand.dtype) / 8 >= kPageBytes;
    if (pages && LevelOf(operand) == kMemory) {
      cycles += plan.rows * kRunCycles[kMemory];
    }
  };
  for (size_t a = 0; a < region_.accesses.size(); ++a) {
    const Access& access = region_.accesses[a];
    if (access.source == Access::Source::kInput &&
        read_by_maps_[access.number]) {
      add(flat_.loads[a], region_.inputs[access.number]);
    }
  }
  for (size_t s = 0; s < region_.stages.size(); ++s) {
    for (size_t i = 0; i < flat_.stores[s].size(); ++i) {
      add(flat_.stores[s][i],
          region_.outputs[region_.stages[s].stores[i].output]);
    }
  }
  return cycles;
}

}  // namespace encore::backends::cpu
