#include "encore/backends/cpu/codegen/plane_tiles.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "encore/backends/cpu/codegen/planes.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/codegen/tile_coster.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kMaxPartitions = 64;
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
  for (const uint32_t o : flat.outer) {
    if (o == plan->vector_variable || o == plan->row_variable) continue;
    plan->others.push_back(o);
    plan->other_points *= flat.extents[o];
  }
  plan->row_tiles =
      CeilDiv<int64_t>(flat.extents[plan->row_variable], plan->rows);
  plan->chunk_tiles = plan->plane_rows / plan->rows;
  plan->row_chunks = CeilDiv<int64_t>(plan->row_tiles, plan->chunk_tiles);
  const int64_t wanted = std::clamp<int64_t>(
      static_cast<int64_t>(plan->cycles / kGrainCycles), 1, kMaxPartitions);
  plan->partitions = std::min(wanted, plan->other_points * plan->row_chunks);
}

class PlaneGenerator {
 public:
  PlaneGenerator(const FlatRegion& flat, const TileSchedule& schedule,
                 const Planes& planes, const FlatRegion& copied)
      : flat_(flat),
        s_(schedule),
        planes_(planes),
        copied_(copied),
        original_(copied, schedule.lanes, b_),
        e_(planes.flat, schedule.lanes, b_),
        tile_(e_, planes.flat, schedule),
        dtype_(copied.region->expr(planes.load).dtype) {}

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  void EmitUnit(const Value& unit);
  // Copies what the rows from `first` on read.
  void Copy(const Value& first);
  void CopyDim(size_t dim, const Value& element);
  void EmitRows(const Value& first, const Value& end);
  void EmitColumns(const Value& row, int rows);

  const FlatRegion& flat_;
  const TileSchedule& s_;
  const Planes& planes_;
  const FlatRegion& copied_;
  IrBuilder b_;
  RegionEmitter original_, e_;
  TileEmitter tile_;
  DType dtype_;
  Value copy_;
};

void PlaneGenerator::EmitUnit(const Value& unit) {
  std::vector<int64_t> extents;
  for (const uint32_t o : s_.others) extents.push_back(flat_.extents[o]);
  extents.push_back(s_.row_chunks);
  const std::vector<Value> digits = Digits(b_, unit, extents);
  for (size_t i = 0; i < s_.others.size(); ++i) {
    e_.SetVariable(s_.others[i], digits[i]);
    const std::vector<uint32_t> parts =
        OriginalVariables(copied_, flat_, s_.others[i]);
    std::vector<int64_t> sizes;
    for (const uint32_t v : parts) sizes.push_back(copied_.extents[v]);
    const std::vector<Value> values = Digits(b_, digits[i], sizes);
    for (size_t p = 0; p < parts.size(); ++p) {
      original_.SetVariable(parts[p], values[p]);
    }
  }
  const Value first = b_.Mul(digits.back(), s_.plane_rows);
  Copy(first);
  const Elem elem = MemoryElem(dtype_);
  e_.SetBase(planes_.access, b_.Gep(copy_, elem,
                                    b_.Sub(IrBuilder::I64(0),
                                           b_.Mul(first, planes_.row_step))));
  EmitRows(first, b_.Add(first, s_.plane_rows));
}

void PlaneGenerator::Copy(const Value& first) {
  original_.SetVariable(s_.row_variable, first);
  original_.SetLanes(kNoVariable, {});
  CopyDim(0, IrBuilder::I64(0));
}

void PlaneGenerator::CopyDim(size_t dim, const Value& element) {
  const bool last = dim + 1 == planes_.dims.size();
  const int64_t extent = planes_.extents[dim];
  const Value at = b_.Mul(element, extent);
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(extent), last ? s_.lanes : 1,
          [&](const Value& i) {
            original_.SetVariable(planes_.dims[dim], i);
            if (!last) return CopyDim(dim + 1, b_.Add(at, i));
            const auto variable = static_cast<int>(planes_.dims[dim]);
            original_.SetLanes(variable, {});
            const Value value =
                ToMemory(b_, dtype_, original_.EvalLanes(planes_.load));
            const Elem elem = value.type.elem;
            b_.Store(value, b_.Gep(copy_, elem, b_.Add(at, i)),
                     ElemBits(elem) / 8);
            original_.SetLanes(kNoVariable, {});
          });
}

void PlaneGenerator::EmitRows(const Value& first, const Value& end) {
  const int64_t extent = flat_.extents[s_.row_variable];
  const int64_t full = extent / s_.rows * s_.rows;
  const Value last = s_.row_chunks > 1
                         ? b_.Intrinsic("smin", {end, IrBuilder::I64(full)})
                         : IrBuilder::I64(full);
  b_.Loop(first, last, s_.rows,
          [&](const Value& row) { EmitColumns(row, s_.rows); });
  if (full == extent) return;
  const auto rest = [&] {
    EmitColumns(IrBuilder::I64(full), static_cast<int>(extent - full));
  };
  if (s_.row_chunks == 1) return rest();
  b_.If(b_.Compare("sgt", end, IrBuilder::I64(full)), rest);
}

void PlaneGenerator::EmitColumns(const Value& row, int rows) {
  const int64_t extent = flat_.extents[s_.vector_variable];
  const int64_t full = extent / s_.block() * s_.block();
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(full), s_.block(),
          [&](const Value& column) {
            tile_.Emit({row, column, rows, s_.vectors, s_.lanes});
          });
  if (full == extent) return;
  const int64_t rest = extent - full;
  const auto vectors = static_cast<int>(CeilDiv<int64_t>(rest, s_.lanes));
  tile_.Emit({row, IrBuilder::I64(full), rows, vectors,
              rest - int64_t{vectors - 1} * s_.lanes});
}

GeneratedKernel PlaneGenerator::Generate(std::string_view name,
                                         int vector_bits) {
  copy_ = b_.NewArray({MemoryElem(dtype_), 1}, planes_.elements());
  PartitionLoop(b_, s_.other_points * s_.row_chunks, s_.partitions,
                [&](const Value& unit) { EmitUnit(unit); });
  GeneratedKernel kernel;
  kernel.ir =
      b_.Finish(name, "ptr %buffers, ptr %args, i64 %partition, ptr %helpers",
                vector_bits);
  kernel.partitions = s_.partitions;
  return kernel;
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

GeneratedKernel GeneratePlaneTiles(const FlatRegion& flat,
                                   const TileSchedule& schedule,
                                   std::string_view name, int vector_bits) {
  const std::optional<Planes> planes =
      MakePlanes(flat, schedule.vector_variable, schedule.row_variable,
                 schedule.plane_rows, schedule.lanes);
  ENCORE_CHECK(planes.has_value());
  const std::optional<FlatRegion> copied = Flatten(planes->region);
  ENCORE_CHECK(copied.has_value());
  return PlaneGenerator(flat, schedule, *planes, *copied)
      .Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
