#include "encore/backends/cpu/codegen/plane_tiles.h"

#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/planes.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

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
  // All tiles of the row variable from `first` on, or a chunk up to `end`.
  void EmitRows(const Value& first, const Value& end, bool chunk);
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
  const std::vector<Value> digits =
      UnitDigits(b_, unit, flat_, s_, {s_.row_chunks});
  for (size_t i = 0; i < s_.others.size(); ++i) {
    e_.SetVariable(s_.others[i], digits[i]);
    SetOriginal(original_, copied_, flat_, s_.others[i], digits[i]);
  }
  const Value first = b_.Mul(digits.back(), s_.plane_rows);
  const Value end = b_.Add(first, s_.plane_rows);
  Copy(first);
  const Elem elem = MemoryElem(dtype_);
  e_.SetBase(planes_.access, b_.Gep(copy_, elem,
                                    b_.Sub(IrBuilder::I64(0),
                                           b_.Mul(first, planes_.row_step))));
  const int64_t extent = flat_.extents[s_.plane_variable];
  if (s_.plane_variable == s_.row_variable) {
    return EmitRows(first, end, s_.row_chunks > 1);
  }
  const Value last = s_.row_chunks > 1
                         ? b_.Intrinsic("smin", {end, IrBuilder::I64(extent)})
                         : IrBuilder::I64(extent);
  b_.Loop(first, last, 1, [&](const Value& i) {
    e_.SetVariable(s_.plane_variable, i);
    EmitRows(IrBuilder::I64(0), last, false);
  });
}

void PlaneGenerator::Copy(const Value& first) {
  original_.SetVariable(s_.plane_variable, first);
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

void PlaneGenerator::EmitRows(const Value& first, const Value& end,
                              bool chunk) {
  const int64_t extent = flat_.extents[s_.row_variable];
  const int64_t full = extent / s_.rows * s_.rows;
  const Value last = chunk ? b_.Intrinsic("smin", {end, IrBuilder::I64(full)})
                           : IrBuilder::I64(full);
  b_.Loop(first, last, s_.rows,
          [&](const Value& row) { EmitColumns(row, s_.rows); });
  if (full == extent) return;
  const auto rest = [&] {
    EmitColumns(IrBuilder::I64(full), static_cast<int>(extent - full));
  };
  if (!chunk) return rest();
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
  int64_t scratch_bytes = 0;
  copy_ = PartitionMemory(b_, *flat_.region, s_.stage_bytes, s_.partitions,
                          &scratch_bytes);
  PartitionLoop(b_, s_.other_points * s_.row_chunks, s_.partitions,
                [&](const Value& unit) { EmitUnit(unit); });
  GeneratedKernel kernel = FinishKernel(b_, name, s_.partitions, vector_bits);
  kernel.scratch_bytes = scratch_bytes;
  return kernel;
}

}  // namespace

GeneratedKernel GeneratePlaneTiles(const FlatRegion& flat,
                                   const TileSchedule& schedule,
                                   std::string_view name, int vector_bits) {
  const std::optional<Planes> planes =
      MakePlanes(flat, schedule.vector_variable, schedule.plane_variable,
                 schedule.plane_rows, schedule.lanes);
  ENCORE_CHECK(planes.has_value());
  const std::optional<FlatRegion> copied = Flatten(planes->region);
  ENCORE_CHECK(copied.has_value());
  return PlaneGenerator(flat, schedule, *planes, *copied)
      .Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
