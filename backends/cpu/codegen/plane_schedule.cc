#include "encore/backends/cpu/codegen/plane_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/lane_memory.h"
#include "encore/backends/cpu/codegen/planes.h"
#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Sums of a tile of the rows that share a copy, so that window and sums stay in
// registers.
constexpr int kMostSums = 8;
// The same where windows are read in place, which takes more registers, of half
// as many, or by strides, for which several vectors are picked from.
constexpr int kMostSumsAvx2 = 4, kMostStridedSums = 4;

// Tiles of rows or of columns that are code of their own at most, at the edges;
// and how many rows of code a tile less is worth.
constexpr int64_t kMostAtEdges = 3;
constexpr int64_t kTileRowsOfCode = 2;
// What is left of a cost at the least, whatever is estimated to be saved.
constexpr double kLeastShare = 0.1;

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

// Whether what a check of a sum's load is of moves along one of `v` and `m`
// alone, and forwards, from window to window.
bool MovesAlongOne(const FlatRegion& flat, const DynamicIndex& dynamic,
                   uint32_t v, uint32_t m) {
  if (dynamic.indirect.valid() || dynamic.divisor != 1 || dynamic.block > 1 ||
      !(dynamic.stride == 0)) {
    return false;
  }
  int moving = 0;
  for (const auto& [variable, coefficient] : dynamic.index.terms) {
    if (variable >= flat.region->outer || flat.extents[variable] == 1) continue;
    if ((variable != v && variable != m) || coefficient < 0) return false;
    ++moving;
  }
  return moving == 1;
}

// Plans of tiles that read windows where they lie.
class WindowPlanner {
 public:
  WindowPlanner(const FlatRegion& flat, Isa isa)
      : flat_(flat),
        isa_(isa),
        none_(flat.region->inputs.size()),
        lanes_(TileCoster(flat, none_, isa).lanes()) {
    for (FlatAccess& load : inside_.loads) {
      if (!load.checked) continue;
      load.checked = false;
      load.dynamic.clear();
    }
  }

  std::optional<TileSchedule> Plan(uint32_t v, uint32_t m) const {
    if (!Fits(v, m)) return std::nullopt;
    TileSchedule plan;
    plan.lanes = lanes_;
    plan.vector_variable = v;
    plan.row_variable = plan.plane_variable = m;
    plan.in_place = true;
    const int64_t most = std::min(MostSums(v), kMaxUnrolledPoints / Taps());
    if (most < 1) return std::nullopt;
    plan.rows = static_cast<int>(std::min<int64_t>(most, flat_.extents[m]));
    plan.vectors = static_cast<int>(std::clamp<int64_t>(
        most / plan.rows, 1, CeilDiv<int64_t>(flat_.extents[v], lanes_)));
    if (FindRowTiles(flat_, plan).at_edges() > kMostAtEdges ||
        FindColumnTiles(flat_, plan).at_edges() > kMostAtEdges) {
      return std::nullopt;
    }
    const TileCoster coster(inside_, none_, isa_);
    const double cost = coster.Cost(plan);
    plan.cycles = std::max(cost - SharedCycles(plan), kLeastShare * cost);
    Cut(&plan);
    return plan;
  }

 private:
  bool Fits(uint32_t v, uint32_t m) const {
    bool checked = false;
    for (size_t a = 0; a < flat_.loads.size(); ++a) {
      const FlatAccess& load = flat_.loads[a];
      if (!load.checked) continue;
      checked = true;
      const int64_t step = load.address.Coefficient(v);
      if (flat_.region->accesses[a].source != Access::Source::kInput ||
          load.padded || load.panel != FlatAccess::kNoPanel ||
          (step != 1 && !IsShuffledStride(step, lanes_)) ||
          !std::ranges::all_of(load.dynamic, [&](const DynamicIndex& d) {
            return MovesAlongOne(flat_, d, v, m);
          })) {
        return false;
      }
    }
    return checked;
  }

  int64_t MostSums(uint32_t v) const {
    if (isa_ != Isa::kAvx512) return kMostSumsAvx2;
    const bool strided =
        std::ranges::any_of(flat_.loads, [v](const FlatAccess& load) {
          return load.checked && !(load.address.Coefficient(v) == 1);
        });
    return strided ? kMostStridedSums : kMostSums;
  }

  // Of all stages, or some number that is too large to be unrolled.
  int64_t Taps() const {
    int64_t taps = 1;
    for (size_t s = 0; s < flat_.reduced.size(); ++s) {
      const int64_t more = TapsOf(s);
      if (more > kMaxUnrolledPoints / taps) return kMaxUnrolledPoints + 1;
      taps *= more;
    }
    return taps;
  }
  int64_t TapsOf(size_t stage) const {
    int64_t taps = 1;
    for (const uint32_t r : flat_.reduced[stage]) taps *= flat_.extents[r];
    return taps;
  }

  // What the plan's tiles save beside those that load at each tap: neighbours
  // share what their windows have in common, and nothing is a loop.
  double SharedCycles(const TileSchedule& plan) const {
    const uint32_t v = plan.vector_variable, m = plan.row_variable;
    double cycles = 0;
    for (size_t s = 0; s < flat_.reduced.size(); ++s) {
      const std::vector<ExprId> value = {flat_.region->stages[s].value};
      if (flat_.reduced[s].empty() || !value[0].valid()) continue;
      const std::vector<bool> needed = Reachable(*flat_.region, value);
      for (size_t e = 0; e < needed.size(); ++e) {
        const Expr& expr = flat_.region->exprs[e];
        if (!needed[e] || expr.kind != Expr::Kind::kLoad) continue;
        const Affine& address = flat_.loads[expr.number].address;
        if (address.Coefficient(v) == 0 || address.Coefficient(m) == 0) {
          continue;
        }
        const int64_t all = TapsOf(s) * plan.rows * plan.vectors;
        const double each = address.Coefficient(v) == 1 ? kVectorLoadCycles : 3;
        cycles += each * static_cast<double>(all - Loads(plan, s, address));
      }
      cycles += kLoopCycles * static_cast<double>(TapsOf(s));
    }
    double tiles =
        static_cast<double>(CeilDiv<int64_t>(flat_.extents[v], plan.block())) *
        static_cast<double>(flat_.extents[m]) / plan.rows;
    for (const uint32_t o : flat_.outer) {
      if (o != v && o != m) tiles *= static_cast<double>(flat_.extents[o]);
    }
    return tiles * cycles;
  }

  // Different vectors that a tile loads by such an access.
  int64_t Loads(const TileSchedule& plan, size_t stage,
                const Affine& address) const {
    std::set<int64_t> places;
    for (int r = 0; r < plan.rows; ++r) {
      for (int u = 0; u < plan.vectors; ++u) {
        places.insert(address.Coefficient(plan.row_variable) * r +
                      address.Coefficient(plan.vector_variable) * u * lanes_);
      }
    }
    for (const uint32_t variable : flat_.reduced[stage]) {
      std::set<int64_t> moved;
      for (int64_t i = 0; i < flat_.extents[variable]; ++i) {
        for (const int64_t place : places) {
          moved.insert(place + address.Coefficient(variable) * i);
        }
      }
      places = std::move(moved);
    }
    return static_cast<int64_t>(places.size());
  }

  // Chunks of the rows inside: all, unless there is little else to cut.
  void Cut(TileSchedule* plan) const {
    SetUnits(flat_, plan);
    const TilesInside rows = FindRowTiles(flat_, *plan);
    const int64_t inside = std::max<int64_t>(rows.end - rows.begin, rows.size);
    const int64_t wanted = WantedPartitions(plan->cycles, kMaxTilePartitions);
    const int64_t chunks =
        wanted == 1 ? 1 : CeilDiv(2 * wanted, plan->other_points);
    plan->plane_rows =
        RoundUp(CeilDiv(inside, std::min(chunks, inside)), rows.size);
    plan->row_chunks = CeilDiv(inside, plan->plane_rows);
    plan->partitions = std::min(wanted, plan->other_points * plan->row_chunks);
  }

  const FlatRegion& flat_;
  const Isa isa_;
  const std::vector<bool> none_;
  const int lanes_;
  FlatRegion inside_ = flat_;  // without checks
};

}  // namespace

TilesInside FindTilesInside(const FlatRegion& flat, uint32_t variable,
                            int64_t size, bool anywhere) {
  const int64_t extent = flat.extents[variable];
  int64_t first = 0, end = extent;
  for (const FlatAccess& load : flat.loads) {
    for (const DynamicIndex& dynamic : load.dynamic) {
      const int64_t step = dynamic.index.Coefficient(variable);
      if (!dynamic.checked || step == 0) continue;
      int64_t low = dynamic.index.offset, high = low;
      for (const auto& [other, coefficient] : dynamic.index.terms) {
        if (other == variable) continue;
        const int64_t most = coefficient * (flat.extents[other] - 1);
        (most < 0 ? low : high) += most;
      }
      const int64_t last = int64_t{dynamic.extent} - 1 - high;
      if (low < 0) first = std::max(first, CeilDiv<int64_t>(-low, step));
      end = std::min(end, last < 0 ? 0 : last / step + 1);
    }
  }
  if (!anywhere) first = RoundUp(first, size);
  const int64_t inside = std::max<int64_t>(end - first, 0) / size * size;
  if (inside == 0) return {size, extent, 0, 0};
  return {size, extent, first, first + inside};
}

TilesInside FindColumnTiles(const FlatRegion& flat,
                            const TileSchedule& schedule) {
  return FindTilesInside(flat, schedule.vector_variable, schedule.block(),
                         /*anywhere=*/false);
}

TilesInside FindRowTiles(const FlatRegion& flat, const TileSchedule& schedule) {
  const auto find = [&](bool anywhere) {
    return FindTilesInside(flat, schedule.row_variable, schedule.rows,
                           anywhere);
  };
  const auto code = [](const TilesInside& tiles) {
    const int64_t inside = tiles.end > tiles.begin ? tiles.size : 0;
    return inside + tiles.begin + tiles.extent - tiles.end +
           kTileRowsOfCode * tiles.tiles();
  };
  const TilesInside even = find(false), any = find(true);
  return code(any) < code(even) ? any : even;
}

void PlanWindows(const FlatRegion& flat, Isa isa,
                 std::optional<TileSchedule>* best) {
  if (flat.outer.size() < 2) return;
  for (const int64_t extent : flat.extents) {
    if (extent == 0) return;
  }
  const WindowPlanner planner(flat, isa);
  const uint32_t v = flat.outer.back();
  for (const uint32_t m : flat.outer) {
    if (m == v) continue;
    std::optional<TileSchedule> plan = planner.Plan(v, m);
    if (plan && (!*best || plan->cycles < (*best)->cycles)) {
      *best = std::move(plan);
    }
  }
}

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
