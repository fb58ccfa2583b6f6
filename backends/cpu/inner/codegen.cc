#include "encore/backends/cpu/inner/codegen.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// How far ahead of their use rows are prefetched, at least.
constexpr int64_t kPrefetchedBytes = 8 << 10;

// The halves of each run of `width` lanes of the vectors added: the runs of the
// first vector, then those of the second, if any, each half as long.
Value AddHalves(IrBuilder& b, const std::vector<Value>& vectors, int width) {
  const int lanes = vectors[0].lanes();
  std::vector<int> low, high;
  for (int v = 0; v < static_cast<int>(vectors.size()); ++v) {
    for (int run = v * lanes; run < (v + 1) * lanes; run += width) {
      for (int i = 0; i < width / 2; ++i) {
        low.push_back(run + i);
        high.push_back(run + width / 2 + i);
      }
    }
  }
  return b.Binary("fadd", b.Shuffle(vectors[0], vectors.back(), low),
                  b.Shuffle(vectors[0], vectors.back(), high));
}

// A vector whose lane i is the sum of all lanes of vectors[i], in a fixed
// order; other lanes are zero.
Value FoldAll(IrBuilder& b, std::vector<Value> vectors) {
  const IrType type = vectors[0].type;
  const auto count = static_cast<unsigned>(vectors.size());
  vectors.resize(std::max(std::bit_ceil(count), 2u), IrBuilder::Zero(type));
  int width = type.lanes;  // lanes that are one sum's
  for (; vectors.size() > 1; width /= 2) {
    std::vector<Value> joined;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      joined.push_back(AddHalves(b, {vectors[i], vectors[i + 1]}, width));
    }
    vectors = std::move(joined);
  }
  Value folded = vectors[0];
  for (; width > 1; width /= 2) folded = AddHalves(b, {folded}, width);
  if (folded.lanes() == type.lanes) return folded;
  std::vector<int> widened;
  for (int i = 0; i < type.lanes; ++i) {
    widened.push_back(std::min(i, folded.lanes()));
  }
  return b.Shuffle(folded, IrBuilder::Zero(folded.type), widened);
}

class InnerGenerator {
 public:
  InnerGenerator(const FlatRegion& flat, const InnerSchedule& schedule)
      : flat_(flat),
        s_(schedule),
        stage_(flat.region->stages[0]),
        e_(flat, schedule.tile.lanes, b_),
        tile_(e_, flat, schedule.tile) {}

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  void EmitUnit(const Value& unit);
  // `body` with the place and the size of tile `number` along the variable.
  void WithTile(uint32_t variable, int size, const Value& number,
                const std::function<void(const Value&, int)>& body);
  void EmitTile(const Value& row, int rows, const Value& column, int columns);
  // `body` at each vector along the sum, with its lanes, all where invalid.
  void Reduce(size_t first, const std::function<void(const Value&)>& body);
  // Whether lanes that do not exist are zeros.
  bool LoadsZeros(ExprId factor) const;
  // Of the rows that follow the tile's in memory, the lines that lie as far on
  // as the current ones of the tile.
  void PrefetchRows(const Value& row, int rows);
  // The factor at `count` points of the variable from `at` on.
  std::vector<Value> Factors(ExprId factor, uint32_t variable, const Value& at,
                             int count);

  const FlatRegion& flat_;
  const InnerSchedule& s_;
  const Stage& stage_;
  IrBuilder b_;
  RegionEmitter e_;
  TileEmitter tile_;
};

void InnerGenerator::WithTile(
    uint32_t variable, int size, const Value& number,
    const std::function<void(const Value&, int)>& body) {
  const int64_t extent = flat_.extents[variable];
  const auto left = static_cast<int>(extent % size);
  const Value at = b_.Mul(number, size);
  if (left == 0) return body(at, size);
  if (extent < size) return body(at, left);
  b_.If(
      b_.Compare("eq", number, IrBuilder::I64(extent / size)),
      [&] { body(at, left); }, [&] { body(at, size); });
}

void InnerGenerator::EmitUnit(const Value& unit) {
  const TileSchedule& tile = s_.tile;
  const std::vector<Value> digits =
      UnitDigits(b_, unit, flat_, tile, {tile.row_tiles, s_.column_tiles});
  for (size_t i = 0; i < tile.others.size(); ++i) {
    e_.SetVariable(tile.others[i], digits[i]);
  }
  WithTile(tile.row_variable, tile.rows, digits[digits.size() - 2],
           [&](const Value& row, int rows) {
             WithTile(tile.vector_variable, s_.columns, digits.back(),
                      [&](const Value& column, int columns) {
                        EmitTile(row, rows, column, columns);
                      });
           });
}

void InnerGenerator::Reduce(size_t first,
                            const std::function<void(const Value&)>& body) {
  const uint32_t variable = flat_.reduced[0][first];
  const Size& extent = flat_.extents[variable];
  if (first + 1 < flat_.reduced[0].size()) {
    return b_.Loop(IrBuilder::I64(0), IrBuilder::I64(extent), 1,
                   [&](const Value& i) {
                     e_.SetVariable(variable, i);
                     Reduce(first + 1, body);
                   });
  }
  const int lanes = s_.tile.lanes;
  const auto at = [&](const Value& i, const Value& active) {
    e_.SetVariable(variable, i);
    e_.SetLanes(static_cast<int>(variable), active);
    body(active);
  };
  const Value full = WholeSteps(e_, extent, lanes);
  b_.Loop(IrBuilder::I64(0), full, lanes, [&](const Value& i) { at(i, {}); });
  WithTail(e_, extent, lanes, [&](const Value& active) { at(full, active); });
}

std::vector<Value> InnerGenerator::Factors(ExprId factor, uint32_t variable,
                                           const Value& at, int count) {
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) {
    e_.SetVariable(variable, at, i);
    values.push_back(ConvertDType(b_, flat_.region->expr(factor).dtype,
                                  stage_.accumulate, e_.EvalLanes(factor)));
  }
  return values;
}

bool InnerGenerator::LoadsZeros(ExprId factor) const {
  const Expr& expr = flat_.region->expr(factor);
  if (expr.kind != Expr::Kind::kLoad) return false;
  const FlatAccess& load = flat_.loads[expr.number];
  return !load.checked && load.address.Coefficient(s_.lane_variable) == 1;
}

void InnerGenerator::PrefetchRows(const Value& row, int rows) {
  const Region& region = *flat_.region;
  const std::vector<bool> needed = Reachable(region, {s_.row_factor});
  for (size_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (!needed[e] || expr.kind != Expr::Kind::kLoad) continue;
    const FlatAccess& load = flat_.loads[expr.number];
    const int64_t step = load.address.Coefficient(s_.tile.row_variable) *
                         BitWidth(expr.dtype) / 8;
    if (step <= 0 || load.checked || !load.dynamic.empty()) continue;
    const int64_t tile = step * s_.tile.rows;
    const int64_t ahead = CeilDiv(kPrefetchedBytes, tile) * tile;
    for (int r = 0; r < rows; ++r) {
      e_.SetVariable(s_.tile.row_variable, row, r);
      b_.Prefetch(b_.Gep(e_.FirstElement(expr.number), Elem::kI8,
                         IrBuilder::I64(ahead)));
    }
  }
}

void InnerGenerator::EmitTile(const Value& row, int rows, const Value& column,
                              int columns) {
  const TileSchedule& tile = s_.tile;
  const IrType type{ComputeElem(stage_.accumulate), tile.lanes};
  std::vector<Value> sums;
  for (int i = 0; i < rows * columns; ++i) {
    sums.push_back(b_.NewVariable(type));
    b_.Set(sums.back(), IrBuilder::Zero(type));
  }
  const bool zeros = LoadsZeros(s_.row_factor) && LoadsZeros(s_.column_factor);
  Reduce(0, [&](const Value& active) {
    const std::vector<Value> right =
        Factors(s_.column_factor, tile.vector_variable, column, columns);
    const std::vector<Value> left =
        Factors(s_.row_factor, tile.row_variable, row, rows);
    PrefetchRows(row, rows);
    for (int i = 0; i < rows * columns; ++i) {
      const Value before = b_.Get(sums[i], type);
      Value sum = b_.Fma(left[i / columns], right[i % columns], before);
      if (active.valid() && !zeros) sum = b_.Select(active, sum, before);
      b_.Set(sums[i], sum);
    }
  });
  std::vector<Value> results;
  for (int r = 0; r < rows; ++r) {
    std::vector<Value> own;
    for (int c = 0; c < columns; ++c) {
      own.push_back(b_.Get(sums[r * columns + c], type));
    }
    results.push_back(ConvertDType(b_, stage_.accumulate, stage_.dtype,
                                   FoldAll(b_, std::move(own))));
  }
  tile_.EmitMaps({row, column, rows, 1, columns}, std::move(results));
}

GeneratedKernel InnerGenerator::Generate(std::string_view name,
                                         int vector_bits) {
  const TileSchedule& tile = s_.tile;
  PartitionLoop(b_, tile.other_points * tile.row_tiles * s_.column_tiles,
                tile.partitions, [&](const Value& unit) { EmitUnit(unit); });
  return FinishKernel(b_, name, tile.partitions, vector_bits);
}

}  // namespace

GeneratedKernel GenerateInner(const FlatRegion& flat,
                              const InnerSchedule& schedule,
                              std::string_view name, int vector_bits) {
  return InnerGenerator(flat, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
