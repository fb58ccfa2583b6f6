#include "encore/backends/cpu/inner/schedule.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Of a tile.
constexpr int kMostColumns = 8, kMostRows = 12;
// A load that the first level of cache does not have, beyond one that it has.
constexpr double kSecondLoadCycles = 2;

// Instructions that make one vector of the sums of a row.
double FoldCycles(int columns, int lanes) {
  const int joined = static_cast<int>(
      std::bit_ceil(static_cast<unsigned>(std::max(columns, 2))));
  const int halvings =
      std::countr_zero(static_cast<unsigned>(std::max(lanes / joined, 1)));
  return 3.0 * (joined - 1) + 2.0 * halvings + 1;
}

class Planner {
 public:
  Planner(const FlatRegion& flat, const std::vector<bool>& weights, Isa isa)
      : flat_(flat),
        region_(*flat.region),
        coster_(flat, weights, isa),
        registers_(isa == Isa::kAvx512 ? 32 : 16) {}

  // Whether the region is a sum of products first, and maps.
  bool Fits() const;
  // With rows along `m` and columns along `n`; nothing where factors depend on
  // both, or do not lie along the sum.
  std::optional<InnerSchedule> Plan(uint32_t m, uint32_t n) const;

 private:
  uint32_t lane_variable() const { return flat_.reduced[0].back(); }
  double Extent(uint32_t v) const {
    return static_cast<double>(int64_t{flat_.extents[v]});
  }
  void Pack(ExprId factor, uint32_t n, TileSchedule* tile) const;
  bool LiesAlong(const InnerSchedule& schedule) const;
  double Operations(ExprId factor) const;
  double Cost(const InnerSchedule& schedule) const;
  void ChooseTile(InnerSchedule* schedule) const;
  void Partition(InnerSchedule* schedule) const;

  const FlatRegion& flat_;
  const Region& region_;
  const TileCoster coster_;
  const int registers_;
};

bool Planner::Fits() const {
  if (!FitsTiles(flat_) || !IsSum(region_, region_.stages[0]) ||
      flat_.reduced[0].empty() || flat_.outer.size() < 2) {
    return false;
  }
  for (const int64_t extent : flat_.extents) {
    if (extent == 0) return false;
  }
  for (size_t s = 1; s < region_.stages.size(); ++s) {
    if (region_.stages[s].kind != Stage::Kind::kMap) return false;
  }
  const Expr& value = region_.expr(region_.stages[0].value);
  return value.kind == Expr::Kind::kOp && value.op == Op::kMul &&
         IsFloat(value.dtype);
}

void Planner::Pack(ExprId factor, uint32_t n, TileSchedule* tile) const {
  const std::vector<bool> needed = Reachable(region_, {factor});
  for (uint32_t input = 0; input < region_.inputs.size(); ++input) {
    bool loaded = false;
    for (size_t e = 0; e < needed.size(); ++e) {
      const Expr& expr = region_.exprs[e];
      if (!needed[e] || expr.kind != Expr::Kind::kLoad) continue;
      const Access& access = region_.accesses[expr.number];
      loaded |=
          access.source == Access::Source::kInput && access.number == input &&
          flat_.loads[expr.number].address.Coefficient(lane_variable()) != 1;
    }
    if (!loaded) continue;
    if (const auto panel = coster_.PanelOf(input, n, /*block=*/1)) {
      tile->panels.push_back(*panel);
    }
  }
}

// Whether vectors along the sum are neighbours in memory, or one element.
bool Planner::LiesAlong(const InnerSchedule& schedule) const {
  const Region packed = WithPanels(region_, schedule.tile);
  const std::optional<FlatRegion> flat = FlattenPanels(packed, flat_);
  if (!flat || flat->reduced != flat_.reduced) return false;
  const std::vector<bool> needed =
      Reachable(region_, {schedule.row_factor, schedule.column_factor});
  for (size_t e = 0; e < needed.size(); ++e) {
    if (!needed[e] || region_.exprs[e].kind != Expr::Kind::kLoad) continue;
    const FlatAccess& load = flat->loads[region_.exprs[e].number];
    const int64_t step = load.address.Coefficient(schedule.lane_variable);
    const auto moves = [&](const DynamicIndex& dynamic) {
      return dynamic.indirect.valid() &&
             DependsOn(flat_, dynamic.indirect, schedule.lane_variable);
    };
    if (load.DynamicIn(schedule.lane_variable) || (step != 0 && step != 1) ||
        std::ranges::any_of(load.dynamic, moves)) {
      return false;
    }
  }
  return true;
}

double Planner::Operations(ExprId factor) const {
  const std::vector<bool> needed = Reachable(region_, {factor});
  double cycles = 0;
  for (size_t e = 0; e < needed.size(); ++e) {
    if (needed[e] && region_.exprs[e].kind == Expr::Kind::kOp) {
      cycles += OpCycles(region_.exprs[e].op, coster_.lanes());
    }
  }
  return cycles;
}

double Planner::Cost(const InnerSchedule& schedule) const {
  const TileSchedule& tile = schedule.tile;
  const int64_t rows = flat_.extents[tile.row_variable];
  const int64_t columns = flat_.extents[tile.vector_variable];
  double points = 1;  // vectors along the sum
  for (const uint32_t r : flat_.reduced[0]) {
    points *= r == schedule.lane_variable
                  ? static_cast<double>(
                        CeilDiv<int64_t>(flat_.extents[r], tile.lanes))
                  : Extent(r);
  }
  double others = 1;
  for (const uint32_t o : flat_.outer) {
    if (o != tile.row_variable && o != tile.vector_variable) {
      others *= Extent(o);
    }
  }
  const double row_tiles = static_cast<double>(rows) / tile.rows;
  const auto column_tiles =
      static_cast<double>(CeilDiv<int64_t>(columns, schedule.columns));
  const double column_bytes =
      points * tile.lanes * schedule.columns * sizeof(float);
  double load = Operations(schedule.column_factor);
  if (column_bytes > kFirstCacheBytes) load += kSecondLoadCycles;
  const double loads = row_tiles * static_cast<double>(columns) * load +
                       column_tiles * static_cast<double>(rows) *
                           Operations(schedule.row_factor);
  const double fold = static_cast<double>(rows) * column_tiles *
                      FoldCycles(schedule.columns, tile.lanes);
  const double sums =
      points *
      (PointCycles(rows, columns, tile.rows, schedule.columns) + loads);
  return others *
         (sums + fold +
          row_tiles * column_tiles * (kTileCycles + coster_.MapCycles(tile)));
}

void Planner::ChooseTile(InnerSchedule* schedule) const {
  TileSchedule& tile = schedule->tile;
  const int64_t most_rows =
      std::min<int64_t>(flat_.extents[tile.row_variable], kMostRows);
  const int64_t most_columns = std::min<int64_t>(
      flat_.extents[tile.vector_variable], std::min(kMostColumns, tile.lanes));
  std::optional<InnerSchedule> best;
  for (int columns = 1; columns <= most_columns; ++columns) {
    for (int rows = 1; rows <= most_rows; ++rows) {
      // The sums, a vector of each of the fewer ones, and one of the others.
      if (rows * columns + std::min(rows, columns) + 1 >= registers_) break;
      InnerSchedule plan = *schedule;
      plan.tile.rows = rows;
      plan.columns = columns;
      plan.tile.cycles = Cost(plan);
      if (!best || plan.tile.cycles < best->tile.cycles) best = std::move(plan);
    }
  }
  *schedule = *std::move(best);
}

void Planner::Partition(InnerSchedule* schedule) const {
  TileSchedule& tile = schedule->tile;
  SetUnits(flat_, &tile);
  schedule->column_tiles =
      CeilDiv<int64_t>(flat_.extents[tile.vector_variable], schedule->columns);
  tile.compute_cycles = tile.cycles;
  tile.cycles = std::max(tile.cycles, flat_.moved_bytes / kBytesPerCycle);
  const int64_t units =
      tile.other_points * tile.row_tiles * schedule->column_tiles;
  tile.partitions = std::min(
      WantedPartitions(
          std::max(tile.cycles, flat_.moved_bytes / kMemoryBytesPerCycle),
          kMaxTilePartitions),
      units);
}

std::optional<InnerSchedule> Planner::Plan(uint32_t m, uint32_t n) const {
  const Expr& product = region_.expr(region_.stages[0].value);
  for (int side = 0; side < 2; ++side) {
    InnerSchedule schedule;
    schedule.row_factor = product.operands[side];
    schedule.column_factor = product.operands[1 - side];
    if (!DependsOn(flat_, schedule.row_factor, m) ||
        DependsOn(flat_, schedule.row_factor, n) ||
        !DependsOn(flat_, schedule.column_factor, n) ||
        DependsOn(flat_, schedule.column_factor, m)) {
      continue;
    }
    schedule.lane_variable = lane_variable();
    schedule.tile.lanes = coster_.lanes();
    schedule.tile.row_variable = m;
    schedule.tile.vector_variable = n;
    Pack(schedule.column_factor, n, &schedule.tile);
    Pack(schedule.row_factor, m, &schedule.tile);
    if (!LiesAlong(schedule)) continue;
    ChooseTile(&schedule);
    Partition(&schedule);
    return schedule;
  }
  return std::nullopt;
}

}  // namespace

std::optional<InnerSchedule> MakeInnerSchedule(const FlatRegion& flat,
                                               const std::vector<bool>& weights,
                                               Isa isa) {
  const Planner planner(flat, weights, isa);
  if (!planner.Fits()) return std::nullopt;
  std::optional<InnerSchedule> best;
  for (const uint32_t m : flat.outer) {
    for (const uint32_t n : flat.outer) {
      if (m == n) continue;
      std::optional<InnerSchedule> plan = planner.Plan(m, n);
      if (!plan) continue;
      if (!best || plan->tile.compute_cycles < best->tile.compute_cycles) {
        best = std::move(plan);
      }
    }
  }
  return best;
}

}  // namespace encore::backends::cpu
