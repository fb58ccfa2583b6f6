#include "encore/backends/cpu/codegen/plane_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "encore/backends/cpu/codegen/planes.h"
#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Sums of a tile of the rows that share a copy, so that window and sums stay in
// registers.
constexpr int kMostSums = 8;

int64_t Bytes(const FlatRegion& flat, uint32_t access, int64_t elements) {
  const Operand& input =
      flat.region->inputs[flat.region->accesses[access].number];
  return RoundUp<int64_t>(elements * BitWidth(input.dtype) / 8, kLineBytes);
}

// A plan with the cheapest number of rows that share a copy.
class Planner {
 public:
  Planner(const FlatRegion& flat, Isa isa)
      : flat_(flat),
        isa_(isa),
        none_(flat.region->inputs.size()),
        lanes_(TileCoster(flat, none_, isa).lanes()) {}

  // The best with lanes along `v` and copies for values of `p`; nothing where
  // windows cannot be copied so.
  std::optional<TileSchedule> Plan(uint32_t v, uint32_t p) const {
    const std::optional<Planes> all =
        MakePlanes(flat_, v, p, flat_.extents[p], lanes_);
    if (!all || all->row_step == 0) return std::nullopt;
    const std::optional<Planes> one = MakePlanes(flat_, v, p, 1, lanes_);
    std::optional<TileSchedule> best;
    for (const uint32_t m : flat_.outer) {
      if (m == v) continue;
      const std::optional<TileSchedule> plan =
          m == p ? TilesOfRows(*all, v, m) : TilesOfOthers(*all, v, m);
      if (!plan) continue;
      const int64_t step = m == p ? plan->rows : 1;
      for (int64_t rows = flat_.extents[p];;) {
        rows = RoundUp<int64_t>(rows, step);
        TileSchedule cut = *plan;
        Cut(*one, *all, p, rows, &cut);
        // Rows that share a copy read each of its elements few times: as many
        // of them as keep it in the first cache, where one tile does.
        const bool small = cut.stage_bytes <= kFirstCacheBytes ||
                           (rows == step && cut.stage_bytes <= kMaxStackBytes);
        if ((m != p || small) && (!best || cut.cycles < best->cycles)) {
          best = std::move(cut);
        }
        if (m == p && small) break;
        if (rows == step) break;
        rows = CeilDiv<int64_t>(rows, 2);
      }
    }
    return best;
  }

 private:
  // Sets how many values of `p` share a copy, and what follows; `one`, `all`:
  // the copies for one and for all.
  void Cut(const Planes& one, const Planes& all, uint32_t p, int64_t rows,
           TileSchedule* plan) const {
    const int64_t extent = flat_.extents[p];
    // Each row adds the same lines.
    const int64_t more = extent > 1
                             ? (all.elements() - one.elements()) / (extent - 1)
                             : all.row_step;
    const int64_t elements = one.elements() + more * (rows - 1);
    plan->plane_variable = p;
    plan->plane_rows = rows;
    plan->stage_bytes = Bytes(flat_, all.access, elements);
    Partition(plan);
    // A load through checks and a store for each vector of the copy.
    plan->cycles +=
        5.0 * static_cast<double>(elements / lanes_ * plan->other_points *
                                  plan->row_chunks);
    if (plan->row_variable != p && plan->stage_bytes > kFirstCacheBytes) {
      plan->cycles *= 1.1;
    }
    if (plan->stage_bytes > kSecondCacheBytes) plan->cycles *= 2;
  }

  // Tiles of a variable that does not move the windows.
  std::optional<TileSchedule> TilesOfOthers(const Planes& planes, uint32_t v,
                                            uint32_t m) const {
    const FlatAccess& original = flat_.loads[planes.access];
    if (original.address.Coefficient(m) != 0 || original.DynamicIn(m)) {
      return std::nullopt;
    }
    const FlatAccess& access = planes.flat.loads[planes.access];
    TileSchedule plan = TileCoster(planes.flat, none_, isa_).Plan(v, m);
    // What is read at constant places must be unrolled, and the innermost loop
    // is slow where it is not.
    if (Taps(access) * plan.rows * plan.vectors > kMaxUnrolledTaps) {
      return std::nullopt;
    }
    return plan;
  }

  // Tiles of the rows that share a copy.
  std::optional<TileSchedule> TilesOfRows(const Planes& planes, uint32_t v,
                                          uint32_t m) const {
    TileSchedule plan;
    plan.lanes = lanes_;
    plan.vector_variable = v;
    plan.row_variable = m;
    int64_t taps = 1;
    for (const auto& reduced : flat_.reduced) {
      for (const uint32_t r : reduced) taps *= flat_.extents[r];
    }
    const int64_t most =
        std::min<int64_t>(kMostSums, kMaxUnrolledPoints / taps);
    if (most < 1) return std::nullopt;
    plan.vectors = flat_.extents[v] > lanes_ && most > 1 ? 2 : 1;
    plan.rows = static_cast<int>(
        std::clamp<int64_t>(most / plan.vectors, 1, flat_.extents[m]));
    plan.cycles = TileCoster(planes.flat, none_, isa_).Cost(plan);
    return plan;
  }

  // Points of the innermost loop, and of those around it up to the last that
  // moves along the phases.
  int64_t Taps(const FlatAccess& access) const {
    int64_t taps = 1, all = 1;
    for (const auto& reduced : flat_.reduced) {
      for (size_t i = reduced.size(); i-- > 0;) {
        all *= flat_.extents[reduced[i]];
        const int64_t step = access.phased.Coefficient(reduced[i]).typical();
        if (i + 1 == reduced.size() || step % access.phases != 0) taps = all;
      }
    }
    return taps;
  }

  void Partition(TileSchedule* plan) const {
    SetUnits(flat_, plan);
    if (plan->plane_variable != plan->row_variable) {
      std::erase(plan->others, plan->plane_variable);
      plan->other_points /= flat_.extents[plan->plane_variable];
    }
    plan->row_chunks =
        CeilDiv<int64_t>(flat_.extents[plan->plane_variable], plan->plane_rows);
    plan->partitions =
        std::min(WantedPartitions(plan->cycles, kMaxTilePartitions),
                 plan->other_points * plan->row_chunks);
  }

  const FlatRegion& flat_;
  const Isa isa_;
  const std::vector<bool> none_;  // of the inputs is packed
  const int lanes_;
};

}  // namespace

void PlanPlanes(const FlatRegion& flat, Isa isa,
                std::optional<TileSchedule>* best) {
  if (flat.outer.size() < 2) return;
  for (const int64_t extent : flat.extents) {
    if (extent == 0) return;
  }
  const Planner planner(flat, isa);
  const uint32_t v = flat.outer.back();
  for (const uint32_t p : flat.outer) {
    if (p == v) continue;
    std::optional<TileSchedule> plan = planner.Plan(v, p);
    if (plan && (!*best || plan->cycles < (*best)->cycles)) {
      *best = std::move(plan);
    }
  }
}

}  // namespace encore::backends::cpu
