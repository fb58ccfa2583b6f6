#include "encore/backends/cpu/codegen/tile_codegen.h"

#include <utility>

#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

class TileGenerator {
 public:
  TileGenerator(const FlatRegion& flat, const TileSchedule& schedule)
      : flat_(flat),
        s_(schedule),
        e_(flat, schedule.lanes, b_),
        tile_(e_, flat, schedule) {}

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  bool has_rows() const { return s_.row_variable != s_.vector_variable; }
  void EmitUnit(const Value& unit);
  void EmitColumns(const Value& chunk, const Value& row, int rows);

  const FlatRegion& flat_;
  const TileSchedule& s_;
  IrBuilder b_;
  RegionEmitter e_;
  TileEmitter tile_;
};

void TileGenerator::EmitColumns(const Value& chunk, const Value& row,
                                int rows) {
  const int64_t extent = flat_.extents[s_.vector_variable];
  const int64_t full = extent / s_.block() * s_.block();
  const Value begin = b_.Mul(chunk, s_.chunk_extent);
  Value end = IrBuilder::I64(full);
  if (s_.chunks > 1) {
    end = b_.Intrinsic("smin", {b_.Add(begin, s_.chunk_extent), end});
  }
  b_.Loop(begin, end, s_.block(), [&](const Value& column) {
    tile_.Emit({row, column, rows, s_.vectors, s_.lanes});
  });
  if (full == extent) return;
  const auto tail = [&] {
    const int64_t rest = extent - full;
    const auto vectors = static_cast<int>(CeilDiv(rest, s_.lanes));
    tile_.Emit({row, IrBuilder::I64(full), rows, vectors,
                rest - int64_t{vectors - 1} * s_.lanes});
  };
  if (s_.chunks > 1) {
    b_.If(b_.Compare("eq", chunk, IrBuilder::I64(s_.chunks - 1)), tail);
  } else {
    tail();
  }
}

void TileGenerator::EmitUnit(const Value& unit) {
  const std::vector<Value> digits =
      UnitDigits(b_, unit, flat_, s_, {s_.chunks, s_.row_tiles});
  for (size_t i = 0; i < s_.others.size(); ++i) {
    e_.SetVariable(s_.others[i], digits[i]);
  }
  const Value& chunk = digits[digits.size() - 2];
  const Value& row_tile = digits.back();
  if (!has_rows()) return EmitColumns(chunk, IrBuilder::I64(0), 1);
  const int64_t extent = flat_.extents[s_.row_variable];
  const auto left = static_cast<int>(extent % s_.rows);
  const Value row = b_.Mul(row_tile, s_.rows);
  if (left == 0) return EmitColumns(chunk, row, s_.rows);
  if (extent < s_.rows) return EmitColumns(chunk, row, left);
  b_.If(
      b_.Compare("eq", row_tile, IrBuilder::I64(s_.row_tiles - 1)),
      [&] { EmitColumns(chunk, row, left); },
      [&] { EmitColumns(chunk, row, s_.rows); });
}

GeneratedKernel TileGenerator::Generate(std::string_view name,
                                        int vector_bits) {
  PartitionLoop(b_, s_.other_points * s_.row_tiles * s_.chunks, s_.partitions,
                [&](const Value& unit) { EmitUnit(unit); });
  return FinishKernel(b_, name, s_.partitions, vector_bits);
}

}  // namespace

GeneratedKernel GenerateTiles(const FlatRegion& flat,
                              const TileSchedule& schedule,
                              std::string_view name, int vector_bits) {
  return TileGenerator(flat, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
