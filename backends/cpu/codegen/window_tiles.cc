#include "encore/backends/cpu/codegen/window_tiles.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/plane_schedule.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// `flat` without the range checks that `variable` is in.
FlatRegion WithoutChecks(FlatRegion flat, uint32_t variable) {
  for (FlatAccess& load : flat.loads) {
    std::erase_if(load.dynamic, [&](const DynamicIndex& dynamic) {
      return dynamic.checked && !(dynamic.index.Coefficient(variable) == 0);
    });
    load.checked = std::ranges::any_of(
        load.dynamic, [](const DynamicIndex& d) { return d.checked; });
  }
  return flat;
}

class WindowGenerator {
 public:
  WindowGenerator(const FlatRegion& flat, const TileSchedule& schedule)
      : flat_(flat),
        s_(schedule),
        rows_(FindRowTiles(flat, schedule)),
        columns_(FindColumnTiles(flat, schedule)) {
    const FlatRegion rows = WithoutChecks(flat, s_.row_variable);
    forms_.push_back(MakeForm(WithoutChecks(rows, s_.vector_variable)));
    forms_.push_back(MakeForm(WithoutChecks(flat, s_.vector_variable)));
    forms_.push_back(MakeForm(rows));
    forms_.push_back(MakeForm(flat));
  }

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  // Code for tiles that may read out of range along some of their sides.
  struct Form {
    Form(FlatRegion region, const TileSchedule& schedule, IrBuilder& b)
        : flat(std::move(region)),
          e(flat, schedule.lanes, b),
          tile(e, flat, schedule) {}

    const FlatRegion flat;
    RegionEmitter e;
    TileEmitter tile;
  };
  std::unique_ptr<Form> MakeForm(FlatRegion flat) {
    return std::make_unique<Form>(std::move(flat), s_, b_);
  }
  TileEmitter& tile(bool row_leaves, bool column_leaves) {
    return forms_[(row_leaves ? 1 : 0) + (column_leaves ? 2 : 0)]->tile;
  }

  void EmitUnit(const Value& unit);
  // The rows from `first` to `last`, each tile by itself.
  void EmitEdges(int64_t first, int64_t last);
  void EmitColumns(const Value& row, int rows, bool leaves);

  const FlatRegion& flat_;
  const TileSchedule& s_;
  const TilesInside rows_, columns_;
  IrBuilder b_;
  std::vector<std::unique_ptr<Form>> forms_;
};

void WindowGenerator::EmitUnit(const Value& unit) {
  const std::vector<Value> digits =
      UnitDigits(b_, unit, flat_, s_, {s_.row_chunks});
  for (const auto& form : forms_) {
    for (size_t i = 0; i < s_.others.size(); ++i) {
      form->e.SetVariable(s_.others[i], digits[i]);
    }
  }
  const Value& chunk = digits.back();
  const auto in_chunk = [&](int64_t number, const std::function<void()>& body) {
    if (s_.row_chunks == 1) return body();
    b_.If(b_.Compare("eq", chunk, IrBuilder::I64(number)), body);
  };
  if (rows_.begin > 0) in_chunk(0, [&] { EmitEdges(0, rows_.begin); });
  Value begin = IrBuilder::I64(rows_.begin), end = IrBuilder::I64(rows_.end);
  if (s_.row_chunks > 1) {
    begin = b_.Add(b_.Mul(chunk, s_.plane_rows), begin);
    end = b_.Intrinsic("smin", {end, b_.Add(begin, s_.plane_rows)});
  }
  if (rows_.begin < rows_.end) {
    b_.Loop(begin, end, s_.rows,
            [&](const Value& row) { EmitColumns(row, s_.rows, false); });
  }
  if (rows_.end < rows_.extent) {
    in_chunk(s_.row_chunks - 1, [&] { EmitEdges(rows_.end, rows_.extent); });
  }
}

void WindowGenerator::EmitEdges(int64_t first, int64_t last) {
  for (int64_t row = first; row < last; row += s_.rows) {
    EmitColumns(IrBuilder::I64(row),
                static_cast<int>(std::min<int64_t>(last - row, s_.rows)), true);
  }
}

void WindowGenerator::EmitColumns(const Value& row, int rows, bool leaves) {
  const auto edges = [&](int64_t first, int64_t last) {
    for (int64_t column = first; column < last; column += s_.block()) {
      const int64_t count = std::min(last - column, s_.block());
      const auto vectors = static_cast<int>(CeilDiv<int64_t>(count, s_.lanes));
      tile(leaves, true)
          .Emit({row, IrBuilder::I64(column), rows, vectors,
                 count - int64_t{vectors - 1} * s_.lanes});
    }
  };
  edges(0, columns_.begin);
  if (columns_.begin < columns_.end) {
    b_.Loop(
        IrBuilder::I64(columns_.begin), IrBuilder::I64(columns_.end),
        s_.block(), [&](const Value& column) {
          tile(leaves, false).Emit({row, column, rows, s_.vectors, s_.lanes});
        });
  }
  edges(columns_.end, columns_.extent);
}

GeneratedKernel WindowGenerator::Generate(std::string_view name,
                                          int vector_bits) {
  PartitionLoop(b_, s_.other_points * s_.row_chunks, s_.partitions,
                [&](const Value& unit) { EmitUnit(unit); });
  return FinishKernel(b_, name, s_.partitions, vector_bits);
}

}  // namespace

GeneratedKernel GenerateWindowTiles(const FlatRegion& flat,
                                    const TileSchedule& schedule,
                                    std::string_view name, int vector_bits) {
  return WindowGenerator(flat, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
