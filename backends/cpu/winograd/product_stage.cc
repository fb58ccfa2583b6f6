#include "encore/backends/cpu/winograd/product_stage.h"

#include <cstdint>
#include <vector>

namespace encore::backends::cpu {
namespace {

// How far ahead of the products weights are asked for: they are read one after
// the other, often from memory.
constexpr int64_t kPrefetchedChannels = 64;

class ProductStage {
 public:
  ProductStage(const WinogradCode& code, const WinogradSpan& span,
               const Value& first_group)
      : c_(code), span_(span), b_(code.b), first_group_(first_group) {}

  void Emit(const Value& end);

 private:
  // The first `rows` rows of a group by all vectors of tiles.
  void EmitGroup(const Value& point, const Value& group, int rows);
  // … by `vectors` vectors from `first` on: a register tile.
  void EmitTile(const Value& point, const Value& group, int rows,
                const Value& first, int vectors);
  // A register tile: its size, and where its first elements lie.
  struct Tile {
    int rows = 1, vectors = 1;
    Value weights, data, products;
  };
  // Variables of its sums over channels from `begin` to `end`.
  std::vector<Value> EmitSums(const Tile& tile, const Value& begin,
                              const Value& end);
  // `add`: to what was stored before.
  void StoreSums(const Tile& tile, const std::vector<Value>& sums, bool add);

  const WinogradCode& c_;
  const WinogradSpan& span_;
  IrBuilder& b_;
  const Value first_group_;
};

void ProductStage::Emit(const Value& end) {
  const int64_t whole = c_.sum.rows / c_.s.rows;
  const auto left = static_cast<int>(c_.sum.rows % c_.s.rows);
  const Value end_whole =
      left > 0 ? b_.Intrinsic("smin", {end, IrBuilder::I64(whole)}) : end;
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(c_.s.points()), 1,
          [&](const Value& point) {
            b_.Loop(first_group_, end_whole, 1, [&](const Value& group) {
              EmitGroup(point, group, c_.s.rows);
            });
            if (left == 0) return;
            b_.If(b_.Compare("sgt", end, IrBuilder::I64(whole)),
                  [&] { EmitGroup(point, IrBuilder::I64(whole), left); });
          });
}

void ProductStage::EmitGroup(const Value& point, const Value& group, int rows) {
  const int u = c_.s.tile_vectors;
  if (u == 1) {
    return b_.Loop(IrBuilder::I64(0), span_.vectors, 1,
                   [&](const Value& v) { EmitTile(point, group, rows, v, 1); });
  }
  const Value left = b_.Binary("urem", span_.vectors, IrBuilder::I64(u));
  const Value whole = b_.Sub(span_.vectors, left);
  b_.Loop(IrBuilder::I64(0), whole, u,
          [&](const Value& v) { EmitTile(point, group, rows, v, u); });
  for (int i = 1; i < u; ++i) {
    b_.If(b_.Compare("eq", left, IrBuilder::I64(i)),
          [&] { EmitTile(point, group, rows, whole, i); });
  }
}

void ProductStage::EmitTile(const Value& point, const Value& group, int rows,
                            const Value& first, int vectors) {
  const int64_t channels = c_.sum.channels;
  // [rows of the chunk][vectors][points][lanes].
  const int64_t points = c_.s.points(), lanes = c_.s.lanes;
  const Value place =
      b_.Add(b_.Mul(b_.Sub(group, first_group_),
                    c_.s.rows * c_.s.span_vectors * points * lanes),
             b_.Add(b_.Mul(first, points * lanes), b_.Mul(point, lanes)));
  const Tile tile = {
      .rows = rows,
      .vectors = vectors,
      .weights = b_.Gep(c_.weights, Elem::kF32,
                        b_.Add(b_.Mul(point, c_.s.weights_pitch(c_.sum)),
                               b_.Mul(group, channels * c_.s.rows))),
      .data = b_.Gep(c_.Scratch(c_.layout.data), Elem::kF32,
                     b_.Add(b_.Mul(point, c_.layout.data_pitch),
                            b_.Mul(first, channels * lanes))),
      .products = b_.Gep(c_.Scratch(c_.layout.products), Elem::kF32, place)};
  const Value zero = IrBuilder::I64(0), all = IrBuilder::I64(channels);
  if (c_.s.sum_channels >= channels) {
    return StoreSums(tile, EmitSums(tile, zero, all), /*add=*/false);
  }
  b_.Loop(zero, all, c_.s.sum_channels, [&](const Value& begin) {
    const Value end = b_.Add(begin, c_.s.sum_channels);
    const std::vector<Value> sums =
        EmitSums(tile, begin, b_.Intrinsic("smin", {end, all}));
    b_.If(
        b_.Compare("eq", begin, zero),
        [&] { StoreSums(tile, sums, /*add=*/false); },
        [&] { StoreSums(tile, sums, /*add=*/true); });
  });
}

std::vector<Value> ProductStage::EmitSums(const Tile& tile, const Value& begin,
                                          const Value& end) {
  const IrType type = c_.vector();
  const int64_t channels = c_.sum.channels, lanes = c_.s.lanes;
  std::vector<Value> sums;
  for (int i = 0; i < tile.rows * tile.vectors; ++i) {
    sums.push_back(b_.NewVariable(type));
    b_.Set(sums.back(), IrBuilder::Zero(type));
  }
  b_.Loop(begin, end, 1, [&](const Value& c) {
    const Value column = b_.Gep(tile.data, Elem::kF32, b_.Mul(c, lanes));
    const Value row = b_.Gep(tile.weights, Elem::kF32, b_.Mul(c, c_.s.rows));
    b_.Prefetch(b_.Gep(row, Elem::kF32,
                       IrBuilder::I64(kPrefetchedChannels * c_.s.rows)));
    std::vector<Value> d;
    for (int u = 0; u < tile.vectors; ++u) {
      const Value offset = IrBuilder::I64(u * channels * lanes);
      d.push_back(b_.Load(type, b_.Gep(column, Elem::kF32, offset), 4));
    }
    for (int r = 0; r < tile.rows; ++r) {
      const Value weight =
          b_.Splat(b_.Load({Elem::kF32, 1},
                           b_.Gep(row, Elem::kF32, IrBuilder::I64(r)), 4),
                   c_.s.lanes);
      for (int u = 0; u < tile.vectors; ++u) {
        const Value& sum = sums[r * tile.vectors + u];
        b_.Set(sum, b_.Fma(weight, d[u], b_.Get(sum, type)));
      }
    }
  });
  return sums;
}

void ProductStage::StoreSums(const Tile& tile, const std::vector<Value>& sums,
                             bool add) {
  const IrType type = c_.vector();
  for (int r = 0; r < tile.rows; ++r) {
    for (int u = 0; u < tile.vectors; ++u) {
      const int64_t vector = r * c_.s.span_vectors + u;
      const Value place =
          b_.Gep(tile.products, Elem::kF32,
                 IrBuilder::I64(vector * c_.s.points() * c_.s.lanes));
      Value sum = b_.Get(sums[r * tile.vectors + u], type);
      if (add) sum = b_.Binary("fadd", b_.Load(type, place, 4), sum);
      b_.Store(sum, place, 4);
    }
  }
}

}  // namespace

void EmitProducts(const WinogradCode& code, const WinogradSpan& span,
                  const Value& group, const Value& end) {
  ProductStage(code, span, group).Emit(end);
}

}  // namespace encore::backends::cpu
