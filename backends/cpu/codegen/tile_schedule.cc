#include "encore/backends/cpu/codegen/tile_schedule.h"

#include <algorithm>
#include <cmath>

#include "encore/backends/cpu/codegen/plane_schedule.h"
#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Each partition of a staged kernel has scratch memory of its own.
constexpr int64_t kMaxStagedPartitions = 16;
constexpr int64_t kWantedStagedUnits = 8;
constexpr int64_t kLeastStagedRows = 32;

// Whether a load is of another element at each point, so that rows of a tile
// would share nothing of it.
bool Streams(const FlatRegion& flat) {
  return std::ranges::any_of(flat.loads, [&flat](const FlatAccess& load) {
    return std::ranges::all_of(flat.outer, [&load](uint32_t v) {
      return load.address.Coefficient(v) != 0;
    });
  });
}

// Pieces of the columns that each stay in a core's cache while all rows pass,
// where that reads less than all columns for each tile of rows.
int64_t CachedPieces(const FlatRegion& flat, const TileSchedule& plan) {
  const int64_t columns = flat.extents[plan.vector_variable];
  if (plan.row_tiles < 2 || columns == 0) return 1;
  const int64_t rows = flat.extents[plan.row_variable];
  int64_t reduced = 0;
  for (size_t s = 0; s < flat.reduced.size(); ++s) {
    if (!IsSum(*flat.region, flat.region->stages[s])) continue;
    int64_t points = sizeof(float);
    for (const uint32_t r : flat.reduced[s]) points *= flat.extents[r];
    reduced = std::max(reduced, points);
  }
  // Products of these need be no int64 where windows are huge.
  const double column_bytes = static_cast<double>(columns) * reduced;
  if (column_bytes <= kSecondCacheBytes) return 1;
  const double pieces = std::ceil(column_bytes / (kSecondCacheBytes / 4));
  const double again = static_cast<double>(rows) * reduced * (pieces - 1);
  if (again >= column_bytes * (plan.row_tiles - 1)) return 1;
  return static_cast<int64_t>(std::min(pieces, static_cast<double>(columns)));
}

void Partition(const FlatRegion& flat, TileSchedule* plan) {
  SetUnits(flat, plan);
  const int64_t extent = flat.extents[plan->vector_variable];
  const int64_t wanted = WantedPartitions(
      std::max(plan->cycles, flat.moved_bytes / kMemoryBytesPerCycle),
      kMaxTilePartitions);
  const int64_t units =
      std::max<int64_t>(plan->row_tiles * plan->other_points, 1);
  plan->chunk_extent =
      std::max<int64_t>(CeilDiv<int64_t>(extent, plan->block()), 1) *
      plan->block();
  int64_t pieces = CachedPieces(flat, *plan);
  if (wanted > 1 && units < 2 * wanted) {
    pieces = std::max(pieces, CeilDiv<int64_t>(2 * wanted, units));
  }
  if (pieces > 1) {
    pieces = std::min(pieces, CeilDiv<int64_t>(extent, plan->block()));
    plan->chunk_extent =
        CeilDiv<int64_t>(CeilDiv<int64_t>(extent, plan->block()), pieces) *
        plan->block();
    plan->chunks =
        std::max<int64_t>(CeilDiv<int64_t>(extent, plan->chunk_extent), 1);
  }
  plan->partitions =
      std::max<int64_t>(std::min(wanted, units * plan->chunks), 1);
}

// Units are blocks of points by chunks of rows; few of the latter, because each
// stages its block again.
void PartitionStaged(const FlatRegion& flat, TileSchedule* plan) {
  SetUnits(flat, plan);
  plan->chunk_extent = plan->block();
  plan->chunks =
      CeilDiv<int64_t>(flat.extents[plan->vector_variable], plan->block());
  const int64_t wanted = WantedPartitions(plan->cycles, kMaxStagedPartitions);
  const int64_t units = std::max<int64_t>(plan->other_points * plan->chunks, 1);
  const int64_t most_chunks =
      std::max<int64_t>(plan->row_tiles * plan->rows / kLeastStagedRows, 1);
  plan->row_chunks =
      std::min(CeilDiv<int64_t>(std::min(wanted, kWantedStagedUnits), units),
               most_chunks);
  plan->chunk_tiles = CeilDiv<int64_t>(plan->row_tiles, plan->row_chunks);
  plan->row_chunks = CeilDiv<int64_t>(plan->row_tiles, plan->chunk_tiles);
  plan->partitions =
      std::max<int64_t>(std::min(wanted, units * plan->row_chunks), 1);
}

// The best kernel with that staging, its variables and scratch.
void PlanStaged(const FlatRegion& flat, const TileCoster& original,
                const Staging& staging, std::vector<bool> weights, Isa isa,
                std::optional<TileSchedule>* best) {
  const std::optional<FlatRegion> staged = Flatten(staging.region);
  if (!staged) return;
  const auto number = static_cast<uint32_t>(weights.size());
  weights.push_back(false);
  const TileCoster coster(*staged, weights, isa, number);
  const uint32_t v = staging.vector_variable;
  const std::vector<uint32_t> points = OriginalVariables(flat, *staged, v);
  for (const uint32_t m : staged->outer) {
    if (m == v || DependsOn(flat, staging.value,
                            OriginalVariables(flat, *staged, m).back())) {
      continue;
    }
    TileSchedule plan = coster.Plan(v, m);
    PartitionStaged(*staged, &plan);
    const int64_t inner = flat.extents[points.back()];
    const int64_t pieces = plan.block() / plan.lanes +
                           (points.size() > 1 ? plan.block() / inner : 0);
    plan.cycles +=
        static_cast<double>(plan.other_points * plan.chunks * plan.row_chunks *
                            staging.reduced_points * pieces) *
        original.StageCycles(staging.stage, staging.value, points.back(),
                             plan.block());
    plan.cycles +=
        static_cast<double>(plan.other_points * plan.chunks * plan.row_tiles) *
        coster.FarRowCycles(plan);
    const bool aligned = points.size() == 1;
    plan.stage_pitch = plan.block() + (aligned ? 0 : plan.lanes);
    plan.stage_bytes =
        (staging.reduced_points * plan.stage_pitch + plan.lanes) *
        BitWidth(staging.region.inputs.back().dtype) / 8;
    plan.stage_bytes = CeilDiv<int64_t>(plan.stage_bytes, 64) * 64;
    if (plan.stage_bytes > kSecondCacheBytes) plan.cycles *= 1.1;
    if (*best && (*best)->cycles <= plan.cycles) continue;
    plan.staging = staging;
    *best = std::move(plan);
  }
}

}  // namespace

bool FitsTiles(const FlatRegion& flat) {
  const auto blocked = [](const FlatAccess& access) {
    return std::ranges::any_of(
        access.dynamic, [](const DynamicIndex& d) { return d.block > 1; });
  };
  if (std::ranges::any_of(flat.loads, blocked)) return false;
  for (const auto& stores : flat.stores) {
    if (std::ranges::any_of(stores, blocked)) return false;
  }
  bool sums = false;
  for (const Stage& stage : flat.region->stages) {
    if (IsSum(*flat.region, stage)) {
      sums = true;
    } else if (stage.kind != Stage::Kind::kMap || !stage.loops.empty()) {
      return false;
    }
    for (const Store& store : stage.stores) {
      if (store.update != Update::kSet) return false;
    }
  }
  for (size_t a = 0; a < flat.loads.size(); ++a) {
    if (flat.region->accesses[a].source == Access::Source::kStage &&
        !flat.region->accesses[a].indices.empty()) {
      return false;
    }
  }
  return sums && flat.outer.size() >= 1;
}

std::vector<uint32_t> ReductionOrder(const FlatRegion& flat, size_t stage) {
  std::vector<uint32_t> order, unchecked;
  for (const uint32_t v : flat.reduced[stage]) {
    const bool checked =
        std::any_of(flat.loads.begin(), flat.loads.end(),
                    [v](const FlatAccess& load) { return load.DynamicIn(v); });
    (checked ? order : unchecked).push_back(v);
  }
  order.insert(order.end(), unchecked.begin(), unchecked.end());
  return order;
}

bool TurnsResults(const FlatRegion& flat, uint32_t v, uint32_t m) {
  if (v == m) return false;
  bool behind = false, stores = false;  // the sums; there are some
  for (size_t s = 0; s < flat.stores.size(); ++s) {
    const bool maps = flat.region->stages[s].kind == Stage::Kind::kMap;
    if (behind && !maps) return false;
    behind |= maps;
    for (const FlatAccess& store : flat.stores[s]) {
      stores = true;
      const int64_t step = store.address.Coefficient(v);
      if (!store.dynamic.empty() || !store.repeats.empty() || step == 0 ||
          step == 1 || !(store.address.Coefficient(m) == 1)) {
        return false;
      }
    }
  }
  return stores;
}

void SetUnits(const FlatRegion& flat, TileSchedule* schedule) {
  for (const uint32_t o : flat.outer) {
    if (o == schedule->vector_variable || o == schedule->row_variable) continue;
    schedule->others.push_back(o);
    schedule->other_points *= flat.extents[o];
  }
  if (schedule->row_variable != schedule->vector_variable) {
    schedule->row_tiles =
        CeilDiv<int64_t>(flat.extents[schedule->row_variable], schedule->rows);
  }
}

double PointCycles(int rows, int vectors) {
  const double sums = rows * vectors;
  return std::max(kLeastPointCycles,
                  sums + kVectorLoadCycles * vectors + kRowLoadCycles * rows) +
         kLoopCycles;
}

double PointCycles(int64_t rows, int64_t vectors, int tile_rows,
                   int tile_vectors) {
  const auto columns = [&](int of_rows) {
    const auto left = static_cast<int>(vectors % tile_vectors);
    return static_cast<double>(vectors / tile_vectors) *
               PointCycles(of_rows, tile_vectors) +
           (left > 0 ? PointCycles(of_rows, left) : 0);
  };
  const auto left = static_cast<int>(rows % tile_rows);
  return static_cast<double>(rows / tile_rows) * columns(tile_rows) +
         (left > 0 ? columns(left) : 0);
}

int64_t WantedPartitions(double cycles, int64_t most) {
  return std::clamp<int64_t>(static_cast<int64_t>(cycles / kGrainCycles), 1,
                             most);
}

int64_t TileSchedule::scratch_bytes() const {
  return stage_bytes <= kMaxStackBytes ? 0 : stage_bytes * partitions;
}

std::optional<TileSchedule> MakeTileSchedule(const FlatRegion& flat,
                                             const std::vector<bool>& weights,
                                             Isa isa) {
  if (!FitsTiles(flat)) return std::nullopt;
  const TileCoster coster(flat, weights, isa);
  std::optional<TileSchedule> best;
  const bool streams = Streams(flat);
  for (const uint32_t v : flat.outer) {
    for (const uint32_t m : flat.outer) {
      if (v == m && flat.outer.size() > 1 && !streams) continue;
      TileSchedule plan = coster.Plan(v, m);
      if (!best || plan.cycles < best->cycles) best = std::move(plan);
    }
  }
  if (best) Partition(flat, &*best);
  for (const Staging& staging : MakeStagings(flat)) {
    PlanStaged(flat, coster, staging, weights, isa, &best);
  }
  PlanPlanes(flat, isa, &best);
  PlanWindows(flat, isa, &best);
  if (!best) return best;
  best->compute_cycles = best->cycles;
  best->cycles = std::max(best->cycles, flat.moved_bytes / kBytesPerCycle);
  return best;
}

Region WithPanels(const Region& region, const TileSchedule& schedule) {
  Region packed = region;
  for (const TileSchedule::Panel& panel : schedule.panels) {
    Layout& layout = packed.inputs[panel.input].layout;
    layout.order = panel.order;
    if (panel.block > 1) layout.blocks = {{panel.dim, panel.block}};
  }
  return packed;
}

Region PackRegion(const Region& region, const TileSchedule::Panel& panel,
                  int64_t* bytes) {
  const Operand& input = region.inputs[panel.input];
  const int64_t block = panel.block;
  const int64_t blocks =
      CeilDiv<int64_t>(input.dims[panel.dim].constant(), block);
  Region pack;
  pack.inputs = {input};
  pack.extents = {blocks};
  Access access;
  access.checked = true;
  access.indices.resize(input.dims.size());
  for (const int d : panel.order) {
    if (d == panel.dim) continue;
    access.indices[d].terms = {{static_cast<uint32_t>(pack.extents.size()), 1}};
    pack.extents.push_back(input.dims[d]);
  }
  const auto last = static_cast<uint32_t>(pack.extents.size());
  access.indices[panel.dim].terms = {{0, block}, {last, 1}};
  pack.extents.push_back(block);
  pack.outer = last + 1;
  pack.outputs = {{input.dtype, pack.extents, {}}};
  Expr load;
  load.kind = Expr::Kind::kLoad;
  load.dtype = input.dtype;
  load.number = AddAccess(&pack, std::move(access));
  Store store;
  store.value = AddExpr(&pack, load);
  *bytes = BitWidth(input.dtype) / 8;
  for (uint32_t v = 0; v < pack.outer; ++v) {
    Index index;
    index.terms = {{v, 1}};
    store.indices.push_back(std::move(index));
    *bytes *= pack.extents[v].constant();
  }
  Stage stage;
  stage.stores = {std::move(store)};
  stage.dtype = stage.accumulate = input.dtype;
  pack.stages = {std::move(stage)};
  return pack;
}

}  // namespace encore::backends::cpu
