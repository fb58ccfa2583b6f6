#include <functional>
#include <utility>

#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/tile.h"

namespace encore::backends::cpu {
namespace {

// Small windows are unrolled whole: their range checks become constants.
constexpr int64_t kMaxUnrolledPoints = 150;

class TileGenerator {
 public:
  TileGenerator(const FlatRegion& flat, const TileSchedule& schedule)
      : flat_(flat),
        region_(*flat.region),
        s_(schedule),
        e_(flat, schedule.lanes),
        b_(e_.builder()) {}

  std::string Generate(std::string_view name, int vector_bits);

 private:
  // Where a tile lies and how much of it there is.
  struct Tile {
    Value row, column;
    int rows = 0, vectors = 0;
    int64_t last_lanes = 0;  // of the last vector; all where it is `lanes`
  };

  bool has_rows() const { return s_.row_variable != s_.vector_variable; }
  void EmitUnit(const Value& unit);
  void EmitColumns(const Value& chunk, const Value& row, int rows);
  void EmitTile(const Tile& tile);
  void EmitSum(const Tile& tile, size_t stage);
  void EmitMap(const Tile& tile, size_t stage);
  // The point (r, u) of the tile becomes the current one.
  void Place(const Tile& tile, int r, int u);
  // `body` for every point of reduced[first…].
  void Reduce(const std::vector<uint32_t>& reduced, size_t first, bool unroll,
              const std::function<void()>& body);
  // sum + the stage's value at the current point.
  Value AddValue(const Stage& stage, const Value& sum);

  const FlatRegion& flat_;
  const Region& region_;
  const TileSchedule& s_;
  RegionEmitter e_;
  IrBuilder& b_;
  std::vector<std::vector<Value>> results_;  // by stage and point
};

void TileGenerator::Place(const Tile& tile, int r, int u) {
  if (has_rows()) e_.SetVariable(s_.row_variable, tile.row, r);
  e_.SetVariable(s_.vector_variable, tile.column, int64_t{u} * s_.lanes);
  const bool partial = u == tile.vectors - 1 && tile.last_lanes < s_.lanes;
  e_.SetLanes(
      static_cast<int>(s_.vector_variable),
      partial ? IrBuilder::PrefixMask(s_.lanes, tile.last_lanes) : Value());
  for (size_t s = 0; s < results_.size(); ++s) {
    if (!results_[s].empty()) {
      e_.SetResult(s, 0, results_[s][r * tile.vectors + u]);
    }
  }
}

Value TileGenerator::AddValue(const Stage& stage, const Value& sum) {
  const Expr& value = region_.expr(stage.value);
  const auto wide = [&](ExprId id) {
    return ConvertDType(b_, region_.expr(id).dtype, stage.accumulate,
                        e_.EvalLanes(id));
  };
  if (value.op == Op::kMul && IsFloat(value.dtype)) {
    return b_.Fma(wide(value.operands[0]), wide(value.operands[1]), sum);
  }
  return b_.Binary("fadd", sum, wide(stage.value));
}

void TileGenerator::Reduce(const std::vector<uint32_t>& reduced, size_t first,
                           bool unroll, const std::function<void()>& body) {
  if (first == reduced.size()) return body();
  const uint32_t variable = reduced[first];
  const auto point = [&](const Value& i) {
    e_.SetVariable(variable, i);
    Reduce(reduced, first + 1, unroll, body);
  };
  if (!unroll) {
    return b_.Loop(IrBuilder::I64(0), IrBuilder::I64(flat_.extents[variable]),
                   1, point);
  }
  for (int64_t i = 0; i < flat_.extents[variable]; ++i) {
    point(IrBuilder::I64(i));
  }
}

void TileGenerator::EmitSum(const Tile& tile, size_t stage) {
  const Stage& info = region_.stages[stage];
  const IrType type{ComputeElem(info.accumulate), s_.lanes};
  std::vector<Value> sums;
  for (int i = 0; i < tile.rows * tile.vectors; ++i) {
    sums.push_back(b_.NewVariable(type));
    b_.Set(sums.back(), IrBuilder::Zero(type));
  }
  e_.SetLanes(kNoVariable, {});
  const std::vector<uint32_t> reduced = ReductionOrder(flat_, stage);
  int64_t points = 1;
  for (const uint32_t v : reduced) points *= flat_.extents[v];
  const bool unroll = points * tile.rows * tile.vectors <= kMaxUnrolledPoints;
  Reduce(reduced, 0, unroll, [&] {
    for (int r = 0; r < tile.rows; ++r) {
      for (int u = 0; u < tile.vectors; ++u) {
        Place(tile, r, u);
        const Value& sum = sums[r * tile.vectors + u];
        b_.Set(sum, AddValue(info, b_.Get(sum, type)));
      }
    }
  });
  for (const Value& sum : sums) {
    results_[stage].push_back(
        ConvertDType(b_, info.accumulate, info.dtype, b_.Get(sum, type)));
  }
}

void TileGenerator::EmitMap(const Tile& tile, size_t stage) {
  const Stage& info = region_.stages[stage];
  std::vector<Value> values;
  for (int r = 0; r < tile.rows; ++r) {
    for (int u = 0; u < tile.vectors; ++u) {
      Place(tile, r, u);
      if (info.value.valid()) values.push_back(e_.EvalLanes(info.value));
      for (const Store& store : info.stores) e_.Eval(store.value);
      for (size_t i = 0; i < info.stores.size(); ++i) e_.EmitStore(stage, i);
    }
  }
  results_[stage] = std::move(values);
}

void TileGenerator::EmitTile(const Tile& tile) {
  results_.assign(region_.stages.size(), {});
  for (size_t s = 0; s < region_.stages.size(); ++s) {
    if (region_.stages[s].kind == Stage::Kind::kReduce) {
      EmitSum(tile, s);
    } else {
      EmitMap(tile, s);
    }
  }
}

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
    EmitTile({row, column, rows, s_.vectors, s_.lanes});
  });
  if (full == extent) return;
  const auto tail = [&] {
    const int64_t rest = extent - full;
    const auto vectors = static_cast<int>((rest + s_.lanes - 1) / s_.lanes);
    EmitTile({row, IrBuilder::I64(full), rows, vectors,
              rest - int64_t{vectors - 1} * s_.lanes});
  };
  if (s_.chunks > 1) {
    b_.If(b_.Compare("eq", chunk, IrBuilder::I64(s_.chunks - 1)), tail);
  } else {
    tail();
  }
}

void TileGenerator::EmitUnit(const Value& unit) {
  Value rest = unit;
  const auto split = [&](int64_t extent) {
    if (rest.name[0] != '%' || extent == 1) return IrBuilder::I64(0);
    const Value divisor = IrBuilder::I64(extent);
    const Value part = b_.Binary("urem", rest, divisor);
    rest = b_.Binary("udiv", rest, divisor);
    return part;
  };
  const Value chunk = split(s_.chunks);
  const Value row_tile = split(s_.row_tiles);
  for (size_t i = s_.others.size(); i-- > 0;) {
    const uint32_t variable = s_.others[i];
    e_.SetVariable(variable, split(flat_.extents[variable]));
  }
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

std::string TileGenerator::Generate(std::string_view name, int vector_bits) {
  const int64_t units = s_.other_points * s_.row_tiles * s_.chunks;
  Value begin = IrBuilder::I64(0), end = IrBuilder::I64(units);
  if (s_.partitions > 1) {
    const Value partition = IrBuilder::Parameter("partition", Elem::kI64);
    const Value parts = IrBuilder::I64(s_.partitions);
    begin = b_.Binary("udiv", b_.Mul(partition, units), parts);
    end = b_.Binary("udiv", b_.Mul(b_.Add(partition, 1), units), parts);
  }
  b_.Loop(begin, end, 1, [&](const Value& unit) { EmitUnit(unit); });
  return b_.Finish(name,
                   "ptr %buffers, ptr %args, i64 %partition, ptr %helpers",
                   vector_bits);
}

}  // namespace

GeneratedKernel GenerateTiles(const FlatRegion& flat,
                              const TileSchedule& schedule,
                              std::string_view name, int vector_bits) {
  GeneratedKernel kernel;
  kernel.ir = TileGenerator(flat, schedule).Generate(name, vector_bits);
  kernel.partitions = schedule.partitions;
  return kernel;
}

}  // namespace encore::backends::cpu
