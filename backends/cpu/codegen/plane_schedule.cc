#include "encore/backends/cpu/codegen/plane_schedule.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "encore/backends/cpu/codegen/planes.h"
#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Sums of a tile, so that window and sums stay in registers.
constexpr int kMostSums = 8;
// What TileEmitter unrolls.
constexpr int64_t kMostUnrolled = 150;

int64_t Bytes(const FlatRegion& flat, const Planes& planes) {
  const Access& access = flat.region->accesses[planes.access];
  return planes.elements() *
         BitWidth(flat.region->inputs[access.number].dtype) / 8;
}

// The tile for these variables and the rows that share a copy; nothing where
// that is not possible.
std::optional<TileSchedule> PlanRows(const FlatRegion& flat, uint32_t v,
                                     uint32_t m, int lanes) {
  TileSchedule plan;
  plan.lanes = lanes;
  plan.vector_variable = v;
  plan.row_variable = m;
  int64_t taps = 1;
  for (const auto& reduced : flat.reduced) {
    for (const uint32_t r : reduced) taps *= flat.extents[r];
  }
  const int64_t most = std::min<int64_t>(kMostSums, kMostUnrolled / taps);
  if (most < 1) return std::nullopt;
  plan.vectors = flat.extents[v] > lanes && most > 1 ? 2 : 1;
  plan.rows = static_cast<int>(
      std::clamp<int64_t>(most / plan.vectors, 1, flat.extents[m]));
  int64_t rows = CeilDiv<int64_t>(flat.extents[m], plan.rows) * plan.rows;
  for (;;) {
    const std::optional<Planes> planes = MakePlanes(flat, v, m, rows, lanes);
    if (!planes || planes->row_step == 0) return std::nullopt;
    const int64_t bytes = Bytes(flat, *planes);
    if (bytes <= kFirstCacheBytes ||
        (rows == plan.rows && bytes <= kMaxStackBytes)) {
      break;
    }
    if (rows == plan.rows) return std::nullopt;
    rows = CeilDiv<int64_t>(rows / 2, plan.rows) * plan.rows;
  }
  plan.plane_rows = rows;
  return plan;
}

void Partition(const FlatRegion& flat, TileSchedule* plan) {
  SetUnits(flat, plan);
  plan->chunk_tiles = plan->plane_rows / plan->rows;
  plan->row_chunks = CeilDiv<int64_t>(plan->row_tiles, plan->chunk_tiles);
  plan->partitions =
      std::min(WantedPartitions(plan->cycles, kMaxTilePartitions),
               plan->other_points * plan->row_chunks);
}

}  // namespace

void PlanPlanes(const FlatRegion& flat, const std::vector<bool>& weights,
                Isa isa, std::optional<TileSchedule>* best) {
  if (flat.outer.size() < 2) return;
  for (const int64_t extent : flat.extents) {
    if (extent == 0) return;
  }
  const int lanes = TileCoster(flat, weights, isa).lanes();
  const uint32_t v = flat.outer.back();
  for (const uint32_t m : flat.outer) {
    if (m == v) continue;
    std::optional<TileSchedule> plan = PlanRows(flat, v, m, lanes);
    if (!plan) continue;
    const std::optional<Planes> planes =
        MakePlanes(flat, v, m, plan->plane_rows, lanes);
    plan->cycles = TileCoster(planes->flat, weights, isa).Cost(*plan);
    Partition(flat, &*plan);
    // A load through checks and a store for each vector of the copy.
    plan->cycles +=
        5.0 * static_cast<double>(planes->elements() / lanes *
                                  plan->other_points * plan->row_chunks);
    if (!*best || plan->cycles < (*best)->cycles) *best = std::move(plan);
  }
}

}  // namespace encore::backends::cpu
